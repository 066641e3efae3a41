-- KEYS: state. ARGV: expected version, new version, head, number of removed readers, their fields, then field and record of each changed reader.
-- Answers 1, or 0 if the version is another one; then nothing was changed.
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'head', ARGV[3])
redis.call('PERSIST', KEYS[1])
local changed = 5 + tonumber(ARGV[4])
for i = 5, changed - 1 do
  redis.call('HDEL', KEYS[1], ARGV[i])
end
for i = changed, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
return 1

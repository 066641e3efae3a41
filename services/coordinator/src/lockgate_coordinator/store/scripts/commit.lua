-- ARGV: expected version; claimed time in ms, and how far it may be off (or '': it need not be checked); new version; head; ms for which
-- removals are kept; number of removed readers, their fields; then field and record of each changed reader.
-- Answers {new version, now}, or, if the version is another one or the time too far off, what stands; then nothing was changed.
local version, now = version_now(), now_ms()
if version ~= ARGV[1] or (ARGV[2] ~= '' and math.abs(now - ARGV[2]) > tonumber(ARGV[3])) then
  return standing(ARGV[1], version, now)
end

local new = ARGV[4]
if redis.call('HSETNX', KEYS[1], 'since', new) == 1 then
  redis.call('PERSIST', KEYS[1])
end

local changed = 8 + tonumber(ARGV[7])
for i = 8, changed - 1 do
  redis.call('HDEL', KEYS[1], ARGV[i])
  redis.call('ZREM', KEYS[2], ARGV[i])
  redis.call('ZADD', KEYS[3], new, ARGV[i])
end
if changed > 8 then
  local forgotten = string.format('%.0f', now - ARGV[6])
  if redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', forgotten) > 0 then
    redis.call('HSET', KEYS[1], 'since', forgotten)
  end
end

local fields, scores = {'version', new, 'head', ARGV[5]}, {}
for i = changed, #ARGV, 2 do
  fields[#fields + 1] = ARGV[i]
  fields[#fields + 1] = ARGV[i + 1]
  scores[#scores + 1] = new
  scores[#scores + 1] = ARGV[i]
  if #fields >= AT_ONCE then
    redis.call('HSET', KEYS[1], unpack(fields))
    redis.call('ZADD', KEYS[2], unpack(scores))
    fields, scores = {}, {}
  end
end
if #fields > 0 then
  redis.call('HSET', KEYS[1], unpack(fields))
end
if #scores > 0 then
  redis.call('ZADD', KEYS[2], unpack(scores))
end
return {new, string.format('%.0f', now)}

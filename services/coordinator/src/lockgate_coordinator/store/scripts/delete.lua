-- ARGV: expected mark, last version, ms for which the last version is kept.
-- Answers 1, or 0 if the mark is another one; then nothing was changed.
if mark_now() ~= ARGV[1] then
  return 0
end
redis.call('DEL', unpack(KEYS))
redis.call('HSET', KEYS[1], 'version', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1

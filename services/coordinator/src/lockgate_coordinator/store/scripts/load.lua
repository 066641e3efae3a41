-- KEYS: state. ARGV: the version that the caller has already.
-- Answers {version, now in ms} and, if the version is another one, all fields of the state.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version == ARGV[1] then
  return {version, string.format('%.0f', now)}
end
return {version, string.format('%.0f', now), redis.call('HGETALL', KEYS[1])}

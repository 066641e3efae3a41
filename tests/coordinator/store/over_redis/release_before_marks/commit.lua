-- ARGV: expected version; the caller's cached time in ms, or '' if it need not be checked; by how
-- many ms it may be off; new version; head; ms for which removals are kept; fields of the removed
-- readers; field and record of each changed reader, in turn (both as msgpack).
-- Answers {new version, now}. If the version is another one, or the time too far off, nothing is
-- changed, and the answer is the state since the expected version.
local version, now = version_now(), now_ms()
if version ~= ARGV[1] or (ARGV[2] ~= '' and math.abs(now - ARGV[2]) > tonumber(ARGV[3])) then
  return since_version(ARGV[1], version, now)
end

local new = ARGV[4]
if redis.call('HSETNX', KEYS[1], 'since', new) == 1 then
  redis.call('PERSIST', KEYS[1])
end

local removed = cmsgpack.unpack(ARGV[7])
for _, field in ipairs(removed) do
  redis.call('HDEL', KEYS[1], field)
  redis.call('ZREM', KEYS[2], field)
  redis.call('ZADD', KEYS[3], new, field)
end
if #removed > 0 then
  local expired = string.format('%.0f', now - ARGV[6])
  if redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', expired) > 0 then
    redis.call('HSET', KEYS[1], 'since', expired)
  end
end

redis.call('HSET', KEYS[1], 'version', new, 'head', ARGV[5])
local written = cmsgpack.unpack(ARGV[8])
for first = 1, #written, AT_ONCE do
  local last = math.min(first + AT_ONCE - 1, #written)
  local scores = {}
  for i = first, last, 2 do
    scores[#scores + 1] = new
    scores[#scores + 1] = written[i]
  end
  redis.call('HSET', KEYS[1], unpack(written, first, last))
  redis.call('ZADD', KEYS[2], unpack(scores))
end
return {new, string.format('%.0f', now)}

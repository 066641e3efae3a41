-- ARGV: expected mark; the caller's cached time in ms, or '' if it need not be checked; by how many
-- ms it may be off; new version; head; ms for which removals are kept; fields of the removed
-- readers; field and record of each changed reader, in turn (both as msgpack); the new series;
-- by how many versions an ended series may be older; the caller; for how many ms a refusal
-- reserves the state for the caller's next commit; the server that the caller knows.
-- Answers {0, new mark, now}. If another caller has reserved the state nothing is changed, and the
-- answer is {ms to wait}. If the mark or the server is another one, or the time too far off, nothing
-- is changed either, and 0 and the state since the expected mark are the answer.
local mark, now, caller, server = mark_now(), now_ms(), ARGV[11], server_now()
local ends, holder = string.match(redis.call('HGET', KEYS[1], 'reserved') or '', '(%d+) (.*)')
if ends and holder ~= caller and now < tonumber(ends) then
  return {ends - now}
end
local is_late = ARGV[2] ~= '' and math.abs(now - ARGV[2]) > tonumber(ARGV[3])
if mark ~= ARGV[1] or is_late or is_other(server, ARGV[13]) then
  if ARGV[12] ~= '0' and redis.call('HGET', KEYS[1], 'head') then
    redis.call('HSET', KEYS[1], 'reserved', string.format('%.0f %s', now + ARGV[12], caller))
  end
  local answer = since_version(ARGV[1], mark, now)
  table.insert(answer, 1, 0)
  return answer
end
if ends then
  redis.call('HDEL', KEYS[1], 'reserved')
end

local new, new_mark = ARGV[4], ARGV[4] .. '/' .. ARGV[9]
local version, series = parts(mark)
if series ~= '' and series ~= ARGV[9] then
  redis.call('ZADD', KEYS[4], version, series)
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', string.format('%.0f', new - ARGV[10]))
  redis.call('PEXPIRE', KEYS[4], ARGV[6])
end
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

redis.call('HSET', KEYS[1], 'version', new, 'head', ARGV[5], 'mark', new_mark, 'server', server)
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
return {0, new_mark, string.format('%.0f', now)}

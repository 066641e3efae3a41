-- ARGV: by how much the last version is above all numbers that are known to be given out; ms for
-- which it is kept; the act; a name of this call; the mark of the state that alone may be deleted, or ''.
-- Deletes whatever is there, without reading the readers. Answers how many readers there were, -1 if an
-- earlier call of the act has deleted them, -2 if the mark is another one, or nil if there was no group.
local FIELDS = {'version', 'gone', 'head', 'since', 'mark', 'server', 'reserved'}

if ARGV[5] ~= '' and mark_now() ~= ARGV[5] then
  return -2
end
local state, readers = {}, redis.call('EXISTS', KEYS[1]) - 1
if readers == 0 and redis.call('TYPE', KEYS[1]).ok == 'hash' then
  state, readers = redis.call('HMGET', KEYS[1], unpack(FIELDS)), redis.call('HLEN', KEYS[1])
  for i = 1, #FIELDS do
    readers = readers - (state[i] and 1 or 0)
  end
  local count, act, call = string.match(state[2] or '', '(%d+)/(.*)/(.*)')
  if act == ARGV[3] then -- asked again, since an answer was lost: that of Redis, or that to the client
    return call == ARGV[4] and tonumber(count) or -1
  end
  if readers == 0 and not state[3] then -- deleted before
    readers = -1
  end
end
if readers < 0 then
  return nil
end

local last, head = math.max((tonumber(state[1] or 0) or 0) + 1, now_ms()), state[3] or ''
for _, name in ipairs({'revision', 'config_version', 'left_epoch'}) do
  last = math.max(last, tonumber(string.match(head, '"' .. name .. '":(%d+)') or 0))
end
redis.call('DEL', unpack(KEYS))
local gone = string.format('%.0f/%s/%s', readers, ARGV[3], ARGV[4])
redis.call('HSET', KEYS[1], 'version', string.format('%.0f', last + ARGV[1]), 'gone', gone)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return readers

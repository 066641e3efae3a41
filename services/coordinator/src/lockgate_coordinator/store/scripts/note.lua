-- KEYS: state, journal. ARGV: how many entries are kept; for how many ms; the new entries (as msgpack).
-- Writes nothing of a group that is not there: its journal went with it.
if not redis.call('HGET', KEYS[1], 'mark') then
  return 0
end
local entries = cmsgpack.unpack(ARGV[3])
for _, entry in ipairs(entries) do
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[1], '*', 'entry', entry)
end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return #entries

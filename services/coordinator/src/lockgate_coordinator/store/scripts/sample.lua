-- KEYS: state, and the samples of each level. ARGV: the sample; ms for which samples are kept; for each level
-- the ms between two samples, and how many are kept. A level whose newest sample is younger takes none.
if not redis.call('HGET', KEYS[1], 'mark') then
  return 0
end
local clock, taken = redis.call('TIME'), 0
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for level = 2, #KEYS do
  local step, most = tonumber(ARGV[2 * level - 1]), ARGV[2 * level]
  local newest = redis.call('XREVRANGE', KEYS[level], '+', '-', 'COUNT', 1)[1]
  if not newest or now - tonumber(string.match(newest[1], '%d+')) >= step then
    redis.call('XADD', KEYS[level], 'MAXLEN', most, '*', 'sample', ARGV[1])
    redis.call('PEXPIRE', KEYS[level], ARGV[2])
    taken = taken + 1
  end
end
return taken

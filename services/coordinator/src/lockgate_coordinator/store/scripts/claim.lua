-- KEYS: also claim, queue.
-- ARGV: the mark that the caller knows; the caller; ms that a claim lasts; ms that the first in
-- the queue may take to come back once the claim has ended.
-- Answers how many ms to wait. 0: the claim is the caller's, and the state since the mark follows.
local now, caller, lasts, patience = now_ms(), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local function claim(ends, holder)
  redis.call('SET', KEYS[5], string.format('%.0f %s', ends, holder), 'PX', lasts + 10 * patience)
end

local current = redis.call('GET', KEYS[5])
if not current then -- no claim for long: no caller waits any more
  redis.call('DEL', KEYS[6])
end
local ends, holder = string.match(current or '0 ', '(%d+) (.*)')
ends = tonumber(ends)

local first = redis.call('LINDEX', KEYS[6], 0)
if first and first ~= caller and now >= ends + patience then
  -- The first one does not come back: it is dead, or has nothing to commit. The next one may claim.
  redis.call('LPOP', KEYS[6])
  first, ends, holder = redis.call('LINDEX', KEYS[6], 0), now, ''
  claim(ends, holder)
end

local free = now >= ends or holder == caller
if (first and first ~= caller) or not free then
  local place = redis.call('LPOS', KEYS[6], caller) or redis.call('RPUSH', KEYS[6], caller) - 1
  local wait = math.max(1, ends - now) + place * lasts
  redis.call('PEXPIRE', KEYS[6], wait + 10 * patience)
  return {wait}
end
redis.call('LPOP', KEYS[6])
claim(now + lasts, caller)
local answer = since_version(ARGV[1], mark_now(), now)
table.insert(answer, 1, 0)
return answer

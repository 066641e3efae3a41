-- KEYS: also claim, next. ARGV: the version that the caller knows; the caller; ms that a claim lasts; ms that whoever comes next is waited for.
-- Answers how many ms to wait (0: the claim is the caller's), and what stands then.
local claimed, next_one = redis.call('GET', KEYS[4]), redis.call('GET', KEYS[5])
if claimed or (next_one and next_one ~= ARGV[2]) then
  if not next_one then
    redis.call('SET', KEYS[5], ARGV[2], 'PX', ARGV[4])
  end
  return {math.max(1, redis.call('PTTL', KEYS[4]))}
end
redis.call('DEL', KEYS[5])
redis.call('SET', KEYS[4], ARGV[2], 'PX', ARGV[3])
local answer = standing(ARGV[1], version_now(), now_ms())
table.insert(answer, 1, 0)
return answer

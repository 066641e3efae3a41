-- KEYS: one that has no other use. Answers 1 if Redis is new enough and accepts writes, 0 if it is too old.
-- REDIS_VERSION_NUM exists from 7.0 on. From 7.0 on scripts may also write after they have read the time.
if redis.REDIS_VERSION_NUM == nil then
  return 0
end
redis.call('TIME')
redis.call('SET', KEYS[1], 1, 'PX', 1)
return 1

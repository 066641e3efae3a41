-- KEYS: any that is not used otherwise. Answers 1 if Redis is new enough and takes writes, 0 if it is too old.
-- REDIS_VERSION_NUM is there from 7.0 on, as are scripts that may write after they have asked for the time.
if redis.REDIS_VERSION_NUM == nil then
  return 0
end
redis.call('TIME')
redis.call('SET', KEYS[1], 1, 'PX', 1)
return 1

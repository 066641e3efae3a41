-- Joined before load, commit, delete and claim. Their KEYS begin with: state, changes, removed.

local function now_ms()
  local clock = redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end

local function version_now()
  return redis.call('HGET', KEYS[1], 'version') or '0'
end

-- Redis accepts some thousand arguments from a script in one call.
local AT_ONCE = 1000

local function values(fields)
  local read = {}
  for first = 1, #fields, AT_ONCE do
    local some = redis.call('HMGET', KEYS[1], unpack(fields, first, math.min(first + AT_ONCE - 1, #fields)))
    for _, value in ipairs(some) do
      read[#read + 1] = value
    end
  end
  return read
end

-- The state since the version `known`: {version, now in ms}. If the version is another one, also the
-- head, the changed fields, their values, and the removed fields. Where changes were not recorded
-- since `known`: all fields and values of the state instead.
local function since_version(known, version, now)
  local answer = {version, string.format('%.0f', now)}
  if version == known then
    return answer
  end
  local since = redis.call('HGET', KEYS[1], 'since')
  if since and tonumber(since) <= tonumber(known) and tonumber(known) < tonumber(version) then
    local changed = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. known, '+inf')
    answer[3] = redis.call('HGET', KEYS[1], 'head')
    answer[4] = changed
    answer[5] = values(changed)
    answer[6] = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. known, '+inf')
  else
    answer[3] = redis.call('HGETALL', KEYS[1])
  end
  return answer
end

-- KEYS of every script that begins with this: state, changes, removed.

local function now_ms()
  local clock = redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end

local function version_now()
  return redis.call('HGET', KEYS[1], 'version') or '0'
end

-- Redis takes some thousand arguments from a script at once.
local AT_ONCE = 1000

local function values(fields)
  local found = {}
  for first = 1, #fields, AT_ONCE do
    local some = redis.call('HMGET', KEYS[1], unpack(fields, first, math.min(first + AT_ONCE - 1, #fields)))
    for _, value in ipairs(some) do
      found[#found + 1] = value
    end
  end
  return found
end

-- What a caller is told who knows the version `known`: {version, now in ms}, and if the version is another one, what is new in it:
-- head, fields that changed, their values, fields that were removed; or, where that is not known, all fields and values of the state.
local function standing(known, version, now)
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

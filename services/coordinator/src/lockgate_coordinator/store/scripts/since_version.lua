-- Joined before load, commit, delete and claim. Their KEYS begin with: state, changes, removed, series.

local function now_ms()
  local clock = redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end

-- The mark of the state, VERSION/SERIES (store/histories.py). A coordinator that knows no marks
-- writes the version alone; then the series is empty.
local function mark_now()
  local state = redis.call('HMGET', KEYS[1], 'version', 'mark')
  local version, mark = state[1] or '0', state[2] or ''
  if string.sub(mark, 1, #version + 1) == version .. '/' then
    return mark
  end
  return version .. '/'
end

local function parts(mark)
  return string.match(mark, '(%d+)/(.*)')
end

-- Whether the state with the mark `known` is one that the state with `mark` was made from.
local function follows(mark, known)
  local version, series = parts(mark)
  local known_version, known_series = parts(known)
  if series == known_series then
    return series ~= '' and tonumber(known_version) <= tonumber(version)
  end
  for _, ended in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], known_version, '+inf')) do
    if ended == known_series then
      return true
    end
  end
  return false
end

-- Whether the state that the caller knows is certainly none of this history: its series has ended
-- before it, or the state itself is older.
local function lost(mark, known)
  local version, series = parts(mark)
  local known_version, known_series = parts(known)
  if tonumber(version) < tonumber(known_version) or (series ~= '' and series == known_series) then
    return 1
  end
  for _, ended in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', '(' .. known_version)) do
    if ended == known_series then
      return 1
    end
  end
  return 0
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

-- The state since the mark `known`: {mark, now in ms}. If the mark is another one, also the head,
-- the changed fields, their values, and the removed fields. Where the state was not made from the
-- known one, or changes were not recorded since: all fields and values of the state instead, and 1
-- if the known state is certainly lost.
local function since_version(known, mark, now)
  local answer = {mark, string.format('%.0f', now)}
  if mark == known then
    return answer
  end
  local since, version = redis.call('HGET', KEYS[1], 'since'), parts(known)
  if since and tonumber(since) <= tonumber(version) and follows(mark, known) then
    local changed = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. version, '+inf')
    answer[3] = redis.call('HGET', KEYS[1], 'head')
    answer[4] = changed
    answer[5] = values(changed)
    answer[6] = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. version, '+inf')
  else
    answer[3] = redis.call('HGETALL', KEYS[1])
    answer[4] = lost(mark, known)
  end
  return answer
end

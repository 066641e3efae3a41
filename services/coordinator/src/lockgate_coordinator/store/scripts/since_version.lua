-- Joined before load, commit and discard. Their KEYS begin with: state, changes, removed, series.

local function now_ms()
  local clock = redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end

-- The mark of the state, VERSION/SERIES (store/histories.py). The series is empty in a deleted
-- group, and where a hand has changed the version alone.
local function mark_now()
  local state = redis.call('HMGET', KEYS[1], 'version', 'mark')
  local version, mark = state[1] or '0', state[2] or ''
  if string.sub(mark, 1, #version + 1) == version .. '/' then
    return mark
  end
  return version .. '/'
end

-- The process of Redis that answers, and its last promotion. The string is empty if Redis does not
-- allow INFO. If a commit was accepted by another server, this one may lack later commits.
local function server_now()
  local info = redis.pcall('INFO', 'server', 'replication')
  if type(info) ~= 'string' then
    return ''
  end
  return (string.match(info, 'run_id:(%x+)') or '') .. '/' .. (string.match(info, 'master_replid:(%x+)') or '')
end

local function is_other(server, known)
  return server ~= '' and known ~= '' and server ~= known
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

-- How many bytes of values one command reads. Redis serves nobody else meanwhile.
local BYTES = 1048576

-- The values of the first of these fields, up to the one that makes them more than BYTES.
local function values(fields)
  local read, left = {}, BYTES
  for i, field in ipairs(fields) do
    if left <= 0 then
      break
    end
    read[i] = redis.call('HGET', KEYS[1], field)
    left = left - #(read[i] or '')
  end
  return read
end

local function readers()
  local found = {}
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, 2) == 'r:' then
      found[#found + 1] = field
    end
  end
  return found
end

-- The state since the mark `known`: {mark, now in ms, server, 1 if another one accepted the last
-- commit}. If the mark is another one, also the head, the changed fields, the values of the first of
-- them, and the removed fields. Where the state was not made from the known one, or changes were not
-- recorded since: all fields of readers instead of the changed ones, none removed, 1, and 1 if the
-- known state is certainly lost.
local function since_version(known, mark, now)
  local server = server_now()
  local moved = is_other(server, redis.call('HGET', KEYS[1], 'server') or '')
  local answer = {mark, string.format('%.0f', now), server, moved and 1 or 0}
  if mark == known then
    return answer
  end
  local since, version = redis.call('HGET', KEYS[1], 'since'), parts(known)
  local whole = not since or tonumber(since) > tonumber(version) or not follows(mark, known)
  local changed = whole and readers() or redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. version, '+inf')
  answer[5] = redis.call('HGET', KEYS[1], 'head')
  answer[6] = changed
  answer[7] = values(changed)
  answer[8] = whole and {} or redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. version, '+inf')
  answer[9] = whole and 1 or 0
  answer[10] = whole and lost(mark, known) or 0
  return answer
end

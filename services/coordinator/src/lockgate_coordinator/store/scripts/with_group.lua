-- Joined between since_version and commit. KEYS: also the state of the group that all this belongs to.
-- Answers {0, '', now} and changes nothing where that group is not there: what belongs to it went with it.
if not redis.call('HGET', KEYS[5], 'head') then
  return {0, '', string.format('%.0f', now_ms())}
end

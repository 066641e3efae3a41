"""A real Redis whose clock leaps, as the scripts of a coordinator see it: it is ahead by as many
seconds as a key of Redis says.
"""

from hashlib import sha1
from pathlib import Path

from lockgate_coordinator.store.connections import Script

AHEAD = "test:ahead_s"

_LEAPING = f"""
local real = redis
local redis = setmetatable({{call = function(command, ...)
  local answer = real.call(command, ...)
  if command == 'TIME' then
    answer[1] = answer[1] + (real.call('GET', '{AHEAD}') or 0)
  end
  return answer
end}}, {{__index = real}})
"""

IN_A_PROCESS = f"""
import sys
sys.path.append({str(Path(__file__).parents[1])!r})
from support.leaping import LeapingScript
from lockgate_coordinator.store import redis, states
redis.Script = states.Script = LeapingScript
"""
"""For `support.children.doing_first`."""


class LeapingScript(Script):
    """In the place of `Script`."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.text = _LEAPING + self.text
        self.sha = sha1(self.text.encode()).hexdigest()

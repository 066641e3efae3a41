"""Questions of many sessions to the one Python beside the driver."""

import subprocess
from collections.abc import Callable


def test_unanswered_session_blocks_no_other_session(
    beside_the_jar: Callable[[str], list[str]],
) -> None:
    said = subprocess.run(beside_the_jar("ManyQuestions"), capture_output=True, text=True, check=True, timeout=120)

    assert said.stdout.splitlines() == ["answered", "0 more", "8 later"]

"""`python -m flink_replay` in tests/conformance: replays a folder and says what differs."""

import sys

from flink_replay.runner import folder, replay, summary, traces


def main() -> int:
    """0 if all traces are as expected."""
    outcomes = []
    for trace in traces(folder()):
        outcome = replay(trace)
        outcomes.append(outcome)
        if outcome.difference is not None:
            print(f"{trace}: {outcome.difference}")
    print(summary(outcomes))
    return int(any(outcome.difference is not None for outcome in outcomes) or not outcomes)


sys.exit(main())

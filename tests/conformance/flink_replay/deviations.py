"""Where lockgate answers differently from Flink's classes on purpose. One table, `DEVIATIONS`: each
entry says when, why and what instead.

An entry sees each operation with what Flink answered, and gives what is expected of lockgate. Where
it changes nothing the trace must be equal; where it does, the trace is still compared, against our
answer, from there to the end.
"""

from flink_replay import coordinator_deviations
from flink_replay.adapters.base import Event
from flink_replay.expected import Expected
from lockgate.watermark import MAX, MIN


class FinishedSplitsAreForgotten:
    """When: a paused split finishes. Flink keeps its `paused` mark.

    Why: the same split, given back later, would never be paused, and the first attempt to resume it
    would fail the task. Instead: a split that comes back is paused and resumed as any other; where
    Flink fails, we resume it.
    """

    name = "a finished split is forgotten whole"
    component = "source_operator_alignment"

    def __init__(self) -> None:
        self._marked: set[str] = set()  # by Flink, though they have finished since
        self._paused: set[str] = set()  # by us
        # of the splits, as they came: so they speak in a periodic emission
        self._order: list[str] = []

    def adapt(self, expected: Expected) -> Expected:
        """Recompute the pauses of the splits that Flink has wrongly marked; all else stays."""
        state = expected.state
        if state is None:
            return expected
        self._order = [name for name in self._order if name in state["splits"]]
        self._order += [name for name in expected.op.get("splits", ()) if name not in self._order]
        marked = self._marked | set(state["paused"]) - set(state["splits"])
        before = self._paused & set(state["splits"])
        failed = bool(marked) and any("error" in event for event in expected.out)
        # where Flink failed it changed no mark at all
        wrong = set(state["splits"]) if failed else marked
        self._paused = (set(state["paused"]) - wrong | self._by_rule(expected, before) & wrong) & set(state["splits"])
        self._marked = marked & set(state["paused"])
        if not marked:
            return expected
        out = self._out(expected, before)
        # we come to the report
        if failed and expected.op["op"] != "align" and state["latest"] != MIN:
            out.append({"reported": MAX if state["idle"] else state["latest"]})
        if failed and expected.op["op"] not in ("align", "sample"):  # the poll of a finished source
            out.append({"input_status": "END_OF_INPUT", "polled": False})
        return Expected(expected.op, out, state | {"paused": sorted(self._paused)})

    def _by_rule(self, expected: Expected, before: set[str]) -> set[str]:
        """Awake splits that are ahead; and those paused before that nobody resumes: idle ones, and
        all outside of a check.
        """
        splits, idle = expected.state["splits"], set(expected.state["idle_splits"])
        ahead = {name for name, split in splits.items() if split["oldest"] > expected.state["max_desired"]}
        return ahead - idle | (before & idle if self._checks(expected) else before)

    def _checks(self, expected: Expected) -> bool:
        """Whether all splits are checked: at an announcement and a sample, which a finished source
        takes at each poll.
        """
        return expected.op["op"] in ("align", "sample") or any(
            "reported" in event or event.get("resume") for event in expected.out
        )

    def _out(self, expected: Expected, before: set[str]) -> list[Event]:
        paused = [event for event in expected.out if "pause" in event]
        kept = [event for event in expected.out if "error" not in event]
        if self._checks(expected):  # one call for all that changes
            change = {"pause": sorted(self._paused - before), "resume": sorted(before - self._paused)}
            return [*([change] if any(change.values()) else []), *(event for event in kept if event not in paused)]
        left_out = self._paused - before - {name for event in paused for name in event["pause"]}
        pauses = [*paused, *({"pause": [name], "resume": []} for name in left_out)]
        pauses.sort(key=lambda event: self._order.index(event["pause"][0]))
        # a split pauses right after the record that puts it ahead
        after = 1 if kept and "record" in kept[0] else 0
        return [*kept[:after], *pauses, *(event for event in kept[after:] if event not in paused)]


DEVIATIONS = (FinishedSplitsAreForgotten, *coordinator_deviations.DEVIATIONS)

"""A model of one group, which computes the highest read limit that the coordinator may announce.

    strict    lowest watermark of the readers that count, plus `max_drift`
    joint     the same or, if it is higher, the lowest max(watermark, proposed target)

A *turn* is one stored change of the group, and contains the commands that the coordinator accepted.
The model computes the limit anew from all readers at each turn. It is lenient where the history
shows too little. After an outage, or while a partition moves, the coordinator may count a reader
for longer than the model does, but not for a shorter time.
"""

from bisect import insort
from collections import defaultdict
from dataclasses import dataclass

from lockgate_cli.verify.lines import MAX, MIN, Body, Entry, Interval, Verdict, instant

Key = tuple[str, int]
Report = tuple[str, int, int, int]
"""Source, subtask, epoch and watermark."""


@dataclass(slots=True)
class _Reader:
    epoch: int
    heard: int
    watermark: int | None = None  # None before the first report, and while it is not known
    reach: int = MIN
    park: int | None = None
    finished: bool = False
    raised: bool = False


class Model:
    """The state of one group, computed from the commands that its turns accepted. `take` adds the
    violations that it finds to `verdict`.
    """

    def __init__(self, name: str, verdict: Verdict) -> None:
        self.name, self.verdict = name, verdict
        self.announced: list[tuple[float, int, Entry, int]] = []  # t, revision, turn, update interval
        self.limits = defaultdict[int, set[int]](set)  # by revision
        self.reports = defaultdict[Report, list[float]](list)  # when each was accepted
        self.unseen: list[Interval] = []  # while turns were not recorded
        self.losses: list[Interval] = []
        self.config: Body = {}
        self._known: set[int] = set()
        self._version = self._at = 0
        self._last: Entry | None = None
        self._forget()

    def _forget(self) -> None:
        self.readers: dict[Key, _Reader] = {}
        self._gone: dict[Key, int] = {}
        self._seen: set[str] = set()
        self._cap, self._grace, self._started, self._partial = MAX, MIN, False, True

    def take(self, entry: Entry) -> None:
        """Apply the commands of the turn in `entry`, and check the limits that it announced."""
        turn = entry.body
        self.verdict.counts["turns"] += 1
        self._follow(entry)
        self.config = turn.get("config", self.config)
        at = turn["at"]
        if at < self._at:  # the store's clock was put back, and the leases with it
            for reader in self.readers.values():
                reader.heard -= self._at - at
            self._grace -= self._at - at
        self._at = at
        if turn["new"]:
            self._partial, self._grace = False, at + self.config["lease_ms"]
        for command in turn["commands"]:
            self._carry_out(command, entry)
        self._judge_limit(entry)
        if self._last is None or (turn["revision"], turn["read_limit"]) != (
            self._last.body["revision"],
            self._last.body["read_limit"],
        ):
            self.announced.append((turn["t"], turn["revision"], entry, self.config.get("update_interval_ms", 1000)))
        self.limits[turn["revision"]].add(turn["read_limit"])
        self._last, self._version = entry, turn["version"]
        self._known.add(turn["version"])

    def _follow(self, entry: Entry) -> None:
        """Check whether the turn in `entry` continues the last one. If not, because the store has
        lost the group's state or turns were not recorded, discard what is no longer certain.
        """
        turn, last = entry.body, self._last
        if last is None or turn["was"] == self._version:
            if turn["new"]:
                self._forget()
            return
        if turn["new"] or turn["was"] < self._version:
            self.losses.append(Interval(turn["t"], turn["t"]))
            self.verdict.counts["losses"] += 1
            place = f"{entry.file}:{entry.line}"
            self.verdict.notices.append(f"{self.name}: the store has lost the group's state at {place}")
            if turn["was"] in self._known and not turn["lost"]:
                lost = sum(version > turn["was"] for version in self._known)
                text = f"{lost} stored turns were undone, and no coordinator has noticed"
                self.verdict.breach("acknowledged", entry, self.name, text)
            self._forget()
            return
        self.unseen.append(Interval(last.body["t"], turn["t"]))
        self.verdict.notices.append(f"{self.name}: turns before {entry.file}:{entry.line} were not recorded")
        self._partial = True
        for reader in self.readers.values():
            reader.watermark = None

    def _carry_out(self, command: Body, entry: Entry) -> None:
        key, at = (command["source"], command["subtask"]), entry.body["at"]
        who, reader = f"{key[0]}/{key[1]}", self.readers.get(key)
        if command["c"] == "gone":
            if reader is None:
                return
            if command["why"] in ("expire", "removelost") and not (reader.finished or self._lost(reader)):
                self.verdict.breach("acknowledged", entry, who, "it was removed as lost while its lease ran")
            self._gone[key] = self.readers.pop(key).epoch
            return
        epoch = command["epoch"]
        if command["c"] == "register":
            newest = reader.epoch if reader is not None else self._gone.get(key, 0)
            if epoch <= newest:
                self.verdict.breach("fenced", entry, who, f"epoch {epoch} was opened after epoch {newest}")
            fresh = _Reader(epoch, at)
            if reader is not None and not (self._lost(reader) and self._excludes):
                left = None if reader.park is None else max(reader.heard + reader.park - at, self.config["lease_ms"])
                fresh = _Reader(epoch, at, reader.watermark, reader.reach, left, reader.finished)
            self.readers[key] = fresh
            if command.get("read_limit") is not None and at < self._grace:
                self._cap = min(self._cap, command["read_limit"])
            return
        if reader is None or (self._partial and epoch > reader.epoch):
            if not self._partial:
                self.verdict.breach("fenced", entry, who, f"it reported in epoch {epoch}, which was never opened")
            reader = self.readers[key] = _Reader(epoch, at)
        elif epoch != reader.epoch:
            text = f"a {command['c']} of epoch {epoch} was accepted, expected epoch {reader.epoch}"
            self.verdict.breach("fenced", entry, who, text)
            return
        reader.heard = at
        if command["c"] == "progress" and reader.watermark is not None:
            reader.watermark, reader.raised = max(reader.watermark, command.get("counts", MIN)), True
        if command["c"] == "report":
            self._report(command, reader, entry.body["t"])

    def _report(self, command: Body, reader: _Reader, t: float) -> None:
        self.verdict.counts["reports"] += 1
        report = (command["source"], command["subtask"], command["epoch"], command["watermark"])
        insort(self.reports[report], t)
        idle, finished = command.get("idle", False), command.get("finished", False)
        if command["watermark"] == MIN and not idle and not finished and reader.watermark is None:
            return
        counts = command.get("counts", MIN) if reader.raised or self._partial else MIN
        reader.watermark = MAX if idle or finished else max(command["watermark"], counts)
        reader.finished, reader.park = finished, command.get("park_ms")
        reader.reach = MIN if reader.park is not None else command.get("reach", MIN)
        self._seen.add(command["source"])
        self._started = True

    @property
    def _excludes(self) -> bool:
        return self.config.get("on_lost_reader") != "hold"

    def _lost(self, reader: _Reader) -> bool:
        lease = self.config.get("lease_ms", 0) if reader.park is None else reader.park
        return not reader.finished and reader.heard + lease <= self._at

    def _judge_limit(self, entry: Entry) -> None:
        turn, config = entry.body, self.config
        if not config or config["mode"] == "observe":
            return
        if config["max_wait_ms"] is not None and config["on_max_wait"] == "proceed":
            return  # who is passed over is not in the history
        lowest, limit = self._limit()
        if turn["read_limit"] > limit:
            text = f"{instant(turn['read_limit'])} was announced, expected {instant(limit)} at most"
            self.verdict.breach("read limit", entry, self.name, text)
        elif turn["watermark"] > lowest:
            text = f"the watermark {instant(turn['watermark'])} was announced, expected {instant(lowest)} at most"
            self.verdict.breach("read limit", entry, self.name, text)

    def _limit(self) -> tuple[int, int]:
        """Return the highest watermark and the highest read limit (ms) that the reports allow."""
        config, cap = self.config, self._cap if self._at < self._grace else MAX
        if not self._partial and not set(config["expected_sources"]) <= self._seen:
            return MIN, MIN
        if not self._partial and not self._started:
            return MIN, cap
        counting = [
            (each.watermark, each)
            for each in self.readers.values()
            if each.watermark is not None and not (self._excludes and self._lost(each))
        ]
        lowest = min((watermark for watermark, _ in counting), default=MAX)
        limit = lowest if lowest in (MIN, MAX) else min(MAX, lowest + config["max_drift_ms"])
        if config["catch_up"] == "joint":
            reaches = [max(known, MIN if self._lost(each) else each.reach) for known, each in counting]
            limit = max(limit, min(reaches, default=MAX))
        return lowest, min(limit, cap)

"""Work for one request is never the product of two things that it may name."""

from collections.abc import Iterator, Mapping

import pytest

from lockgate.group.group import Group, create
from lockgate.group.limits import GroupLimits
from lockgate.group.now import Now
from lockgate.group.reporting import report_all
from lockgate.wire.events import (
    GroupConfig,
    ProgressEvent,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SplitProgress,
    SplitReport,
)
from support.turns import progress, register, report


class Counted(Mapping[str, SplitReport]):
    """Splits that count how many of them were looked at."""

    looks = 0

    def __init__(self, splits: dict[str, SplitReport]) -> None:
        self._splits = splits

    def __getitem__(self, name: str) -> SplitReport:
        Counted.looks += 1
        return self._splits[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._splits)

    def __len__(self) -> int:
        return len(self._splits)


SPLITS = {f"p{n}": SplitReport(watermark=n, position=n) for n in range(100)}


def said(group: Group, subtask: int, watermark: int, splits: Mapping[str, SplitReport]) -> ReportedWatermarkEvent:
    epoch = group.readers["a", subtask].epoch
    return ReportedWatermarkEvent(subtask=subtask, epoch=epoch, watermark=watermark, splits=splits)


def advanced(group: Group, subtask: int) -> Group:
    """With progress of a task on each split."""
    epoch = group.readers["a", subtask].epoch
    splits = {name: SplitProgress(watermark=500, position=500, rows=1) for name in SPLITS}
    event = ProgressEvent(subtask=subtask, epoch=epoch, batch_id=1, attempt=0, splits=splits)
    return progress(group, "a", event, 2)


@pytest.mark.parametrize("in_mid_batch", [False, True])
def test_repeated_reports_look_at_the_splits_of_each_reader_once(
    in_mid_batch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = create("g", GroupConfig(), 0)
    for subtask in (0, 1):
        group = register(group, "a", ReaderRegistrationEvent(subtask=subtask), 0)
        group = report(group, "a", said(group, subtask, 0, SPLITS), 1)
        group = advanced(group, subtask) if in_mid_batch else group
        kept = group.readers["a", subtask].reported
        assert kept is not None
        object.__setattr__(kept, "splits", Counted(dict(kept.splits)))
    before = {subtask: group.readers["a", subtask].attempts for subtask in (0, 1)}
    monkeypatch.setattr(Counted, "looks", 0)
    reports = [("a", said(group, n % 2, 0, {})) for n in range(1_000)]
    after, refusals = report_all(group, reports, Now(3), GroupLimits())
    assert Counted.looks <= 2 * len(SPLITS)
    assert not refusals
    for subtask in (0, 1):
        reader = after.readers["a", subtask]
        assert reader.reported is not None
        assert reader.reported.watermark == (500 if in_mid_batch else 0)
        assert reader.attempts == before[subtask]
        assert reader.attempts is before[subtask] or not in_mid_batch, "attempts are not copied for each report"
        assert reader.progressed_at == (2 if in_mid_batch else 1), "a repeated report shows no progress"

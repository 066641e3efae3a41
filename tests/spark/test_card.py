"""The table of a view: what its bars say, in letters and in HTML."""

import re
from html.parser import HTMLParser

from lockgate.plan.model import Limit, PlannedState
from lockgate_spark import AlignmentStatus, BatchAlignment, PartitionAlignment, QueryState

MINUTE = 60_000
EVIL = "<img src=x onerror=alert(1)>"


def split(
    name: str, watermark: int, state: PlannedState, unread: bool = True, since: float | None = None
) -> PartitionAlignment:
    return PartitionAlignment(0, name, 0, int(unread), state, watermark, None, 0, paused_since=since)


def status(*splits: PartitionAlignment, max_drift: int | None = 10 * MINUTE, query: str = "orders") -> AlignmentStatus:
    view = BatchAlignment(0, 0, Limit.BUDGET, splits, (), (), None, (), 1_000.0, 0.0)
    return AlignmentStatus(query, QueryState.READING, "It reads.", max_drift=max_drift, view=view)


LEVEL = split("a-0", 5 * MINUTE, PlannedState.ACTIVE)
AHEAD = split("a-1", 25 * MINUTE, PlannedState.PAUSED, since=940.0)
DONE = split("a-2", 99 * MINUTE, PlannedState.CAUGHT_UP, unread=False)


def test_split_furthest_ahead_comes_first_with_drift_and_state() -> None:
    lines = str(status(LEVEL, AHEAD, DONE)).splitlines()
    assert lines[0] == "orders: It reads."
    assert [line.split()[0] for line in lines[1:]] == ["a-1", "a-0", "a-2"]
    assert lines[1].endswith("20 min  paused for 1 min")
    assert lines[1].count("#") == 24
    assert lines[2].endswith("0 s  reads on")
    assert lines[3].endswith("caught up")


def test_bars_and_the_mark_of_the_drift_have_one_scale() -> None:
    page = status(LEVEL, AHEAD)._repr_html_()
    assert re.findall(r"height:100%;width:([\d.]+)%", page) == ["100.0", "0.0"]
    assert set(re.findall(r"left:([\d.]+)%", page)) == {"50.0"}
    assert "The dashed line is max_drift, 10 min." in page


def test_table_takes_its_colours_from_the_notebook() -> None:
    page = status(LEVEL, AHEAD)._repr_html_()
    assert re.findall(r"<table style=\"[^\"]*color:inherit;font:inherit\"", page)
    assert not re.findall(r"[;\" ]color:#", page)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.opened.append(tag)


def test_names_are_text_in_a_notebook_and_nothing_is_loaded_or_run() -> None:
    page = status(split(EVIL, 0, PlannedState.ACTIVE), query=EVIL)._repr_html_()
    tags = Tags()
    tags.feed(page)
    assert set(tags.opened) <= {"div", "table", "tr", "td", "span"}
    assert page.count("&lt;img") == 2
    assert "url(" not in page


def test_notebook_shows_forty_splits_and_the_number_of_others() -> None:
    many = status(*(split(f"a-{n}", n, PlannedState.ACTIVE) for n in range(100)))
    assert many._repr_html_().count("<tr") == 40
    assert "60 more partitions are not shown" in many._repr_html_()
    assert str(many).endswith("… and 60 more partitions")


def test_a_status_without_a_plan_is_its_sentence() -> None:
    ended = AlignmentStatus("orders", QueryState.ENDED, "The query has ended.")
    assert str(ended) == "orders: The query has ended."
    assert "The query has ended." in ended._repr_html_()
    assert ended.partitions == ()

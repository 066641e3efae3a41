"""What people read has durations and event times in words: no text puts a raw figure of
milliseconds beside words, and event times come by `watermark.instant`.

The rule is by names: a value whose name says that it is a duration or an event time goes through
`spoken`, `as_option`, `instant` or one of their kind before it stands in a text.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.imports import CHECKOUT

FOLDERS = (
    "clients/cli/src/lockgate_cli",
    "clients/http/src/lockgate_http",
    "clients/reader/src/lockgate_reader",
    "clients/spark/src/lockgate_spark",
    "services/coordinator/src/lockgate_coordinator",
    "core/src/lockgate/group",
    "core/src/lockgate/plan",
    "core/src/lockgate/wire",
    "examples",
)
RAW = re.compile(
    r"(_ms|_s|^lasted|watermark|ceiling|horizon|event_time|target|max_drift|disorder|out_of_orderness|read_limit|idle_timeout|^delay"
    r"|^MIN|^MAX|^blocked_by|^lag|^spread)$"
)
# Where such a figure is no prose. Each names what it is.
NO_PROSE = {
    "jvm/event_time.py": "Spark SQL",
    "telemetry/metrics.py": "Prometheus' text",
    "report/document.py": "SVG",
    "telemetry/view.py": "Spark SQL",
    "wire/events.py": "the protocol's own units, for programs",
    "examples/broadcast_watermarks.py": "a record of the example",
}
LEVELS = {"debug", "info", "warning", "error", "critical", "exception", "log"}


def sources() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((CHECKOUT / folder).rglob("*.py"))]


def shown(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """Yield the values that texts are made of: in f-strings with words, and in the arguments of log
    lines.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            words = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
            if re.search(r"[a-z]{2,} |[ :][a-z]{2,}", words):
                yield from ((part.lineno, part.value) for part in node.values if _is_shown(part))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS:
            yield from ((each.lineno, each) for each in node.args[1:])


def _is_shown(part: ast.expr) -> bool:
    """Whether it is a value, and no option that is repeated as its user has written it."""
    if not isinstance(part, ast.FormattedValue):
        return False
    return part.conversion != ord("r") or name_of(part.value) not in ("event_time", "max_drift", "max_out_of_orderness")


def name_of(value: ast.expr) -> str:
    """Return the last name of a value; "" for a call, which has made a text or a count of it."""
    if isinstance(value, ast.Attribute):
        return value.attr
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        return str(value.slice.value)
    if isinstance(value, ast.BinOp):
        return name_of(value.left) or name_of(value.right)
    return value.id if isinstance(value, ast.Name) else ""


def raw_figures(text: str) -> list[tuple[int, str]]:
    return [(line, name) for line, value in shown(ast.parse(text)) if RAW.search(name := name_of(value))]


def test_no_text_for_people_has_a_raw_duration_or_event_time() -> None:
    found = [
        f"{path.relative_to(CHECKOUT)}:{line} {name}"
        for path in sources()
        if not any(str(path).endswith(place) for place in NO_PROSE)
        for line, name in raw_figures(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'raise ValueError(f"the lease is {lease_ms} long")',
        'log.info("the group is at %s", event.group_watermark)',
        'log.warning("behind by %d", config["max_drift_ms"])',
        'print(f"waited for {now_s - since_s} here")',
        'raise ValueError(f"it waits: {event.blocked_by}")',
    ],
)
def test_such_a_figure_is_seen(text: str) -> None:
    assert raw_figures(text)


@pytest.mark.parametrize(
    "text",
    [
        'log.info("the group is at %s", watermark.instant(event.group_watermark))',
        'log.warning("behind by %s", spoken(config["max_drift_ms"]))',
        'key = f"{prefix}{lease_ms}"',
    ],
)
def test_words_and_keys_are_no_such_figures(text: str) -> None:
    assert not raw_figures(text)


def test_event_times_for_people_have_no_names_of_the_code() -> None:
    """`watermark.iso` gives MIN and MAX, which JSON, metrics and programs have."""
    programs = {
        "progress_metrics.py",
        "document.py",
        "inspection.py",
        "inspected_splits.py",
        "coordinator.py",
        "watermark.py",
    }
    found = [
        f"{path.relative_to(CHECKOUT)}"
        for path in sources()
        if path.name not in programs and re.search(r"\biso\(", re.sub(r"_iso\(", "", path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_where_no_prose_is_there_are_files() -> None:
    assert {place for place in NO_PROSE if not any(str(path).endswith(place) for path in sources())} == set()

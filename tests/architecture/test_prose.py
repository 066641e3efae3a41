"""Words of the pages, of what the coordinator shows, and names of tests."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from support.code_of_pages import PAGES
from support.imports import CHECKOUT

INSTEAD = {
    r"\blets? (those |these )?(records )?go\b|\blet go\b": "read early (records), go on (readers)",
    r"\bof before\b": "previous",
    r"\ball else\b": "everything else",
    r"\bup with the clock\b": "caught up; as fast as the clock",
    r"\ba stranger's\b": "unrelated to this project",
    r"\bwhatever speaks\b": "any HTTP client",
}
"""Phrases that read like a translation, and what to write instead."""
GONE = {
    r"\bheld by\b|\bholders?\b": "waiting for; blocked by; blocker",
    r"\bceilings?\b": "read limit",
    r"\bdrain speed\b|(?<!catches )\bup with the clock\b": "event-time rate; caught up",
    r"\bforgets?\b|\bforgotten\b": "delete",
    r"\bnobody\b|\beverybody\b": "no reader; all readers",
    r"\bfor so long\b|\banew\b|\bwhere it is not\b": "for this long; again; if it is not",
}
"""Words that the coordinator no longer shows to users, and the words that took their place."""
SERVICE = CHECKOUT / "services/coordinator/src/lockgate_coordinator"
SHOWN = [
    SERVICE / "commands.py",
    CHECKOUT / "core/src/lockgate/sentences.py",
    SERVICE / "service/sentences.py",
    *sorted((CHECKOUT / "clients/cli/src/lockgate_cli").glob("*.py")),
    *(SERVICE / "telemetry" / name for name in ("changes.py", "split_changes.py", "metrics.py")),
]
DEPLOYED = [
    CHECKOUT / "deploy/observability/prometheus/alerts.yml",
    CHECKOUT / "deploy/observability/grafana/dashboards/lockgate.json",
]
IN_MID_SENTENCE = re.compile(r"test_(nor|and|but|or|of|who|whom|whose|which|that|so|yet|than)_")


def test_no_page_has_a_phrase_that_reads_like_a_translation() -> None:
    found = [
        f"{path.relative_to(CHECKOUT)}:{number}: {each[0]!r}: write {better!r}"
        for path in PAGES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for phrase, better in INSTEAD.items()
        if (each := re.search(phrase, re.sub(r"`[^`]*`", "", line), re.IGNORECASE))
    ]

    assert found == []


def test_help_log_lines_metrics_and_alerts_use_the_words_of_the_vocabulary() -> None:
    texts = [(path, text) for path in SHOWN for text in _sentences(path)]
    texts += [(path, path.read_text(encoding="utf-8")) for path in DEPLOYED]

    found = [
        f"{path.relative_to(CHECKOUT)}: {each[0]!r}: write {better!r}"
        for path, text in texts
        for phrase, better in GONE.items()
        for each in re.finditer(phrase, text, re.IGNORECASE)
    ]

    assert found == []


def _sentences(path: Path) -> Iterator[str]:
    """Yield the strings of a module that have more than one word."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


def test_no_name_of_a_test_begins_in_mid_sentence() -> None:
    assert [f"{path}::{name}" for path, name in _tests() if IN_MID_SENTENCE.match(name)] == []


def _tests() -> Iterator[tuple[str, str]]:
    for path in sorted((CHECKOUT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield str(Path(path).relative_to(CHECKOUT)), node.name

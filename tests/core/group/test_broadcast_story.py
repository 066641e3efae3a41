"""The story of a broadcast side without watermarks, with its figures
(`examples/broadcast_watermarks.py`, in virtual time).
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "broadcast_watermarks.py"
T, X, SMALL_X = 60, 300, 5


@pytest.fixture(scope="module")
def story() -> ModuleType:
    spec = importlib.util.spec_from_file_location("broadcast_watermarks", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def late(story: ModuleType, variant: str) -> list[int]:
    """How late each result comes, in seconds; one event a second, for half an hour."""
    return [result.late_s for result in story.simulate(variant, story.Times(T, X, SMALL_X, 1_800))]


def test_without_watermarks_on_the_broadcast_side_nothing_ever_comes_out(story: ModuleType) -> None:
    assert late(story, "none") == []


@pytest.mark.parametrize(("variant", "period"), [("every X", X), ("every x", SMALL_X)])
def test_watermark_each_interval_delays_results_by_one_interval(story: ModuleType, variant: str, period: int) -> None:
    lateness = late(story, variant)
    assert (min(lateness), max(lateness)) == (
        T,
        T + period - 1,
    )  # events come at whole seconds: the bound itself is not reached
    assert sum(lateness) / len(lateness) == pytest.approx(T + (period - 1) / 2, abs=6)


@pytest.mark.parametrize("variant", ["MAX", "idleness"])
def test_the_events_alone_decide_where_the_other_side_is_idle_or_at_max(story: ModuleType, variant: str) -> None:
    lateness = late(story, variant)
    assert set(lateness) == {T}
    assert len(lateness) == 1_800 - T


def test_each_event_has_one_result_by_the_rule_that_was_read_last(story: ModuleType) -> None:
    results = story.simulate("every x", story.Times(T, X, SMALL_X, 900))
    assert sorted(result.event_s for result in results) == list(range(900 - SMALL_X - T + 1))
    assert all(result.rule == f"rules of {(result.event_s + result.late_s) // X * X}" for result in results)


def test_the_example_draws_the_curves(
    story: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["broadcast_watermarks.py", "--runs", "700", "--svg", str(tmp_path / "curves.svg")]
    )
    story.main()
    drawn = capsys.readouterr().out
    assert "every X                     541     196.4 s    359 s   t + X = 360 s" in drawn
    assert {"X", "*"} <= set(drawn.split("result comes")[1].split("+---")[0])
    assert (tmp_path / "curves.svg").read_text().count("<polyline") == 4

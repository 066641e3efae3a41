"""A client without a JVM, over a real Connect server whose only setting for lockgate is the jar."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from lockgate_testbed.spark_connect import ConnectServer, client
from support.answers import wait_for

Said = Callable[..., Any]
PROGRAMS = Path(__file__).with_name("programs")
PATIENCE_S = 400.0
STREAMS = 6
KAFKAS_COLUMNS = 7


def test_every_way_to_ask_aligns_and_nothing_else_does(said: Said, skewed: SkewedTopic) -> None:
    rows = sum(skewed.counts())
    found = said("ways_to_ask", skewed.name)

    assert found["align"] == [rows, True, "0"]
    assert [found[way] for way in ("options", "format", "conf")] == 3 * [[rows, True, None]]
    assert found["off"][1:] == [False, None]


@pytest.mark.long
def test_late_rows_are_kept_and_read_again_over_connect(said: Said, skewed: SkewedTopic) -> None:
    counted, *late, oldest = said("keeps_late_rows", skewed.name)
    assert late == 3 * [sum(skewed.counts()) - counted]
    assert (late[0] > 0, oldest) == (True, True)


@pytest.fixture(scope="module")
def refusals(said: Said, skewed: SkewedTopic) -> dict[str, list[str]]:
    found: dict[str, list[str]] = said("refusals", skewed.name)
    return found


@pytest.mark.parametrize(
    ("attempt", "kind", "words"),
    [
        ("rate", "UnsupportedQuery", 'the source is "rate", and align() needs format("kafka")'),
        ("batch", "UnsupportedQuery", "expected a streaming DataFrame"),
        ("twice", "UnsupportedQuery", "this source is aligned already"),
        ("event_time", "ConfigurationError", "Alignment(event_time='no_such_column')"),
        ("zone", "ConfigurationError", "Alignment(slice_zone='Mars/Olympus')"),
        ("unknown option", "IllegalArgumentException", "did you mean lockgate.maxDrift?"),
        ("option without align", "IllegalArgumentException", "set lockgate.align to true"),
        ("report_progress", "UnsupportedQuery", "Spark Connect"),
    ],
)
def test_a_client_is_refused_what_a_classic_session_is_in_the_same_words(
    refusals: dict[str, list[str]], attempt: str, kind: str, words: str
) -> None:
    assert refusals[attempt][0] == kind
    assert words in refusals[attempt][1]


def test_columns_of_an_aligned_dataframe_and_of_its_source_are_found(refusals: dict[str, list[str]]) -> None:
    assert refusals["columns"] == ["", ""]


def test_the_format_leaves_a_stream_alone_that_says_so_in_any_case(refusals: dict[str, list[str]]) -> None:
    assert refusals["off"] == ["", ""]


def test_a_foreach_batch_function_sees_its_plan_and_a_client_the_status(said: Said, skewed: SkewedTopic) -> None:
    found = said("batches", skewed.name)

    assert sum(rows for rows, _, _ in found["views"]) == sum(skewed.counts())
    assert all(rows == planned for rows, planned, _ in found["views"])
    assert {limit for _, _, limit in found["views"]} == {"budget", "end"}
    assert (found["state"], found["splits"], found["ended"]) == ("caught up", len(skewed.counts()), "ended")
    assert found["stopped well"]


@pytest.mark.long
def test_several_streams_are_planned_together_and_a_batch_knows_its_slice(said: Said, skewed: SkewedTopic) -> None:
    found = said("several", skewed.name)

    starts, ends = ([each[place] for each in found] for place in (0, 1))
    assert starts == [skewed.t0_ms, *ends[:-1]]
    assert ends[-1] >= skewed.t0_ms + 24 * HOUR_MS
    assert all((end - skewed.t0_ms) % (3 * HOUR_MS) == 0 for end in ends[:-1])
    assert len(found) >= 3
    assert all(sources == [0, 1] and rows == inside for _, _, _, sources, rows, inside in found)
    assert sum(rows for *_, rows, _ in found) == 2 * sum(skewed.counts())


def test_silent_coordinator_of_one_user_blocks_no_other_user(
    said: Said, server: ConnectServer, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    with silent() as (url, asked):
        program = (PROGRAMS / "asks_in_vain.py", tmp_path, kafka.bootstrap, skewed.name, url, STREAMS)
        slow = client("slow", tmp_path / "log", *program, server=server)
        wait_for(lambda: not slow.alive or len(asked) >= STREAMS, PATIENCE_S)

        assert said("asks_at_once", skewed.name, 1) == [KAFKAS_COLUMNS]
        assert slow.alive
        assert "StructType" not in slow.output()
        slow.kill()


@contextmanager
def silent() -> Iterator[tuple[str, list[socket.socket]]]:
    """The URL of a coordinator that takes connections and never says a word; those that it has."""
    taken: list[socket.socket] = []

    def take() -> None:
        with suppress(OSError):  # it was closed
            while True:
                taken.append(listener.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=take, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", taken
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for each in taken:
                each.close()

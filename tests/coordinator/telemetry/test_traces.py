"""Spans of a service with an exporter in memory. Left out where the extra `otel` is not
installed.
"""

import time
from pathlib import Path

import httpx
import pytest

pytest.importorskip("opentelemetry.sdk", reason="pip install 'lockgate-coordinator[otel]'")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore
from lockgate_coordinator.telemetry import traces
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import Answer, serving
from support.children import doing_first
from support.in_process import Readers, client_of

TOKEN = "open-sesame-and-close-it"
PATIENT = "from lockgate_coordinator.telemetry import traces; traces.FLUSH_S = 15"
"""A coordinator that runs this first sends its last spans, however long the machine pauses."""


class Traced(Readers):
    """The service with spans that stay in memory."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._spans))
        app = create_app(MemoryStore(), Settings(tokens=f"admin={TOKEN}"), spans=provider)
        super().__init__(client_of(app, headers={"Authorization": f"Bearer {TOKEN}"}))

    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._spans.get_finished_spans()


async def test_report_has_a_span_with_group_and_source_below_the_clients() -> None:
    traced = Traced()
    traced.http.headers["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await traced.reports("a", 5)
    span = traced.spans()[-1]
    assert span.name == "POST /v1/groups/{group}/sources/{source}/watermarks"
    assert span.attributes is not None
    assert (span.attributes["lockgate.group"], span.attributes["lockgate.source"]) == ("g", "a")
    assert span.context is not None
    assert format(span.context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"


async def test_each_request_but_liveness_probes_is_one_span() -> None:
    traced = Traced()
    for path in ("/livez", "/readyz", "/metrics"):
        assert (await traced.http.get(path)).status_code == 200
    await traced.http.get("/v1/groups")
    assert [span.name for span in traced.spans()] == ["GET /v1/groups"]


async def test_no_token_is_in_a_span_even_if_headers_are_to_be_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST", ".*")
    traced = Traced()
    await traced.reports("a", 5)
    told = "".join(span.to_json() for span in traced.spans())
    assert TOKEN not in told
    assert "authorization" in told  # else nothing was captured, and this shows nothing


def test_without_an_endpoint_there_are_no_traces() -> None:
    assert traces.provider({}) is None
    assert traces.provider({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}) is None


def test_process_sends_its_spans_before_it_ends(tmp_path: Path) -> None:
    with serving(collector := Answer()) as endpoint:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        with CoordinatorProcess(env=doing_first(tmp_path, PATIENT) | env) as coordinator:
            httpx.get(f"{coordinator.url}/v1/groups/a-group-by-its-name", timeout=60)
            coordinator.stop()
    assert collector.asked[0][0].startswith("POST /v1/traces ")
    assert b"a-group-by-its-name" in collector.bodies[0]
    assert b"lockgate-coordinator" in collector.bodies[0]


def test_a_collector_that_is_away_does_not_put_off_the_end() -> None:
    with CoordinatorProcess(env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}) as coordinator:
        assert httpx.get(f"{coordinator.url}/v1/groups", timeout=60).status_code == 200
        began = time.monotonic()
        coordinator.stop()
        # the rest is for a machine that does other things
        assert time.monotonic() - began < 5 + traces.FLUSH_S

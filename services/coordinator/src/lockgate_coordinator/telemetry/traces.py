"""OpenTelemetry traces, if the extra `otel` is installed and the environment sets an endpoint.
Otherwise, OpenTelemetry is not loaded.

Each request except probes and scrapes gets a span within the trace of the client's `traceparent`.
This includes reports, which bypass FastAPI. A span contains the route, and the group, source and
subtask in the request's path, but no headers. If OpenTelemetry is configured to capture headers,
those that may contain a secret are masked.
"""

import asyncio
import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Scope

from lockgate_coordinator.access.rules import route_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
FLUSH_S: Final = 1.0
"""How long the process waits for its last spans to be sent before it ends."""

_SECRET: Final = [".*auth.*", ".*cookie.*", ".*token.*", ".*key.*", ".*secret.*"]
_NOT_TRACED: Final = "/livez,/readyz,/metrics"

_log = logging.getLogger("lockgate.traces")


def provider(environment: Mapping[str, str]) -> "TracerProvider | None":
    """Return a tracer provider that sends spans over OTLP.

    OpenTelemetry's own variables in `environment` configure it. Return None if they set no endpoint
    or disable the SDK, or if the extra is not installed.
    """
    if (
        not any(environment.get(name) for name in ENDPOINTS)
        or environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    ):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        _log.warning(
            "an OTLP endpoint is set, but OpenTelemetry is not installed: pip install 'lockgate-coordinator[otel]'"
        )
        return None
    name = environment.get("OTEL_SERVICE_NAME", "lockgate-coordinator")
    made = TracerProvider(resource=Resource.create({"service.name": name}), shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return made


def traced(app: ASGIApp, spans: "TracerProvider") -> ASGIApp:
    """Wrap `app` in ASGI middleware that makes a span for each request, except `_NOT_TRACED`."""
    from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
    from opentelemetry.metrics import NoOpMeterProvider

    made: ASGIApp = OpenTelemetryMiddleware(
        app,
        tracer_provider=spans,
        meter_provider=NoOpMeterProvider(),
        default_span_details=details,
        excluded_urls=_NOT_TRACED,
        exclude_spans=["send", "receive"],
        http_capture_headers_sanitize_fields=_SECRET,
    )
    return made


def details(scope: Scope) -> tuple[str, dict[str, str]]:
    """Return the name (route, or method if none matches) and the attributes of a request's span."""
    method, path = scope.get("method", ""), scope.get("path", "")
    route = route_of(method, path)
    if route is None:
        return method, {}
    names = zip(route.split("/"), path.split("/"), strict=True)
    return route, {f"lockgate.{part[1:-1]}": name for part, name in names if part.startswith("{")}


async def end(spans: "TracerProvider") -> None:
    """Send the remaining spans, for at most `FLUSH_S` seconds. Then abandon the sending thread,
    because OpenTelemetry's own timeout does not end an attempt.
    """
    flushing = threading.Thread(target=spans.force_flush, daemon=True)
    flushing.start()
    await asyncio.to_thread(flushing.join, FLUSH_S)

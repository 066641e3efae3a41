"""The bodies in the OpenAPI document. They are read by core's codec; their schemas come from the very same events."""

from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from lockgate.events import (
    GroupConfig,
    ProgressEvent,
    ReaderRegistrationEvent,
    RegistrationAnswer,
    ReportedWatermarkEvent,
    WatermarkAlignmentEvent,
)
from lockgate.fields import Json

EVENTS = (GroupConfig, ProgressEvent, ReaderRegistrationEvent, RegistrationAnswer, ReportedWatermarkEvent, WatermarkAlignmentEvent)
_REF = "#/components/schemas/{model}"


def described(*, body: type | None = None, answer: type | None = None, status: int = 200) -> Json:
    """What a route adds to its OpenAPI operation: the event that it takes and the one that it gives."""
    extra: Json = {}
    if body is not None:
        extra["requestBody"] = {"required": True, **_content(body)}
    if answer is not None:
        extra["responses"] = {str(status): {"description": answer.__name__, **_content(answer)}}
    return extra


def install(app: FastAPI) -> None:
    """Adds the events' schemas to the document of `app`."""
    without = app.openapi

    def with_events() -> dict[str, Any]:
        document = without()
        document.setdefault("components", {}).setdefault("schemas", {}).update(_schemas())
        return document

    app.openapi = with_events  # type: ignore[method-assign]  # FastAPI's own way to extend the document


def _content(event: type) -> Json:
    return {"content": {"application/json": {"schema": {"$ref": _REF.format(model=event.__name__)}}}}


def _schemas() -> Json:
    adapters = [(event.__name__, "validation", TypeAdapter(event)) for event in EVENTS]
    _, definitions = TypeAdapter.json_schemas(adapters, ref_template=_REF)  # type: ignore[arg-type]
    schemas: Json = definitions["$defs"]
    return schemas

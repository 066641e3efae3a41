"""Audit lines: one log line for each act of an operator, with the operator's name and the changes.

These acts are audited, even if they are refused: configuring and deleting a group, pausing and
resuming a source, evicting and taking over a reader, and setting a static list of splits for a
source. A line contains the name of the token, but never the token itself. See docs/monitoring.md,
"Journal and audit".
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

from fastapi import Request
from starlette.datastructures import MutableHeaders

from lockgate.wire.codec import to_json
from lockgate.wire.events import GroupConfig
from lockgate_coordinator.access.guard import TOKEN
from lockgate_coordinator.access.tokens import Token
from lockgate_coordinator.api.problems import TABLE
from lockgate_coordinator.telemetry.kept_changes import shortened
from lockgate_coordinator.telemetry.logs import AUDIT

REQUEST_ID = "X-Request-Id"

_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}\Z")
_log = logging.getLogger(AUDIT)

Changed = dict[str, Any]


def operator(request: Request) -> str | None:
    """Return the name of the request's token, or None if the service has no tokens."""
    token = request.scope.get(TOKEN)
    return token.name if isinstance(token, Token) else None


@contextmanager
def audited(
    request: Request, headers: dict[str, str] | MutableHeaders, act: str, group: str, **where: Any
) -> Iterator[Changed]:
    """Write the audit line of `act` at the end of a `with` block that performs the act.

    The block may add its changes to the yielded dict. If it raises an error, the line contains the
    type of the problem. The line also contains the fields in `where`. The request's id is added to
    the response's `headers`.
    """
    given = request.headers.get(REQUEST_ID, "")
    id = given if _ID.match(given) else token_hex(8)
    headers[REQUEST_ID] = id
    fields = {
        "event": "act",
        "act": act,
        "token": operator(request),
        "group": group,
        **where,
        "request_id": id,
        "agent": request.headers.get("user-agent", ""),
    }
    changed: Changed = {}
    try:
        yield changed
    except Exception as error:
        outcome = TABLE[type(error)].type if type(error) in TABLE else "fault"
        _log.warning("%s refused", act, extra={"fields": {**fields, "outcome": outcome}})
        raise
    _log.info("%s", act, extra={"fields": {**fields, "outcome": "done", "changed": changed}})


def differences(before: GroupConfig | None, after: GroupConfig) -> Changed:
    """Return `[old, new]`, shortened, for each key that differs. `old` is None for a new group."""
    old = {} if before is None else to_json(before)
    new = to_json(after)
    return {key: [shortened(old.get(key)), shortened(value)] for key, value in new.items() if old.get(key) != value}

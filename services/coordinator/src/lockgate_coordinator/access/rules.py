"""The role that each request needs, and the group that it concerns.

A request without a rule needs the role `admin`. The rules apply to the decoded path. The router
matches the same path, so no spelling of a path can mean different routes to the rules and to the
router. A path with an empty, missing or additional part matches no rule.
"""

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from lockgate_coordinator.access.tokens import Role


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of a route.

    Attributes:
        role: The lowest role that may send the request.
        everything: Whether the answer covers all groups, so that the token must be for all groups
            too.
        forced_by: A query parameter that only the role `admin` may set, or an empty string.
    """

    role: Role
    everything: bool = False
    forced_by: str = ""


OPEN: Final = frozenset({("GET", "/livez"), ("GET", "/readyz")})
"""The requests that need no token."""

RULES: Final = {
    "GET /metrics": Rule(Role.READ, everything=True),
    "GET /openapi.json": Rule(Role.READ),
    "GET /v1/token": Rule(Role.READ),
    "GET /v1/groups": Rule(Role.READ),  # the answer is cut to the token's groups
    "GET /v1/groups/{group}": Rule(Role.READ),
    "PUT /v1/groups/{group}": Rule(Role.ADMIN),
    "DELETE /v1/groups/{group}": Rule(Role.ADMIN),
    "GET /v1/groups/{group}/journal": Rule(Role.READ),
    "GET /v1/groups/{group}/samples": Rule(Role.READ),
    "POST /v1/groups/{group}/watermarks": Rule(Role.REPORT),
    "GET /v1/groups/{group}/alignment": Rule(Role.READ),
    "GET /v1/groups/{group}/alignment/events": Rule(Role.READ),
    "GET /v1/groups/{group}/sources/{source}": Rule(Role.READ),
    "PUT /v1/groups/{group}/sources/{source}/pause": Rule(Role.ADMIN),
    "DELETE /v1/groups/{group}/sources/{source}/pause": Rule(Role.ADMIN),
    "POST /v1/groups/{group}/sources/{source}/readers": Rule(Role.REPORT),
    "DELETE /v1/groups/{group}/sources/{source}/readers/{subtask}": Rule(Role.REPORT, forced_by="force"),
    "POST /v1/groups/{group}/sources/{source}/watermarks": Rule(Role.REPORT),
    "POST /v1/groups/{group}/sources/{source}/progress": Rule(Role.REPORT),
    "GET /v1/groups/{group}/sources/{source}/splits": Rule(Role.READ),
    "PUT /v1/groups/{group}/sources/{source}/splits": Rule(Role.ADMIN),
    "POST /v1/groups/{group}/sources/{source}/events": Rule(Role.REPORT),
    "POST /v1/groups/{group}/sources/{source}/readers/{subtask}/splits": Rule(Role.REPORT),
    "GET /v1/groups/{group}/sources/{source}/readers/{subtask}/events": Rule(Role.READ),
}
_UNKNOWN: Final = Rule(Role.ADMIN, everything=True)
_FORCED: Final = Rule(Role.ADMIN)
_DEEPEST: Final = 9  # parts of the longest path, the empty one before its first slash among them
_GROUPS: Final = ["", "v1", "groups"]

_Shape = tuple[str, ...]


def rule_for(method: str, path: str, query: bytes) -> tuple[Rule, str | None]:
    """Return the rule of a request, and the group in its path, or None if it names no group."""
    parts = path.split("/", _DEEPEST)
    group = parts[3] if len(parts) > 3 and parts[:3] == _GROUPS else None
    rule = RULES.get(_ROUTES.get(_shape(method, parts), ""), _UNKNOWN)
    if rule.forced_by and query and _is_forced(rule.forced_by, query):
        rule = _FORCED
    return rule, group


def route_of(method: str, path: str) -> str | None:
    """Return the key of a request's rule in `RULES`, or None if no rule matches."""
    return _ROUTES.get(_shape(method, path.split("/", _DEEPEST)))


def _shape(method: str, parts: list[str]) -> _Shape:
    """Return `method` and `parts`, with the names of group, source and subtask replaced by `*`. An
    empty name is not replaced, so it matches no rule. `parts` is changed in place.
    """
    for place in (3, 5, 7) if len(parts) < 5 or parts[4] == "sources" else (3,):
        if place < len(parts) and parts[place]:
            parts[place] = "*"
    return (method, *parts)


def _shape_of_rule(rule: str) -> _Shape:
    method, path = rule.split(" ")
    return (method, *("*" if part.startswith("{") else part for part in path.split("/")))


def _is_forced(name: str, query: bytes) -> bool:
    """Return whether the query sets the parameter `name` to anything but `false`."""
    return any(
        key == name and value != "false" for key, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    )


_ROUTES: Final = {_shape_of_rule(route): route for route in RULES}

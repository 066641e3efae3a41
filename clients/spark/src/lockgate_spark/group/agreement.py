"""The name of a query in its group, and the check that their configurations agree."""

import re

from lockgate.duration import spoken
from lockgate.wire.events import CatchUp, GroupConfig
from lockgate_spark.config import Alignment
from lockgate_spark.duration import as_option
from lockgate_spark.errors import ConfigurationError


def source_name(chosen: str | None, query_name: str | None, query_id: str) -> str:
    """The query's name in its group: the chosen one, else Spark's name for it. `-` replaces the
    characters that the protocol does not allow.
    """
    return chosen or re.sub(r"[^A-Za-z0-9._:-]", "-", query_name or query_id)[:255]


def group_config(alignment: Alignment) -> GroupConfig:
    """The configuration of a group that this query would create."""
    assert alignment.coordinator is not None
    return GroupConfig(max_drift_ms=alignment.bounds.max_drift, catch_up=CatchUp(alignment.coordinator.catch_up))


def check_config(alignment: Alignment, config: GroupConfig) -> None:
    """Raises `ConfigurationError` where this query's configuration contradicts the group's, which
    rules.
    """
    group = alignment.coordinator.group if alignment.coordinator else ""
    bounds = alignment.bounds
    if alignment.max_drift is not None and bounds.max_drift != config.max_drift_ms:
        raise ConfigurationError(
            f"Alignment(max_drift={as_option(bounds.max_drift)!r}): group {group} has "
            f"{as_option(config.max_drift_ms)!r};"
            f" leave max_drift out, or change the group's (PUT /v1/groups/{group})"
        )
    if config.max_drift_ms <= bounds.disorder:
        raise ConfigurationError(
            f"group {group} allows a drift of {spoken(config.max_drift_ms)}, which is not above this query's "
            f"disorder of {spoken(bounds.disorder)}: it could never read. Give the group a greater max_drift_ms "
            f"(PUT /v1/groups/{group})"
        )

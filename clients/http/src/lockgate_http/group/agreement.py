"""The name of a reader in its group, and the check of its settings against the group's."""

import re
from dataclasses import dataclass

from lockgate.duration import spoken
from lockgate.wire.events import CatchUp, GroupConfig
from lockgate.wire.fields import NAME
from lockgate_http.duration import as_option
from lockgate_http.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Agreement:
    """A reader's own settings for its group.

    Attributes:
        group: The group's name.
        max_drift: The `max_drift` (ms) that the reader needs.
        chose_drift: Whether the user has set `max_drift`.
        disorder: The out-of-orderness (ms).
        catch_up: How the group works through a backlog.
        settings: The class in which the user sets the options, for error messages.
        asker: The word for the reader in error messages, such as "query".
    """

    group: str
    max_drift: int
    chose_drift: bool
    disorder: int
    catch_up: CatchUp
    settings: str = "Alignment"
    asker: str = "query"

    @property
    def config(self) -> GroupConfig:
        return GroupConfig(max_drift_ms=self.max_drift, catch_up=self.catch_up)

    def check(self, config: GroupConfig) -> None:
        """Raise `ConfigurationError` if the reader's settings contradict the group's."""
        if self.chose_drift and self.max_drift != config.max_drift_ms:
            raise ConfigurationError(
                f"{self.settings}(max_drift={as_option(self.max_drift)!r}): group {self.group} has "
                f"{as_option(config.max_drift_ms)!r};"
                f" leave max_drift out, or change the group's (PUT /v1/groups/{self.group})"
            )
        if config.max_drift_ms <= self.disorder:
            raise ConfigurationError(
                f"group {self.group} allows a drift of {spoken(config.max_drift_ms)}, which is not above this "
                f"{self.asker}'s max_out_of_orderness of {spoken(self.disorder)}: it could never read. Give the group "
                f"a greater max_drift_ms (PUT /v1/groups/{self.group})"
            )


def source_name(chosen: str | None, name: str | None, otherwise: str) -> str:
    """Return a source's name in a group: `chosen`, `name` or `otherwise`, the first that is set.

    In the last two, characters that the protocol does not allow become `-`.
    """
    made = re.sub(r"[^A-Za-z0-9._:-]", "-", name or otherwise)[:255]
    return chosen or (made if NAME.match(made) else "-" * len(made))

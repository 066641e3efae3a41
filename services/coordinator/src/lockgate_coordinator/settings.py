"""The operator's settings of the service, without its address and its store."""

from dataclasses import dataclass, field
from pathlib import Path

from lockgate.group.expiry import Expiry
from lockgate_coordinator.limits import Limits

MAX_SUBSCRIBERS = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """`tokens_file` is a TOML file, `tokens` is `role=token,role=token`; without either every
    request is allowed.

    `rate_limit`: requests a second of each token, with bursts of twice as many; None: no limit.
    `max_subscribers`: event streams and long polls at the same time in this process.
    `split_metrics`: each split has metrics of its own. `allowed_hosts`: names by which a service
    without tokens may be called, besides private ones. `limits`: how much a group may hold.
    `expiry`: how long what is dead is kept. `dashboard`: whether a browser gets the
    dashboard at `/`.
    """

    tokens_file: Path | None = None
    tokens: str = field(default="", repr=False)
    rate_limit: int | None = None
    max_subscribers: int = MAX_SUBSCRIBERS
    split_metrics: bool = False
    allowed_hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    expiry: Expiry = field(default_factory=Expiry)
    dashboard: bool = True

    @property
    def guarded(self) -> bool:
        """Return whether requests need a token."""
        return self.tokens_file is not None or bool(self.tokens)

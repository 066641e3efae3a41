"""The operator's settings of the service, without its address and its store."""

from dataclasses import dataclass, field
from pathlib import Path

from lockgate.group.expiry import Expiry
from lockgate_coordinator.limits import Limits

MAX_SUBSCRIBERS = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's settings. `tokens_file` is a TOML file, and `tokens` is
    `role=token,role=token`. Without either every request is allowed.

    `rate_limit` is in requests a second of each token, with bursts of twice as many, and None means
    no limit. `max_subscribers` is the most event streams and long polls of this process at the same
    time. With `split_metrics` each split has metrics of its own. `allowed_hosts` are names, besides
    private ones, by which a service without tokens may be called. `limits` has the limits of a
    group, and `expiry` says how long dead readers and groups are kept. With `dashboard` a browser
    gets the dashboard at `/`.
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
        """Whether requests need a token."""
        return self.tokens_file is not None or bool(self.tokens)

"""The operator's settings of the service, except its address and its store."""

from dataclasses import dataclass, field
from pathlib import Path

from lockgate_coordinator.limits import Limits

MAX_SUBSCRIBERS = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's settings.

    Attributes:
        tokens_file: A TOML file with tokens. If neither it nor `tokens` is set, requests need no
            token.
        tokens: More tokens, as `role=token,role=token`.
        rate_limit: The maximum number of requests per second for each token, with bursts of twice
            as many. None means no limit.
        max_subscribers: The maximum number of event streams and long polls open at a time.
        allowed_hosts: Host names that requests may use if there are no tokens, besides private
            ones (`access.browsers`).
        limits: The limits on stored data and on bodies.
        dashboard: Whether a browser gets the dashboard at `/`.
        history: A folder for the history of all turns, which `lockgate verify` checks. If it is
            None, no history is written.
    """

    tokens_file: Path | None = None
    tokens: str = field(default="", repr=False)
    rate_limit: int | None = None
    max_subscribers: int = MAX_SUBSCRIBERS
    allowed_hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    dashboard: bool = True
    history: Path | None = None

    @property
    def guarded(self) -> bool:
        """Whether requests need a token."""
        return self.tokens_file is not None or bool(self.tokens)

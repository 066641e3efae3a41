"""What an operator sets about the service, beside where it listens and where it keeps its
groups.
"""

from dataclasses import dataclass, field
from pathlib import Path

MAX_SUBSCRIBERS = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """`tokens_file` is a TOML file, `tokens` is `role=token,role=token`; without either everybody
    may do everything.

    `rate_limit`: requests a second of each token, twice as many at once; None: as many as it likes.
    `max_subscribers`: event streams and long polls at the same time in this process.
    `split_metrics`: each split has metrics of its own.
    """

    tokens_file: Path | None = None
    tokens: str = field(default="", repr=False)
    rate_limit: int | None = None
    max_subscribers: int = MAX_SUBSCRIBERS
    split_metrics: bool = False

    @property
    def guarded(self) -> bool:
        """Whether requests need a token."""
        return self.tokens_file is not None or bool(self.tokens)

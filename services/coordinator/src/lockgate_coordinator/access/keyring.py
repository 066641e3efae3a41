"""The valid tokens: those of the environment, and those of a file that is reloaded when it changes.

**Timing reveals nothing about a token.** A header is first looked up by its SHA-256 among the
headers that were recognised before. The time that this takes may show how many bytes of two digests
agree, but these bytes say nothing about the token. If the header is new, the digest of its token is
compared with that of *every* token by `hmac.compare_digest`, without stopping at a match.

**The keyring keeps only digests** in memory, never a token or a header.
"""

import hmac
import logging
from collections.abc import Callable
from pathlib import Path

from lockgate_coordinator.access.token_file import tokens_of_environment, tokens_of_file
from lockgate_coordinator.access.tokens import InvalidTokens, Token, digest_of
from lockgate_coordinator.watched_files import WatchedFiles

LOOK_EVERY_S = 1.0
"""The minimum time between two checks of the file for changes, in seconds."""

MOST_RECOGNISED = 1_024
"""The maximum number of recognised headers that are remembered. One token may have several."""

VARIABLE = "LOCKGATE_TOKENS"

log = logging.getLogger("lockgate")


class Keyring:
    """The valid tokens, from a TOML `file` and from the string `listed` (`role=token,…`).

    `file` may be None, and `listed` may be empty. `clock` returns monotonic seconds. Raises
    `InvalidTokens` if either source is invalid.
    """

    def __init__(self, file: Path | None, listed: str, clock: Callable[[], float]) -> None:
        self._file = file
        self._clock = clock
        self._watched = WatchedFiles(() if file is None else (file,))
        self._next_check = clock() + LOOK_EVERY_S
        self._listed = tokens_of_environment(VARIABLE, listed) if listed else ()
        self._tokens = self._listed + (() if file is None else tokens_of_file(file))
        self._recognised_headers: dict[bytes, Token] = {}

    def find(self, authorization: bytes) -> Token | None:
        """Return the token in an `Authorization` header, or None if the header has no valid token.
        A changed file is read again first, but at most every `LOOK_EVERY_S` seconds.
        """
        if self._file is not None and self._clock() >= self._next_check:
            self._read_again(self._file)
        header = digest_of(authorization)
        recognised = self._recognised_headers.get(header)
        return recognised if recognised is not None else self._recognise(authorization, header)

    def in_force(self) -> tuple[Token, ...]:
        """Read the file again if it has changed, and return all tokens that are valid now."""
        if self._file is not None:
            self._read_again(self._file)
        return self._tokens

    def _recognise(self, authorization: bytes, header: bytes) -> Token | None:
        scheme, _, secret = authorization.partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        digest, found = digest_of(secret.strip(b" ")), None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        # Wrong headers are never kept: guesses cost no memory and displace no good header.
        if found is not None:
            if len(self._recognised_headers) >= MOST_RECOGNISED:
                self._recognised_headers.clear()
            self._recognised_headers[header] = found
        return found

    def _read_again(self, file: Path) -> None:
        """Read the file again if it has changed. If it is invalid, keep the previous tokens."""
        self._next_check = self._clock() + LOOK_EVERY_S
        if not self._watched.have_changed():
            return
        try:
            tokens = tokens_of_file(file)
        except InvalidTokens as error:
            log.error("token file rejected, keeping the previous tokens: %s", error)
            return
        self._tokens = self._listed + tokens
        self._recognised_headers.clear()
        log.warning("%s has changed; tokens loaded: %d", file, len(self._tokens))

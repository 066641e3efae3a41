"""The tokens in force: those of the environment, and those of a file that is read again whenever it
has changed.

**Nothing leaks through time.** A header is looked up among those that were good before, by its
SHA-256: how far two digests agree says nothing about the token. What is not among them is compared,
again by its digest, with *every* token's by `hmac.compare_digest`, without an end at the first that
fits.

**Nothing is kept** but digests: neither a token nor a header that held one.
"""

import hmac
import logging
import os
from collections.abc import Callable
from pathlib import Path

from lockgate_coordinator.access.token_file import tokens_of_environment, tokens_of_file
from lockgate_coordinator.access.tokens import InvalidTokens, Token, digest_of

LOOK_EVERY_S = 1.0
"""How often, at most, the file is looked at."""

MOST_KNOWN = 1_024
"""Good headers that are remembered. A token can be written in a few ways (`bearer`, more blanks),
so there may be more than tokens.
"""

VARIABLE = "LOCKGATE_TOKENS"

log = logging.getLogger("lockgate")

_Signature = tuple[int, int, int]


class Keyring:
    """`file` may change, `listed` is `role=token,…`. `clock` gives monotonic seconds. Raises
    `InvalidTokens` if they cannot be used.
    """

    def __init__(self, file: Path | None, listed: str, clock: Callable[[], float]) -> None:
        self._file = file
        self._clock = clock
        self._signature = None if file is None else _signature(file)
        self._looks_at = clock() + LOOK_EVERY_S
        self._listed = tokens_of_environment(VARIABLE, listed) if listed else ()
        self._tokens = self._listed + (() if file is None else tokens_of_file(file))
        self._known: dict[bytes, Token] = {}

    def find(self, authorization: bytes) -> Token | None:
        """The token of an `Authorization` header; None if it holds none that is known."""
        if self._file is not None and self._clock() >= self._looks_at:
            self._look(self._file)
        header = digest_of(authorization)
        known = self._known.get(header)
        return known if known is not None else self._recognised(authorization, header)

    def _recognised(self, authorization: bytes, header: bytes) -> Token | None:
        scheme, _, secret = authorization.partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        digest, found = digest_of(secret.strip(b" ")), None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        # what is not good is never kept: guesses cost no memory and push nobody out
        if found is not None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[header] = found
        return found

    def _look(self, file: Path) -> None:
        """On a broken or missing file the tokens that were good stay in force, and that is said
        once for each such file.
        """
        self._looks_at = self._clock() + LOOK_EVERY_S
        signature = _signature(file)
        if signature == self._signature:
            return
        self._signature = signature
        try:
            tokens = tokens_of_file(file)
        except InvalidTokens as error:
            log.error("the tokens stay as they were: %s", error)
            return
        self._tokens = self._listed + tokens
        self._known.clear()
        log.warning("%s has changed: %d tokens are in force", file, len(self._tokens))


def _signature(file: Path) -> _Signature | None:
    """Time, size and inode: a file written in place changes the first two, one moved over it, or a
    link to another, the last.
    """
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

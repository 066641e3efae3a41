"""The files of tokens of coordinators and of their clients, which a rotation replaces while all of
them run.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from lockgate_coordinator.access.keyring import LOOK_EVERY_S
from lockgate_coordinator.access.tokens import Role, Token, digest_of, stanza

ADMIN = "lockgate_admin-0123456789abcdef"
"""The token of the operator, which is never rotated."""

READ_WITHIN_S = 1.0 + LOOK_EVERY_S
"""Within which coordinators that are asked now and then have read a changed file."""

AS_ADMIN = {"Authorization": f"Bearer {ADMIN}"}


class Tokens:
    """`now_s`: the time of the files' changes."""

    def __init__(self, folder: Path, now_s: Callable[[], float] = time.time) -> None:
        self.of_coordinators, self.of_clients = folder / "tokens.toml", folder / "token"
        self._now_s, self._newest = now_s, 0
        self._replace()
        self._switch()

    def rotation(self, order: int) -> list[Callable[[], None]]:
        """Return the steps to a new token: 0 as docs/operations.md has it, 1 clients first, 2
        coordinators first, so that they refuse clients until these have it, too.
        """
        self._newest += 1
        return (
            [self._add, self._switch, self._replace],
            [self._switch, self._replace],
            [self._replace, self._switch],
        )[order]

    def _add(self) -> None:
        self._accept(*range(self._newest + 1))

    def _replace(self) -> None:
        self._accept(self._newest)

    def _accept(self, *numbers: int) -> None:
        tokens = [Token(f"client-{each}", digest_of(_secret(each).encode()), Role.REPORT) for each in numbers]
        tokens.append(Token("admin", digest_of(ADMIN.encode()), Role.ADMIN))
        self._write(self.of_coordinators, "\n\n".join(map(stanza, tokens)))

    def _switch(self) -> None:
        self._write(self.of_clients, _secret(self._newest))

    def _write(self, file: Path, text: str) -> None:
        new = file.with_suffix(".new")
        new.write_text(text)
        # In virtual time the file system's own clock would not tell two changes apart.
        changed_ns = round(1e9 * self._now_s())
        os.utime(new, ns=(changed_ns, changed_ns))
        new.replace(file)


def _secret(number: int) -> str:
    return f"lockgate_client-{number:020}"

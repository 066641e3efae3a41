"""Tokens: 256 random bits each, of which the service keeps the SHA-256 alone.

A fast hash is enough: what makes slow ones necessary are passwords that can be guessed, and of 256
random bits nobody guesses any.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What RFC 6750 lets a bearer token consist of."""

GROUP_PATTERN = re.compile(r"[A-Za-z0-9._:-]{1,255}|[A-Za-z0-9._:-]{0,254}\*")
"""A group's name, or how names begin: `orders*`."""


class Role(IntEnum):
    """What a token may do; each role may do what the ones below it may."""

    READ = 1
    REPORT = 2
    ADMIN = 3

    def __str__(self) -> str:
        return self.name.lower()


ROLES = {str(role): role for role in Role}
ROLE_NAMES = ", ".join(ROLES)


class InvalidTokens(Exception):
    """The tokens cannot be used as they were given. The text names the place, the field and what is
    expected; never what stands there.
    """


@dataclass(frozen=True, slots=True)
class Token:
    """One who may ask. `groups` are names and beginnings of names (`orders*`); None: all groups."""

    name: str
    digest: bytes = field(repr=False)
    role: Role
    groups: tuple[str, ...] | None = None

    def may_touch(self, group: str) -> bool:
        """Whether the group is one of its own."""
        return self.groups is None or any(_covers(pattern, group) for pattern in self.groups)


def new_token() -> str:
    """A token that nobody has seen. Its beginning lets a scanner for secrets find one that went
    astray.
    """
    return f"lockgate_{secrets.token_urlsafe(32)}"


def digest_of(token: bytes) -> bytes:
    """The SHA-256 of a token, which is all that is kept of it."""
    return hashlib.sha256(token).digest()


def stanza(token: Token) -> str:
    """The token's entry in a file, for one that is valid: its name holds nothing that TOML would
    need quoted.
    """
    lines = ["[[token]]", f'name = "{token.name}"', f'sha256 = "{token.digest.hex()}"', f'role = "{token.role}"']
    if token.groups is not None:
        lines.append(f"groups = [{_quoted(token.groups)}]")
    return "\n".join(lines)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _covers(pattern: str, group: str) -> bool:
    return group.startswith(pattern[:-1]) if pattern.endswith("*") else group == pattern

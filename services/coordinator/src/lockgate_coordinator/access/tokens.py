"""Tokens of 256 random bits. The service keeps only their SHA-256.

A fast hash is enough. Slow hashes protect passwords, which can be guessed; 256 random bits cannot.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""The form of a bearer token in RFC 6750."""


class Role(IntEnum):
    """What a token may do. Each role includes those below it."""

    READ = 1
    REPORT = 2
    ADMIN = 3

    def __str__(self) -> str:
        return self.name.lower()


ROLES = {str(role): role for role in Role}
ROLE_NAMES = ", ".join(ROLES)


class InvalidTokens(Exception):
    """The given tokens cannot be used. The text names the place, the field and the expected form,
    but never quotes a value.
    """


@dataclass(frozen=True, slots=True)
class Token:
    """A token's name, digest and rights. `groups` are names and prefixes of names (`orders*`), or
    None for all groups.
    """

    name: str
    digest: bytes = field(repr=False)
    role: Role
    groups: tuple[str, ...] | None = None

    def may_touch(self, group: str) -> bool:
        """Return whether the token's groups include this one."""
        return self.groups is None or any(_covers(pattern, group) for pattern in self.groups)


def new_token() -> str:
    """Return a new random token. Its prefix lets secret scanners find a leaked one."""
    return f"lockgate_{secrets.token_urlsafe(32)}"


def digest_of(token: bytes) -> bytes:
    """Return the SHA-256 of a token, the only trace of it that is kept."""
    return hashlib.sha256(token).digest()


def stanza(token: Token) -> str:
    """Return the entry of a valid token in the TOML file. No value in it needs escaping."""
    lines = ["[[token]]", f'name = "{token.name}"', f'sha256 = "{token.digest.hex()}"', f'role = "{token.role}"']
    if token.groups is not None:
        lines.append(f"groups = [{_quoted(token.groups)}]")
    return "\n".join(lines)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _covers(pattern: str, group: str) -> bool:
    return group.startswith(pattern[:-1]) if pattern.endswith("*") else group == pattern

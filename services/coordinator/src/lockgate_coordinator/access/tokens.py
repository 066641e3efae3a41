"""Tokens, their roles and their digests.

A new token has 256 random bits, and only its SHA-256 is stored. Slow hashes are for passwords: 256
random bits cannot be guessed, so a fast hash is enough.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from enum import IntEnum

TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""The form of a bearer token in RFC 6750."""


class Role(IntEnum):
    """The role of a token. Each role includes the rights of those with a lower value."""

    READ = 1
    REPORT = 2
    ADMIN = 3

    def __str__(self) -> str:
        return self.name.lower()


ROLES = {str(role): role for role in Role}
ROLE_NAMES = ", ".join(ROLES)


class InvalidTokens(Exception):
    """Tokens are invalid. The text names place, field and expected form, but never the value."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token's name, digest and rights. `groups` contains group names and prefixes such as
    `orders*`, or is None for all groups.
    """

    name: str
    digest: bytes = field(repr=False)
    role: Role
    groups: tuple[str, ...] | None = None

    def may_touch(self, group: str) -> bool:
        """Return whether the token's groups include `group`."""
        return self.groups is None or any(
            group.startswith(each[:-1]) if each.endswith("*") else group == each for each in self.groups
        )


def new_token() -> str:
    """Return a new random token. Its prefix lets secret scanners find a leaked one."""
    return f"lockgate_{secrets.token_urlsafe(32)}"


def digest_of(token: bytes) -> bytes:
    """Return the SHA-256 of a token."""
    return hashlib.sha256(token).digest()


def stanza(token: Token) -> str:
    """Return the entry of a token for the TOML file. No value of a valid token needs escaping."""
    lines = ["[[token]]", f'name = "{token.name}"', f'sha256 = "{token.digest.hex()}"', f'role = "{token.role}"']
    if token.groups is not None:
        quoted = ", ".join(f'"{name}"' for name in token.groups)
        lines.append(f"groups = [{quoted}]")
    return "\n".join(lines)

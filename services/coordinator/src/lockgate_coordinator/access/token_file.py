"""Parsers for the tokens in a TOML file and in an environment variable.

An entry of the file is a table `[[token]]` with `name`, `sha256`, `role` and, optionally, `groups`.
The variable has the form `role=token,role=token`.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from lockgate.wire.fields import NAME, NAME_RULE
from lockgate_coordinator.access.tokens import ROLE_NAMES, ROLES, TOKEN, InvalidTokens, Token, digest_of

SHORTEST_TOKEN = 16
"""The minimum length of a token in the environment variable. A shorter one could be guessed."""

_FIELDS = ("name", "sha256", "role", "groups")


def tokens_of_file(path: Path) -> tuple[Token, ...]:
    """Return the tokens of a file. Raises `InvalidTokens` if the file cannot be read or is
    invalid. The text of the error never quotes a value.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidTokens(f"the file of tokens {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidTokens(f"{path}: must be TOML in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidTokens(f"{path}: must be TOML: {_where(error)}") from None
    entries = found.pop("token", None)
    if found or not isinstance(entries, list) or not entries:
        raise InvalidTokens(f"{path}: must hold one [[token]] or more, and nothing else; `lockgate token` writes them")
    tokens = tuple(_Entry(path, number, entry).token() for number, entry in enumerate(entries, 1))
    _refuse_doubles(path, "name", [token.name for token in tokens])
    _refuse_doubles(path, "sha256", [token.digest for token in tokens])
    return tokens


def tokens_of_environment(variable: str, text: str) -> tuple[Token, ...]:
    """Return the tokens in `text`, such as `role=token,role=token`. Each is valid for all groups.
    Raises `InvalidTokens`, whose text names `variable`, if an entry is invalid.
    """
    return tuple(
        _listed(f"{variable}, entry {number}", entry.strip()) for number, entry in enumerate(text.split(","), 1)
    )


def _listed(where: str, entry: str) -> Token:
    role, equals, token = entry.partition("=")
    if not equals or role not in ROLES:
        raise InvalidTokens(f"{where}: must be ROLE=TOKEN, the role one of {ROLE_NAMES}")
    if len(token) < SHORTEST_TOKEN or not TOKEN.fullmatch(token):
        raise InvalidTokens(
            f"{where}: the token must be {SHORTEST_TOKEN} or more of A-Z a-z 0-9 . _ ~ + / -; `lockgate token` "
            "makes one"
        )
    return Token(where, digest_of(token.encode()), ROLES[role])


def _where(error: Exception) -> str:
    """Return the place of the syntax error, without the parser's text, which may quote a value."""
    line = re.search(r"line \d+, column \d+|end of document", str(error))
    return f"a fault of syntax at {line[0]}" if line else "a fault of syntax"


def _refuse_doubles(path: Path, field: str, values: list[str] | list[bytes]) -> None:
    for number, value in enumerate(values, 1):
        first = values.index(value) + 1  # type: ignore[arg-type]  # of its own list
        if first < number:
            raise InvalidTokens(f"{path}: token {number}: {field} must be its own, and is that of token {first}")


class _Entry:
    """The `[[token]]` entry with this `number` in a file. The entries are counted from 1."""

    def __init__(self, path: Path, number: int, fields: object) -> None:
        self._where = f"{path}: token {number}"
        if not isinstance(fields, dict):
            self._refuse("it", "must be a table, [[token]]")
        self._fields = fields

    def token(self) -> Token:
        name = self._text("name", NAME, NAME_RULE.removeprefix("must be "))
        self._where += f" ({name})"
        if self._fields.keys() - set(_FIELDS):
            self._refuse("its fields", f"must be among {', '.join(_FIELDS)}")
        role = self._text("role", re.compile("|".join(ROLES)), f"one of {ROLE_NAMES}")
        digest = self._text("sha256", re.compile("[0-9a-f]{64}"), "the SHA-256 of the token, 64 of 0-9 a-f")
        return Token(name, bytes.fromhex(digest), ROLES[role], self._groups())

    def _text(self, field: str, form: "re.Pattern[str]", expected: str) -> str:
        value = self._fields.get(field)
        if not isinstance(value, str) or not form.fullmatch(value):
            self._refuse(field, f"must be {expected}")
        return value

    def _groups(self) -> tuple[str, ...] | None:
        groups = self._fields.get("groups")
        if groups is None:
            return None
        if not isinstance(groups, list) or not groups or not valid_groups(groups):
            self._refuse(
                "groups",
                "must be a list of names, each of them a group's or its beginning and *; for all groups leave it out",
            )
        return tuple(groups)

    def _refuse(self, field: str, expected: str) -> NoReturn:
        raise InvalidTokens(f"{self._where}: {field} {expected}")


def valid_groups(groups: Iterable[object]) -> bool:
    """Return whether all `groups` are names of groups, or prefixes of names followed by `*`."""
    return all(
        isinstance(group, str) and NAME.match(group[:-1] + "-" if group.endswith("*") else group) for group in groups
    )

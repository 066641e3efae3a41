"""Tokens from a file and from the environment: what is taken, and what is refused in which
words.
"""

from pathlib import Path

import pytest

from lockgate_coordinator.access.token_file import tokens_of_environment, tokens_of_file
from lockgate_coordinator.access.tokens import InvalidTokens, Role
from support.tokens import FILE, SECRETS, TOKENS

SHA = "0" * 64
SECRET = "lockgate_this-must-never-be-seen"


def refused(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(InvalidTokens) as refusal:
        tokens_of_file(path)
    assert str(path) in str(refusal.value)
    assert SECRET not in str(refusal.value)
    return str(refusal.value)


def test_a_file_gives_back_what_its_entries_say(file: Path) -> None:
    assert tokens_of_file(file) == TOKENS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must hold one [[token]] or more"),
        ("[token]\nname='a'", "must hold one [[token]] or more"),
        (f"tokens = '{SECRET}'\n" + FILE, "and nothing else"),
        (f"[[token]]\nname = 'a'\nsha256 = {SECRET}", "a fault of syntax at line 3"),
        ("[[token]]\nrole = 'read'", "token 1: name must be"),
        (FILE + "\n[[token]]\nname = 'a b'", f"token {len(TOKENS) + 1}: name must be"),
        (f"[[token]]\nname = 'a'\nsha256 = '{SHA}'", "token 1 (a): role must be one of read, report, admin"),
        (f"[[token]]\nname = 'a'\nsha256 = '{SHA}'\nrole = '{SECRET}'", "token 1 (a): role must be"),
        (f"[[token]]\nname = 'a'\nsha256 = '{SECRET}'\nrole = 'read'", "token 1 (a): sha256 must be"),
        (
            f"[[token]]\nname = 'a'\nsha256 = '{SHA}'\nrole = 'read'\ntoken = '{SECRET}'",
            "token 1 (a): its fields must be among name, sha256",
        ),
        (f"[[token]]\nname = 'a'\nsha256 = '{SHA}'\nrole = 'read'\ngroups = []", "token 1 (a): groups must be a list"),
        (
            f"[[token]]\nname = 'a'\nsha256 = '{SHA}'\nrole = 'read'\ngroups = ['a*b']",
            "token 1 (a): groups must be a list",
        ),
        (
            f"[[token]]\nname = 'a'\nsha256 = '{SHA}'\nrole = 'read'\ngroups = ['a', '..']",
            "token 1 (a): groups must be a list",
        ),
        ("[[token]]\nname = '.'", "token 1: name must be 1 to 255"),
        (
            FILE + "\n" + FILE.partition("\n\n")[0],
            f"token {len(TOKENS) + 1}: name must be its own, and is that of token 1",
        ),
        (FILE + "\n" + FILE.partition("\n\n")[0].replace("reader", "other"), "sha256 must be its own"),
    ],
)
def test_a_bad_file_is_refused_by_entry_field_and_expectation(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path / "tokens.toml", text)


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidTokens, match=r"nowhere\.toml cannot be read: No such file"):
        tokens_of_file(tmp_path / "nowhere.toml")
    (tmp_path / "tokens.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidTokens, match="in UTF-8"):
        tokens_of_file(tmp_path / "tokens.toml")


def test_the_environment_gives_tokens_for_all_groups() -> None:
    found = tokens_of_environment("V", f"read={SECRETS['reader']}, admin={SECRETS['admin']}=")
    assert [(token.role, token.groups) for token in found] == [(Role.READ, None), (Role.ADMIN, None)]
    assert found[0].digest == TOKENS[0].digest


@pytest.mark.parametrize(
    "text", [SECRET, f"writer={SECRET}", "read=short", f"read={SECRET},", f"read={SECRET} {SECRET}"]
)
def test_bad_tokens_of_the_environment_are_refused_without_repeating_them(text: str) -> None:
    with pytest.raises(InvalidTokens, match=r"V, entry [12]: ") as refusal:
        tokens_of_environment("V", text)
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(
    ("group", "may"),
    [("orders", True), ("orders-eu", True), ("one", True), ("order", False), ("one-more", False), ("Orders", False)],
)
def test_a_star_stands_for_any_end_of_a_name(group: str, may: bool) -> None:
    assert TOKENS[3].may_touch(group) is may


def test_the_repr_of_a_token_has_no_digest() -> None:
    assert TOKENS[0].digest.hex() not in repr(TOKENS[0])
    assert repr(TOKENS[0].digest) not in repr(TOKENS[0])

"""The tokens in force, and how they change under a running service."""

import gc
import hmac
import os
from pathlib import Path

import pytest

from lockgate_coordinator.access import keyring
from lockgate_coordinator.access.keyring import Keyring
from lockgate_coordinator.access.tokens import Token, digest_of
from support.tokens import FILE, SECRETS, TOKENS, Clock

READER = f"Bearer {SECRETS['reader']}".encode()
ADMIN = f"Bearer {SECRETS['admin']}".encode()
FIRST = FILE.partition("\n\n")[0]


def test_a_token_is_found_however_its_scheme_is_written(file: Path, clock: Clock) -> None:
    keys = Keyring(file, "", clock)
    secret = SECRETS["reader"]
    for header in (f"Bearer {secret}", f"bearer {secret}", f"BEARER   {secret} "):
        found = keys.find(header.encode())
        assert found is not None
        assert found.name == "reader"


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", SECRETS["reader"], f"Basic {SECRETS['reader']}", f"Bearer {SECRETS['reader']}x"]
)
def test_an_unknown_token_is_not_found(file: Path, clock: Clock, header: str) -> None:
    assert Keyring(file, "", clock).find(header.encode()) is None


def test_change_of_the_file_is_seen_within_a_second(file: Path, clock: Clock) -> None:
    keys = Keyring(file, "", clock)
    assert keys.find(ADMIN) is not None
    file.write_text(FIRST)
    clock.now += 0.9
    assert keys.find(ADMIN) is not None
    clock.now += 0.1
    assert keys.find(ADMIN) is None
    assert keys.find(READER) is not None


def test_a_file_moved_into_place_is_seen_though_time_and_size_are_the_same(file: Path, clock: Clock) -> None:
    keys, before, other = Keyring(file, "", clock), os.stat(file), file.with_name("other")
    other.write_text(FILE.replace("admin", "admix", 1))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)
    clock.now += 1
    found = keys.find(ADMIN)
    assert found is not None
    assert found.name == "admix"


@pytest.mark.parametrize("text", ["[[token", "[[token]]\nname = 'a'", None], ids=["syntax", "field", "missing"])
def test_a_broken_file_keeps_the_tokens_and_is_logged_once(
    file: Path, clock: Clock, text: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    keys = Keyring(file, "", clock)
    _ = file.unlink() if text is None else file.write_text(text)
    for _ in range(3):
        clock.now += 1
        assert keys.find(ADMIN) is not None
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert str(file) in record.getMessage()
    file.write_text(FIRST)
    clock.now += 1
    assert keys.find(ADMIN) is None


def test_tokens_of_the_environment_outlive_a_change_of_the_file(file: Path, clock: Clock) -> None:
    keys = Keyring(file, "report=lockgate_of-the-environment", clock)
    file.write_text(FIRST)
    clock.now += 1
    found = keys.find(b"Bearer lockgate_of-the-environment")
    assert found is not None
    assert found.name == "LOCKGATE_TOKENS, entry 1"


def test_guesses_are_not_remembered_and_good_headers_not_without_end(
    file: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "MOST_RECOGNISED", 3)
    keys = Keyring(file, "", clock)
    for number in range(20):
        assert keys.find(b"Bearer %d" % number) is None
    assert len(keys._recognised_headers) == 0
    for number in range(20):
        assert keys.find(b"Bearer" + b" " * (number + 1) + SECRETS["admin"].encode()) is not None
        assert len(keys._recognised_headers) <= 3


def test_every_token_is_compared_with_what_comes_and_in_constant_time(
    file: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, compared = Keyring(file, "", clock), list[tuple[bytes, bytes]]()
    digests = [token.digest for token in TOKENS]

    def equal(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return equal_really(one, other)

    equal_really = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", equal)
    for secret in (b"a guess", SECRETS["reader"].encode()):  # the reader's is the first in the file
        compared.clear()
        keys.find(b"Bearer " + secret)
        assert compared == [(digest, digest_of(secret)) for digest in digests]
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: False)
    assert keys.find(ADMIN) is None  # nothing else decides


def test_no_token_stays_in_memory(file: Path, clock: Clock) -> None:
    keys = Keyring(file, f"report={SECRETS['boss']}-listed", clock)
    for header in (READER, f"Bearer {SECRETS['boss']}-listed".encode()):
        assert keys.find(header) is keys.find(header) is not None
    held: list[object] = [keys]
    for each in held:  # all that it leads to, but for code
        held += [
            found for found in gc.get_referents(each) if isinstance(found, str | bytes | tuple | list | dict | Token)
        ]
    assert len(held) > len(TOKENS)
    assert not [
        each
        for each in held
        if isinstance(each, str | bytes) and any(secret in str(each) for secret in SECRETS.values())
    ]

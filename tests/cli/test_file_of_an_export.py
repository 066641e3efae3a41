"""The file of `lockgate export`, and the errors of an invalid one."""

import pytest

from lockgate_cli.client import Fault
from lockgate_cli.transfer import read

VALID = '{"lockgate_export": 1, "groups": {"a": {"max_drift_ms": 7}, "b": {"lease_ms": 30000}}}'


def test_file_without_all_fields_has_the_defaults() -> None:
    groups = read(VALID, "f")
    assert (groups["a"].max_drift_ms, groups["b"].lease_ms, groups["a"].lease_ms) == (7, 30_000, 30_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not valid JSON"),
        (VALID[:40], "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "is not a file from lockgate export"),
        ('{"groups": {}}', "is not a file from lockgate export"),
        (VALID.replace("1", "2", 1), "has version 2"),
        ('{"lockgate_export": 1}', "cannot be imported: groups: is missing"),
        (VALID.replace('"b"', '"b/c"'), "groups.b/c: the name must be 1 to 255"),
        (VALID.replace("max_drift_ms", "max_drift"), "groups.a.max_drift: is unknown"),
        (VALID.replace("7", "-1").replace("30000", "1"), r"groups.a.max_drift_ms: .*; groups.b.lease_ms: "),
    ],
)
def test_invalid_file_is_refused_by_field(text: str, said: str) -> None:
    with pytest.raises(Fault, match=f"^the file {said}" if said.startswith("is") else said):
        read(text, "the file")

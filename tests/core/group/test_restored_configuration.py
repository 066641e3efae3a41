"""The configuration of an operator, in a group that readers build again: which one wins, and what a
reader cannot do.
"""

import pytest

from lockgate.group.group import Group, configured, create
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from support.turns import register

NOW = 1_000_000
OWN, OLDER, NEWER = (GroupConfig(max_drift_ms=drift) for drift in (1, 2, 3))


def registered(group: Group, config: GroupConfig, configured_at: int | None, now_ms: int = NOW) -> Group:
    event = ReaderRegistrationEvent(subtask=0, takeover=True, config=config, configured_at=configured_at)
    return register(group, "a", event, now_ms)


@pytest.fixture
def begun() -> Group:
    """Return a group that a new query has begun, with its own rules."""
    return registered(create("g", OWN, NOW), OWN, None)


def test_operators_configuration_wins_over_that_of_first_query(begun: Group) -> None:
    group = registered(begun, OLDER, NOW - 20)
    assert (group.config, group.configured_at) == (OLDER, NOW - 20)
    assert group.config_version > begun.config_version


def test_the_newest_that_any_reader_knows_wins_in_whatever_order_they_come(begun: Group) -> None:
    for first, second in (((OLDER, NOW - 20), (NEWER, NOW - 10)), ((NEWER, NOW - 10), (OLDER, NOW - 20))):
        assert registered(registered(begun, *first), *second).config == NEWER


def test_rules_that_no_operator_has_set_change_nothing(begun: Group) -> None:
    assert registered(begun, OLDER, None).config == OWN


def test_a_reader_changes_no_group_once_a_lease_has_passed(begun: Group) -> None:
    assert registered(begun, OLDER, NOW - 20, begun.grace_until - 1).config == OLDER
    assert registered(begun, OLDER, NOW - 20, begun.grace_until).config == OWN


def test_a_reader_does_not_undo_what_an_operator_sets_in_the_new_group(begun: Group) -> None:
    group = configured(begun, NEWER, NOW + 1)
    for claimed in (NOW - 20, NOW, NOW + 1, NOW + 2, 2**62):
        assert registered(group, OLDER, claimed, NOW + 5).config == NEWER


def test_a_time_after_the_group_s_beginning_is_not_believed(begun: Group) -> None:
    assert registered(begun, OLDER, NOW + 1, NOW + 5).config == OWN


def test_an_operator_that_sets_what_rules_already_makes_it_an_operator_s(begun: Group) -> None:
    group = configured(begun, OWN, NOW + 1)
    assert (group.config_version, group.configured_at) == (begun.config_version, NOW + 1)
    assert configured(group, OWN, NOW + 2) is group

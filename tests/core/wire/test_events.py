from typing import Any, cast

import pytest

from lockgate.errors import InvalidValue
from lockgate.wire.events import GroupConfig


def test_a_configuration_has_the_protocols_defaults() -> None:
    config = GroupConfig()
    assert (config.max_drift_ms, config.update_interval_ms, config.lease_ms) == (300_000, 1_000, 30_000)
    assert (config.on_lost_reader, config.mode, config.catch_up, config.expected_sources) == (
        "exclude",
        "enforce",
        "joint",
        (),
    )


@pytest.mark.parametrize(("key", "floor"), [("max_drift_ms", 0), ("update_interval_ms", 10), ("lease_ms", 100)])
def test_a_number_below_its_floor_is_refused_by_name_and_the_floor_is_not(key: str, floor: int) -> None:
    at, below = cast("dict[str, Any]", {key: floor}), cast("dict[str, Any]", {key: floor - 1})
    assert getattr(GroupConfig(**at), key) == floor
    with pytest.raises(InvalidValue, match=f"{key}: must be {floor} or more") as refused:
        GroupConfig(**below)
    assert refused.value.field == key

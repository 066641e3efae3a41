"""Every test of the REST API runs twice: with all fast parts, and with none."""

import pytest

from lockgate_coordinator.fast.switches import PLAIN, Fast


@pytest.fixture(params=[Fast(), PLAIN], ids=["fast", "plain"])
def fast(request: pytest.FixtureRequest) -> Fast:
    parts: Fast = request.param
    return parts

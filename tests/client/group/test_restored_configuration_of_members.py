"""A coordinator over memory that was restarted gets an operator's configuration back from the
queries that live on.
"""

import httpx

from lockgate_testbed.coordinator import CoordinatorProcess
from support.members import MINUTE, at, create, member

OPERATORS = 7 * MINUTE


def in_force(url: str, group: str) -> int:
    found = httpx.get(f"{url}/v1/groups/{group}", timeout=60).raise_for_status().json()
    return int(found["config"]["max_drift_ms"])


def test_operators_configuration_survives_a_restart_of_memory(topic: str) -> None:
    with CoordinatorProcess() as coordinator:
        url = coordinator.url
        create(url, topic, max_drift_ms=OPERATORS)
        with member(url, topic, "survivor") as survivor:
            survivor.exchange(at(1_000))
            coordinator.kill()
            coordinator.start()
            with member(url, topic, "newcomer") as newcomer:
                newcomer.exchange(at(2_000))
                # The survivor's session may have come back by itself already.
                survivor.exchange(at(1_001))
                assert in_force(url, topic) == OPERATORS

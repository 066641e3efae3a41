"""The profile `reader`: a Spark application and a plain Python service of two processes in one
group. The service's table has each record once, though one of its processes is killed.
"""

import json
from collections.abc import Iterator

import pytest

from compose.conftest import brought_up
from compose.stack import Stack, fresh_clone
from support.answers import wait_for

BEGUN_WITHIN_S, ENRICHED_WITHIN_S = 300, 600
ENRICHED = (
    "import json, sqlite3; found = sqlite3.connect('/data/enriched.db').execute("
    "'SELECT COUNT(*), COUNT(DISTINCT part || \":\" || at) FROM enriched'); print(json.dumps(found.fetchone()))"
)


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    stack = Stack(fresh_clone(tmp_path_factory.mktemp("reader")), project="lockgate-test-reader", profile="reader")
    with brought_up(stack, request):
        yield stack


def enriched(stack: Stack) -> tuple[int, int]:
    """The rows of the service's table, and how many records they are of."""
    rows, records = json.loads(stack.compose("exec", "-T", "enricher", "python", "-c", ENRICHED))
    return rows, records


def test_each_record_is_enriched_once_though_a_process_is_killed(service: Stack) -> None:
    wait_for(lambda: enriched(service)[0] > 0, BEGUN_WITHIN_S)
    service.kill(service.containers("enricher")[0])
    service.up()
    service.compose("stop", "producer")
    try:
        said = service.compose("run", "--rm", "-T", "--no-deps", "producer", "counts", "kafka:9092", "payments")
        produced = sum(json.loads(said).values())
        wait_for(lambda: enriched(service)[1] == produced, ENRICHED_WITHIN_S)
        assert enriched(service) == (produced, produced)
    finally:
        service.up()


def test_both_processes_and_the_job_are_in_the_group(service: Stack) -> None:
    def active() -> dict[str, int]:
        said = service.compose("exec", "-T", "coordinator", "lockgate", "describe", "shop", "--output", "json")
        sources = json.loads(said)["sources"]
        return {each["source"]: sum(reader["state"] == "active" for reader in each["readers"]) for each in sources}

    wait_for(lambda: active() == {"orders": 1, "payments": 2}, BEGUN_WITHIN_S)


def test_a_process_of_the_service_may_do_nothing_that_it_need_not(service: Stack) -> None:
    for container in service.containers("enricher"):
        host = container["HostConfig"]
        assert container["Config"]["User"] not in ("", "0", "root")
        assert (host["ReadonlyRootfs"], host["Privileged"], host["CapDrop"]) == (True, False, ["ALL"])
        assert (host["SecurityOpt"], host["PortBindings"]) == (["no-new-privileges:true"], {})

"""The compose file's way in: HAProxy with the configuration of deploy/docker/proxy before a
coordinator without tokens. What a browser's page may not ask directly, it may not ask there either.
"""

from collections.abc import Iterator

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from support.proxied import HAPROXY, MISSING, proxied

READERS = "/v1/groups/g/sources/s/readers"
TAKEOVER = '{"subtask": 0, "takeover": true}'

pytestmark = pytest.mark.skipif(HAPROXY is None, reason=MISSING)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of the proxy."""
    with (
        CoordinatorProcess(options=["--allow-unauthenticated"]) as coordinator,
        proxied(tmp_path_factory.mktemp("proxy"), coordinator) as url,
    ):
        yield url


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json"}, 201),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "text/plain", "Origin": "https://pages.example"}, 403),
        ({"Content-Type": "application/json", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "application/json", "Host": "pages.example"}, 421),
    ],
)
def test_a_page_of_another_site_registers_nothing_through_the_proxy(
    proxy: str, headers: dict[str, str], status: int
) -> None:
    httpx.delete(f"{proxy}/v1/groups/g", timeout=60)
    assert httpx.post(f"{proxy}{READERS}", content=TAKEOVER, headers=headers, timeout=60).status_code == status
    assert httpx.get(f"{proxy}/v1/groups/g", timeout=60).status_code == (200 if status == 201 else 404)


def test_a_page_of_the_service_itself_is_answered_through_the_proxy(proxy: str) -> None:
    own = {"Origin": proxy, "Sec-Fetch-Site": "same-origin"}
    assert httpx.put(f"{proxy}/v1/groups/own", json={}, headers=own, timeout=60).status_code == 201

"""Coordinators behind the proxy of the compose file: HAProxy with the configuration of
deploy/docker/proxy, at addresses of this machine.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.process import Child, free_ports
from support.answers import wait_for

CONFIGURATION = Path(__file__).parents[2] / "deploy/docker/proxy/haproxy.cfg"
HAPROXY = shutil.which("haproxy", path="/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin")
MISSING = "haproxy is not installed: apt-get install haproxy"

_BIND = "bind :8080"
_SERVERS = re.compile(r"^( +server-template \w+-) 8 coordinator:8080(.*)$", re.MULTILINE)
"""There, all coordinators have one name and one port."""


def configuration(address: int, coordinators: list[int]) -> str:
    """As in the image, but for the ports of the proxy and of the coordinators."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    assert text.count(_BIND) == 1
    assert len(_SERVERS.findall(text)) == 2
    servers = "\n".join(rf"\g<1>{port}- 1 127.0.0.1:{port}\g<2>" for port in coordinators)
    return _SERVERS.sub(servers, text).replace(_BIND, f"bind 127.0.0.1:{address}")


@contextmanager
def proxied(folder: Path, *coordinators: CoordinatorProcess) -> Iterator[str]:
    """The address of the proxy, once it answers; `folder` is its own."""
    (port,) = free_ports(1)
    url, file = f"http://127.0.0.1:{port}", folder / "haproxy.cfg"
    file.write_text(configuration(port, [int(each.url.rpartition(":")[2]) for each in coordinators]), encoding="utf-8")
    child = Child("the proxy", [str(HAPROXY), "-db", "-f", str(file)], folder / "proxy.log")

    def ready() -> bool:
        try:
            return httpx.get(f"{url}/readyz", timeout=60).status_code == 200
        except httpx.TransportError:
            return False

    try:
        wait_for(ready, 30)
        yield url
    finally:
        child.kill()

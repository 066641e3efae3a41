"""`lockgate export` and `lockgate import` against real coordinators of both stores."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from lockgate_cli.__main__ import cli
from lockgate_cli.client import OperatorClient
from lockgate_coordinator.access.tokens import Role, Token, digest_of, stanza
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.link import Link
from lockgate_testbed.redis import RedisServer

CONFIGS = {
    "checkout": {"max_drift_ms": 7, "expected_sources": ["orders"], "max_wait_ms": 60_000},
    "checkout-eu": {"lease_ms": 5_000},
    "stock": {"catch_up": "strict", "mode": "observe"},
}
ADMIN, READER = "admin-token-of-the-transfer-tests", "reader-token-of-the-transfer-tests"


@pytest.fixture(scope="module", params=["memory", pytest.param("redis", marks=[pytest.mark.redis, pytest.mark.long])])
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with ExitStack() as stack:
        store = "memory://" if request.param == "memory" else stack.enter_context(RedisServer()).url
        yield stack.enter_context(CoordinatorProcess(store)).url


@pytest.fixture
def url(target: str) -> str:
    """Return an empty coordinator of each store."""
    for group in configs(target):
        httpx.delete(f"{target}/v1/groups/{group}", timeout=60).raise_for_status()
    return target


@pytest.fixture(scope="module")
def source() -> Iterator[str]:
    """Yield a coordinator with the groups of `CONFIGS`."""
    with CoordinatorProcess() as coordinator:
        for group, config in CONFIGS.items():
            httpx.put(f"{coordinator.url}/v1/groups/{group}", json=config, timeout=60).raise_for_status()
        yield coordinator.url


@pytest.fixture
def file(source: str, tmp_path: Path) -> Path:
    """All groups of `source`."""
    path = tmp_path / "groups.json"
    done(source, "export", "--output", str(path))
    return path


def done(url: str, *args: str, code: int = 0, text: str | None = None, token: str = "") -> str:
    """Return what `lockgate` prints; its errors alone if it fails."""
    ran = CliRunner().invoke(cli, args, env={"LOCKGATE_URL": url, "LOCKGATE_TOKEN": token}, input=text)
    assert ran.exit_code == code, ran.output
    return ran.stderr if code else ran.stdout


def configs(url: str) -> dict[str, object]:
    names = [item["group"] for item in httpx.get(f"{url}/v1/groups", timeout=60).json()["items"]]
    return {name: httpx.get(f"{url}/v1/groups/{name}", timeout=60).json()["config"] for name in names}


def test_what_was_exported_is_imported_into_either_store(url: str, source: str, file: Path) -> None:
    assert done(url, "import", str(file)) == "imported: 3 new, 0 replaced, 0 already as in the file\n"
    assert configs(url) == configs(source)
    assert done(url, "import", str(file)) == "imported: 0 new, 0 replaced, 3 already as in the file\n"


def test_an_import_that_would_overwrite_writes_nothing_unless_told(url: str, source: str, file: Path) -> None:
    httpx.put(f"{url}/v1/groups/stock", json={"max_drift_ms": 1}, timeout=60).raise_for_status()
    before = configs(url)
    said = done(url, "import", str(file), code=1)
    assert "1 group is there with another configuration: stock. Nothing was imported; --replace overwrites" in said
    assert configs(url) == before
    assert "would be: 2 new, 1 replaced, 0 already" in done(url, "import", str(file), "--replace", "--dry-run")
    assert configs(url) == before
    assert "imported: 2 new, 1 replaced, 0 already" in done(url, "import", str(file), "--replace")
    assert configs(url) == configs(source)


def test_a_file_with_a_fault_writes_nothing(url: str, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    broken = text.replace("observe", "watch")
    assert "- cannot be imported: groups.stock.mode: must" in done(url, "import", "-", code=1, text=broken)
    assert "- is not valid JSON" in done(url, "import", "-", code=1, text=text[: len(text) // 2])
    assert configs(url) == {}


def test_an_export_has_the_groups_that_were_named(source: str) -> None:
    assert [*json.loads(done(source, "export", "checkout*"))["groups"]] == ["checkout", "checkout-eu"]
    assert "no group fits nothing*; there are checkout, checkout-eu, stock" in done(
        source, "export", "nothing*", code=1
    )


def test_a_group_with_an_odd_name_is_left_out_of_an_export(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = OperatorClient.groups
    odd = [{"group": name} for name in (".", "..", "a/b")]
    monkeypatch.setattr(OperatorClient, "groups", lambda self: {"items": [*odd, *listed(self)["items"]]})
    ran = CliRunner().invoke(cli, ["export"], env={"LOCKGATE_URL": source})
    assert (ran.exit_code, [*json.loads(ran.stdout)["groups"]]) == (0, [*CONFIGS])
    assert [line.split(" is left out")[0] for line in ran.stderr.splitlines()] == [
        f"lockgate: group {each['group']}" for each in odd
    ]


def test_an_export_that_fails_leaves_the_file_as_it_was(source: str, file: Path) -> None:
    before = file.read_text(encoding="utf-8")
    assert "gave no answer" in done("http://127.0.0.1:1", "export", "-o", str(file), code=1)
    assert file.read_text(encoding="utf-8") == before
    assert "cannot be written" in done(source, "export", "-o", str(file.parent / "nowhere" / "f"), code=1)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_an_import_whose_connection_breaks_at_a_write_goes_on(url: str, source: str, file: Path) -> None:
    with Link(int(url.rpartition(":")[2])) as link:
        link.lose_answer(b"PUT /v1/groups/checkout-eu ")
        assert "imported: 3 new" in done(f"http://127.0.0.1:{link.port}", "import", str(file))
        assert link.has_lost
    assert configs(url) == configs(source)


def test_import_needs_an_admin_and_is_logged_with_one_request_id(file: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    entries = [
        Token("anna", digest_of(ADMIN.encode()), Role.ADMIN),
        Token("bob", digest_of(READER.encode()), Role.READ),
    ]
    tokens.write_text("\n".join(map(stanza, entries)), encoding="utf-8")
    options = ("--tokens", str(tokens), "--rate-limit", "2", "--log-format", "json")
    with CoordinatorProcess(options=options) as coordinator:
        refused = done(coordinator.url, "import", str(file), code=1, token=READER)
        assert "needs a token with the role admin" in refused
        assert "0 of 3 groups are imported" in refused
        assert "imported: 3 new" in done(coordinator.url, "import", str(file), token=ADMIN), "beyond the rate it waits"
        coordinator.stop()
        log = coordinator.log.read_text(encoding="utf-8")
    acts = [line for line in map(json.loads, log.splitlines()) if line.get("event") == "act"]
    assert [(act["act"], act["token"], act["group"]) for act in acts] == [
        ("configure", "anna", group) for group in sorted(CONFIGS)
    ]
    assert len({act["request_id"] for act in acts}) == 1
    assert acts[0]["request_id"].startswith("import-")
    assert ADMIN not in log

from pathlib import Path

import pytest

from lockgate_coordinator.store import InvalidStoreAddress, MemoryStore, open_store
from lockgate_coordinator.store.addresses import Credentials, Form, RedisAddress, parse


def parsed(address: str, **environment: str) -> RedisAddress:
    return parse(address, environment)


def test_memory_needs_nothing_but_its_scheme() -> None:
    assert isinstance(open_store("memory://"), MemoryStore)


def test_one_server_has_a_user_a_password_and_a_database() -> None:
    assert parsed("redis://h") == RedisAddress(Form.SERVER, (("h", 6379),), Credentials())
    assert parsed("redis://u:p%40%2F@[::1]:7/3") == RedisAddress(
        Form.SERVER, (("::1", 7),), Credentials("u", "p@/"), database=3
    )


def test_sentinels_are_several_and_name_a_service() -> None:
    address = parsed("redis+sentinel://:p@a,b:7/main/2?sentinel_username=s&sentinel_password=q")
    assert (address.servers, address.service, address.database) == ((("a", 26379), ("b", 7)), "main", 2)
    assert (address.credentials, address.sentinel) == (Credentials(None, "p"), Credentials("s", "q"))


def test_a_cluster_has_several_nodes_and_no_database() -> None:
    address = parsed("rediss+cluster://a,b:7")
    assert (address.form, address.servers) == (Form.CLUSTER, (("a", 6379), ("b", 7)))
    assert address.tls == {"ssl_check_hostname": True}


def test_a_password_that_the_address_lacks_comes_from_the_environment() -> None:
    secrets = {"LOCKGATE_REDIS_PASSWORD": "p", "LOCKGATE_REDIS_SENTINEL_PASSWORD": "q"}
    assert parsed("redis://u@h", **secrets).credentials == Credentials("u", "p")
    assert parsed("redis://u:own@h", **secrets).credentials == Credentials("u", "own")
    assert parsed("redis+sentinel://h/s", **secrets).sentinel == Credentials(None, "q")


def test_tls_takes_redis_pys_own_options(tmp_path: Path) -> None:
    pem = tmp_path / "a.pem"
    pem.touch()
    tls = parsed(f"rediss://h?ssl_ca_certs={pem}&ssl_certfile={pem}&ssl_keyfile={pem}&ssl_cert_reqs=none").tls
    assert tls == dict.fromkeys(("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"), str(pem)) | {
        "ssl_cert_reqs": "none",
        "ssl_check_hostname": False,
    }


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("hunter2", "no scheme"),
        ("hunter2://h", "redis://"),
        ("etcd://u:hunter2@h", "redis://"),
        ("redis://", "host"),
        ("redis://u:hunter2@", "host"),
        ("redis://u:hunter2@[h", "host"),
        ("redis://u:hunter2@h:port/0", "port"),
        ("redis://u:hunter2@h:/0", "port"),
        ("redis://u:hunter2@h:0", "port"),
        ("redis://u:hunter2@h:65536", "port"),
        ("redis://u:hunter2@h/x", "database"),
        ("redis://u:hunter2@h/1/2", "database"),
        ("redis://u:1/hunter2@h", "database"),
        ("redis://u:1#hunter2@h", "database"),
        ("redis://u:hunter2@h,i", "hosts must be one"),
        ("redis+cluster://u:hunter2@h/0", "path"),
        ("redis+cluster://u:hunter2@h,", "host"),
        ("redis+sentinel://u:hunter2@h", "SERVICE"),
        ("redis+sentinel://u:hunter2@h/s/x", "database"),
        ("redis://u:hunter2@h?sentinel_password=hunter2", "sentinel_password with redis\\+sentinel://"),
        ("redis://h?password=hunter2", "'password'"),
        ("redis://h?hunter2-", "NAME=VALUE"),
        ("redis://h?hunter2-=1", "a name that is not known"),
        ("redis://u:1?hunter2=1@h", "a name that is not known"),
        ("rediss://h?ssl_cert_reqs=hunter2", "ssl_cert_reqs must be one of required"),
        ("rediss://h?ssl_cert_reqs=none&ssl_cert_reqs=none", "once"),
        ("rediss://h?ssl_ca_certs=/hunter2", "ssl_ca_certs must be the path"),
        ("rediss://h?ssl_keyfile=/dev/null", "ssl_keyfile"),
        ("redis://h?ssl_cert_reqs=none", "rediss://"),
    ],
)
def test_wrong_address_is_refused_by_its_part_without_its_password(address: str, named: str) -> None:
    with pytest.raises(InvalidStoreAddress, match=named) as refused:
        open_store(address, {})
    assert "hunter2" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_no_password_shows_in_what_is_made_of_an_address() -> None:
    address = parsed("redis+sentinel://u:hunter2@h/s?sentinel_password=hunter2")
    assert "hunter2" not in f"{address!r} {address}"

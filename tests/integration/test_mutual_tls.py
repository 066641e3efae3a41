"""Certificates on every connection, from an aligned query over a coordinator to Redis. All of them,
and the token, are renewed while the query runs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockgate_coordinator.access.tokens import Role, Token, digest_of, stanza
from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.redis import NO_PERSISTENCE, RedisServer
from support.mutual import Authority
from support.queries import WindowedCount, kafka_stream

T0 = 1_767_225_600_000
MINUTE = 60_000
OLD, NEW = "lockgate_old-0123456789abcdef", "lockgate_new-0123456789abcdef"


@dataclass
class Secured:
    """A coordinator over a Redis; both ask for certificates, and the coordinator for a token."""

    folder: Path
    authority: Authority
    redis: RedisServer
    coordinator: CoordinatorProcess

    @property
    def settings(self) -> Coordinator:
        """Of a query, which shows all that is asked for."""
        return Coordinator(
            self.coordinator.url,
            group="g",
            token_file=str(self.folder / "token"),
            ca=str(self.authority.ca),
            cert=str(self.folder / "pki/driver.pem"),
            key=str(self.folder / "pki/driver.key"),
        )

    def renew(self) -> None:
        """Everything but the authority: keys, certificates, the token. Redis starts anew, since it
        reads its own at the start.
        """
        accept(self.folder, OLD, NEW)
        for name, identity in (("coordinator", "127.0.0.1"), ("driver", "driver@example.org")):
            self.authority.issued(name, identity)
        self.authority.for_redis()
        (self.folder / "token").write_text(NEW)
        self.redis.stop()
        self.redis.start()


def accept(folder: Path, *secrets: str) -> None:
    found = (Token(f"t{n}", digest_of(each.encode()), Role.REPORT) for n, each in enumerate(secrets))
    (folder / "tokens.toml").write_text("\n".join(map(stanza, found)))


@contextmanager
def secured(folder: Path) -> Iterator[Secured]:
    authority = Authority(folder / "pki")
    own = authority.issued("coordinator", "127.0.0.1")
    authority.issued("driver", "driver@example.org")
    (folder / "token").write_text(OLD)
    accept(folder, OLD)
    asking = (*NO_PERSISTENCE, "--tls-auth-clients", "yes")
    with RedisServer(folder / "redis", options=asking, tls=authority.for_redis()) as redis:
        store = f"{redis.url}&ssl_certfile={own.certificate}&ssl_keyfile={own.key}"
        options = ("--ssl-certfile", str(own.certificate), "--ssl-keyfile", str(own.key))
        options += ("--ssl-ca-certs", str(authority.ca), "--tokens", str(folder / "tokens.toml"))
        with CoordinatorProcess(store, options=options) as coordinator:
            yield Secured(folder, authority, redis, coordinator)


def records(first: int, last: int) -> list[tuple[int, int, None, bytes]]:
    """One record a minute in each of two partitions."""
    return [(p, T0 + n * MINUTE, None, b"x") for n in range(first, last) for p in (0, 1)]


@pytest.mark.kafka
@pytest.mark.redis
@pytest.mark.long
def test_a_query_goes_on_while_every_certificate_and_its_token_are_renewed(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, records(0, 30))
    with secured(tmp_path) as all_of_it:
        alignment = Alignment(max_drift="5 minutes", coordinator=all_of_it.settings)
        counted = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic), alignment))
        counted.start(tmp_path / "checkpoint", name="orders", available_now=False)
        try:
            counted.wait_until(lambda seen: sum(seen.windows.values()) == 60)
            all_of_it.renew()
            accept(tmp_path, NEW)
            topics.produce(kafka.bootstrap, topic, records(30, 60))
            counted.wait_until(lambda seen: sum(seen.windows.values()) == 120)
            assert "tokens loaded: 1" in all_of_it.coordinator.log.read_text()
            assert all_of_it.coordinator.pid is not None
        finally:
            counted.stop()
        told = all_of_it.coordinator.log.read_text()
    assert "new connections use the certificates" in told
    assert OLD not in told
    assert NEW not in told

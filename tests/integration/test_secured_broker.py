"""A Kafka with TLS, passwords and ACLs. An aligned query reads as native Spark does, and meets the
same refusals.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from confluent_kafka.admin import AclOperation
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQueryException

from lockgate_spark import align
from lockgate_testbed import topics
from lockgate_testbed.kafka import PASSWORD, PLAIN, USER
from lockgate_testbed.secured import SecuredBroker
from support.rows import Rows

T0 = 1_767_225_600_000
MINUTE = 60_000


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The CA's certificate, and a file with key and chain of a broker; Kafka wants the key in PKCS
    8.
    """
    authority, folder = trustme.CA(), tmp_path_factory.mktemp("tls")
    issued = authority.issue_cert("127.0.0.1")
    key = load_pem_private_key(issued.private_key_pem.bytes(), None).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    broker = folder / "broker.pem"
    broker.write_bytes(key + b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    return folder / "ca.pem", broker


@pytest.fixture(scope="module")
def secured(ca: tuple[Path, Path]) -> Iterator[SecuredBroker]:
    with SecuredBroker(ca[1]) as broker:
        yield broker


def filled(broker: SecuredBroker, *names: str) -> None:
    """Topics of two partitions, the second an hour behind the first."""
    for name in names:
        topics.create(broker.bootstrap, name, 2)
        topics.produce(
            broker.bootstrap, name, [(p, T0 + (n - 60 * p) * MINUTE, None, b"x") for n in range(20) for p in (0, 1)]
        )


def read(spark: SparkSession, broker: SecuredBroker, ca: tuple[Path, Path], **named: str) -> DataFrame:
    """A source of the one user that there is, over TLS. `named`: what it reads."""
    options = {
        "kafka.bootstrap.servers": broker.bootstrap_tls,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{PLAIN} required username="{USER}" password="{PASSWORD}";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(ca[0]),
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "10",
        **named,
    }
    return spark.readStream.format("kafka").options(**options).load()


def test_over_tls_with_a_password_and_the_right_to_read_alone_the_splits_stay_level(
    spark: SparkSession,
    secured: SecuredBroker,
    ca: tuple[Path, Path],
    topic: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    filled(secured, topic)
    secured.allow(topic, AclOperation.READ)
    with caplog.at_level(logging.DEBUG, "lockgate"):
        rows = Rows(align(read(spark, secured, ca, subscribe=topic))).start(tmp_path).finish()
    assert len(rows.all) == len(set(rows.all)) == 40
    assert {row.partition for batch in rows.batches[:2] for row in batch} == {1}, "an hour behind, so it goes first"
    assert PASSWORD not in caplog.text


@pytest.mark.long
def test_a_topic_that_an_acl_hides_is_kafka_s_error_as_natively(
    spark: SparkSession, secured: SecuredBroker, ca: tuple[Path, Path], topic: str, tmp_path: Path
) -> None:
    names = [f"{topic}-{which}" for which in ("seen", "hidden")]
    filled(secured, *names)
    secured.allow(names[0], AclOperation.READ)
    source = read(spark, secured, ca, subscribe=",".join(names))
    for way, stream in (("native", source), ("aligned", align(source))):
        with pytest.raises(
            StreamingQueryException, match="TopicAuthorizationException: Topic authorization failed"
        ) as error:
            Rows(stream).start(tmp_path / way).finish()
        assert PASSWORD not in str(error.value)


@pytest.mark.long
def test_a_topic_of_a_pattern_that_an_acl_hides_is_left_out_until_it_is_allowed(
    spark: SparkSession, secured: SecuredBroker, ca: tuple[Path, Path], topic: str, tmp_path: Path
) -> None:
    seen, hidden = f"{topic}-seen", f"{topic}-hidden"
    filled(secured, seen, hidden)
    secured.allow(seen, AclOperation.READ)
    aligned = align(read(spark, secured, ca, subscribePattern=f"{topic}-.*"))
    first = Rows(aligned).start(tmp_path).finish()
    secured.allow(hidden, AclOperation.READ)
    then = Rows(aligned).start(tmp_path).finish()
    for rows, name in ((first, seen), (then, hidden)):
        assert {row.topic for row in rows.all} == {name}
        assert len(rows.all) == len(set(rows.all)) == 40


@pytest.mark.long
def test_a_right_that_is_taken_back_in_mid_run_ends_the_query_and_given_again_no_row_is_lost_or_read_twice(
    spark: SparkSession, secured: SecuredBroker, ca: tuple[Path, Path], topic: str, tmp_path: Path
) -> None:
    names = [f"{topic}-{which}" for which in "ab"]
    filled(secured, *names)
    aligned = align(read(spark, secured, ca, subscribe=",".join(names)))

    def forbid(_: DataFrame, batch_id: int) -> None:
        if batch_id == 1:
            secured.forbid(names[1])

    for name in names:
        secured.allow(name, AclOperation.READ)
    first = Rows(aligned, forbid).start(tmp_path)
    with pytest.raises(StreamingQueryException, match="TopicAuthorizationException"):
        first.finish()
    secured.allow(names[1], AclOperation.READ)
    again = Rows(aligned).start(tmp_path).finish()
    assert len(first.all) < 80
    assert len(first.all) + len(again.all) == len({*first.all, *again.all}) == 80

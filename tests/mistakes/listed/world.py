"""What the lines of the catalogue use, and what each of them prints first."""

import logging
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import trustme
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType
from typer.testing import CliRunner

from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_cli.__main__ import cli
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.group.joining import check_coordinator
from lockgate_spark import Alignment, Coordinator, align, align_all, gate
from lockgate_spark.conf import configured, enabled
from lockgate_spark.joining import agreement_of
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import Answer, serving
from support.queries import kafka_stream
from support.tokens import FILE, SECRETS

PLACED = "to_timestamp(get_json_object(CAST(value AS STRING), '$.placed'))"
ORDER = '{"id": 7, "placed": "2026-01-01 00:00:05", "shop": {"city": "Köln"}}'
# A query that waits for a broker gives up soon.
SOON = {"kafka__default__api__timeout__ms": "500", "kafka__request__timeout__ms": "400"}


class World:
    """`names`: what a line of code may use; `addresses`: how an address is written in the file."""

    def __init__(self, spark: SparkSession, bootstrap: str) -> None:
        self._spark, self._bootstrap = spark, bootstrap
        self.addresses: dict[str, str] = {bootstrap: "BROKER"}
        self.names: dict[str, Any] = {
            "Alignment": Alignment,
            "Coordinator": Coordinator,
            "align": align,
            "align_all": align_all,
            "gate": gate,
            "spark": spark,
            "PLACED": PLACED,
            "SOON": SOON,
            "READER": SECRETS["reader"],
            "FOR_ORDERS": SECRETS["orders"],
            **{name: getattr(self, name) for name in ("read", "run", "conf", "join", "register", "lockgate")},
        }

    def add(self, name: str, address: str) -> None:
        """An address with a name."""
        self.names[name] = address
        self.addresses[address.partition("://")[2] or address] = name

    # -- what the lines call --

    def read(self, topic: str, **options: Any) -> DataFrame:
        return kafka_stream(self._spark, self._bootstrap, topic, **options)

    def run(self, df: DataFrame, asyncProgressTrackingEnabled: str = "false", **trigger: Any) -> None:  # noqa: N803
        wanted = trigger or ({"processingTime": "0 seconds"} if asyncProgressTrackingEnabled == "true" else {})
        writer = df.writeStream.format("noop").option("checkpointLocation", tempfile.mkdtemp())
        writer = writer.option("asyncProgressTrackingEnabled", asyncProgressTrackingEnabled)
        query = writer.trigger(**(wanted or {"availableNow": True})).start()
        try:
            assert query.awaitTermination(60)
        finally:
            query.stop()

    def conf(self, key: str, value: str) -> None:
        enabled({key: value})
        configured(Alignment(), {key: value})

    def join(self, coordinator: Coordinator, **options: Any) -> None:
        check_coordinator(coordinator, agreement_of(Alignment(coordinator=coordinator, **options)))

    def register(self, coordinator: Coordinator) -> None:
        with CoordinatorClient(coordinator) as client:
            client.register("a", ReaderRegistrationEvent(subtask=0))

    def lockgate(self, *arguments: str, **env: str) -> None:
        done = CliRunner().invoke(
            cli, arguments, prog_name="lockgate", env={"COLUMNS": "400", "LOCKGATE_TOKEN": "", **env}
        )
        assert done.exit_code != 0, done.output
        raise SystemExit(_without_frame(done.stderr))

    # -- what a line prints --

    def first_line(self, code: str) -> str:
        """The first line that this code prints, by the names of the addresses."""
        heard = _Heard()
        logging.getLogger("lockgate").addHandler(heard)
        try:
            eval(code, dict(self.names))
        except SystemExit as ended:
            return self._named(_first(str(ended)))
        except Exception as error:
            said = [*heard.said, f"{type(error).__name__}: {error}"]
            return self._named(_first(said[0]))
        finally:
            logging.getLogger("lockgate").removeHandler(heard)
        assert heard.said, f"{code} is no mistake"
        return self._named(_first(heard.said[0]))

    def _named(self, line: str) -> str:
        for address, name in self.addresses.items():
            line = line.replace(address, name)
        line = re.sub(r"\d+ attempts", "… attempts", line)
        # On a busy machine the last attempt may be cut off.
        cut_off = (
            r"(\S+) gave no whole answer within 2 s; before that: (\1 .+?); if it is only slow, set a longer [^.]+\."
        )
        line = re.sub(cut_off, r"\2 (… attempts within 2 s).", line)
        line = re.sub(r"\[id = \S+, runId = \S+\]", "[id = …, runId = …]", line)
        return re.sub(r"0x[0-9a-f]+", "0x…", line)


class _Heard(logging.Handler):
    """The warnings and errors of the log that a user sees."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.levelname}: {record.getMessage()}")


def _without_frame(text: str) -> str:
    """What a wrong option is answered with: without the usage above, and without its frame."""
    _, framed, inside = text.partition("Error ─")
    return inside.partition("│")[2].partition("│")[0].strip() if framed else text


def _first(text: str) -> str:
    return next(line for line in text.splitlines() if line.strip())


@contextmanager
def world(spark: SparkSession, bootstrap: str, folder: Path) -> Iterator[World]:
    """A topic `orders`; an open coordinator with a group `checkout`, one with tokens, one behind
    TLS; another web server; a port where nobody listens, and one where nobody answers.
    """
    spark.udf.register("in_python", lambda value: None, TimestampType())
    made = World(spark, bootstrap)
    tokens = folder / "tokens.toml"
    tokens.write_text(FILE)
    certificate = folder / "server.pem"
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    with ExitStack() as open_:
        open_.enter_context(topics.created(bootstrap, {"orders": 2}))
        topics.produce(bootstrap, "orders", [(n % 2, 1_767_225_600_000 + n, None, ORDER) for n in range(4)])
        opened = open_.enter_context(CoordinatorProcess())
        guarded = open_.enter_context(CoordinatorProcess(options=("--tokens", str(tokens))))
        tls = open_.enter_context(CoordinatorProcess(options=("--ssl-certfile", str(certificate)))).url
        site = open_.enter_context(serving(Answer(200, b"<html>welcome</html>", "text/html")))
        closed = open_.enter_context(socket.create_server(("127.0.0.1", 0)))
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
        closed.close()
        for name, address in _named(opened.url, guarded.url, tls, site, nobody).items():
            made.add(name, address)
        with CoordinatorClient(Coordinator(opened.url, group="checkout")) as client:
            client.register("a", ReaderRegistrationEvent(subtask=0, config=GroupConfig(max_drift_ms=300_000)))
        yield made


def _named(opened: str, guarded: str, tls: str, site: str, nobody: str) -> Mapping[str, str]:
    return {
        "OPEN": opened,
        "GUARDED": guarded,
        "TLS": tls,
        "OTHER_SITE": site,
        "NOBODY": f"http://{nobody}",
        "AWAY": "127.0.0.1:9",
    }

"""A real Kafka (KRaft) on loopback ports of its own: a single node, or more of them, each a child
process.
"""

import base64
import os
import subprocess
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from lockgate_testbed import jars
from lockgate_testbed.errors import ChildFailed
from lockgate_testbed.java import java, options
from lockgate_testbed.process import Child, free_ports, port_open
from lockgate_testbed.server import Server

READY_WITHIN_S = 90.0
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
USER, PASSWORD = "reader", "a-password-of-the-test-bed"  # whom the listener with SASL/PLAIN lets in

# A broker that was killed may come back once its former session is over: 5 s rather than 9.
# CreateTime is event time here, possibly far in the past or in the future: nothing is deleted,
# rolled or refused by its age. A stock broker refuses records from more than an hour ahead, and
# would delete a replay's as soon as they are a week old.
PROPERTIES = """\
process.roles={roles}
node.id={node}
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl}{listens}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={plain} required user_{user}="{password}";
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={logs}
num.network.threads=2
num.io.threads=4
num.partitions=1
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=5000
log.cleaner.dedupe.buffer.size=16777216
log.cleaner.backoff.ms=200
log.retention.ms=-1
log.retention.bytes=-1
log.roll.ms=9223372036854775807
log.message.timestamp.before.max.ms=9223372036854775807
log.message.timestamp.after.max.ms=9223372036854775807
"""
JVM = (
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)


class KafkaBroker(Server):
    """A broker that runs inside `with KafkaBroker() as broker:`; its address is `broker.bootstrap`.

    `heap` is Java's, such as "512m". Raises `ChildFailed`, `JavaMissing`, `JarsUnavailable` when it
    starts. After `kill()` a start takes some 5 s more, for the broker's former session has to end.
    `joins`: a broker that runs already. This one becomes a further node of its cluster, with the id
    `node`. The running one is the cluster's only controller, and must not be stopped before this
    one.
    """

    def __init__(
        self, data: Path | None = None, heap: str = "512m", joins: "KafkaBroker | None" = None, node: int = 2
    ) -> None:
        super().__init__("kafka", data)
        self._heap, self._joins = heap, joins
        self.node = 1 if joins is None else node
        self._port, self._sasl, controller = free_ports(3)
        self._controller: int = controller if joins is None else joins._controller

    @property
    def bootstrap(self) -> str:
        """The broker's address, host:port."""
        return f"127.0.0.1:{self._port}"

    @property
    def bootstrap_sasl(self) -> str:
        """Where it asks for `USER` and `PASSWORD` (SASL_PLAINTEXT, mechanism PLAIN), host:port."""
        return f"127.0.0.1:{self._sasl}"

    def _launch(self) -> Child:
        classpath = os.pathsep.join(str(jar) for jar in jars.kafka_broker())
        config = self._prepare(classpath)
        heap = (f"-Xms{self._heap}", f"-Xmx{self._heap}")
        command = [java(), *heap, *JVM, *options(), "-cp", classpath, "kafka.Kafka", str(config)]
        return Child("the Kafka broker", command, self.log).await_ready(self._answers, READY_WITHIN_S)

    def _prepare(self, classpath: str) -> Path:
        config = self.data / "server.properties"
        config.write_text(self._properties())
        if not (self.data / "logs" / "meta.properties").exists():
            _format(config, classpath, _new_cluster() if self._joins is None else self._joins.cluster)
        return config

    def _properties(self) -> str:
        ports = {"port": self._port, "sasl": self._sasl, "controller": self._controller}
        role = {"roles": "broker", "listens": ""}
        if self._joins is None:
            role = {"roles": "broker,controller", "listens": f",CONTROLLER://127.0.0.1:{self._controller}"}
        logs = self.data / "logs"
        return PROPERTIES.format(**ports, **role, node=self.node, logs=logs, plain=PLAIN, user=USER, password=PASSWORD)

    @property
    def cluster(self) -> str:
        """The cluster's id. Raises `ChildFailed` where the broker was never started."""
        found = self.data / "logs" / "meta.properties"
        if not found.exists():
            raise ChildFailed(f"{found} is not there: start the cluster's first broker before the others")
        (cluster,) = (
            line.removeprefix("cluster.id=")
            for line in found.read_text().splitlines()
            if line.startswith("cluster.id=")
        )
        return cluster

    def _answers(self) -> bool:
        # A broker accepts connections a little before it takes part in the cluster; until then
        # topics cannot be created.
        if not port_open(self._port):
            return False
        try:
            return bool(
                AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0}).list_topics(timeout=2).brokers
            )
        except KafkaException:
            return False


def _new_cluster() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _format(config: Path, classpath: str, cluster: str) -> None:
    command = [java(), "-XX:TieredStopAtLevel=1", *JVM, "-cp", classpath, "kafka.tools.StorageTool"]
    command += ["format", f"--cluster-id={cluster}", "-c", str(config)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise ChildFailed(f"Kafka's storage tool could not format {config.parent}:\n{done.stdout}")

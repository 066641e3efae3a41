"""A Kafka with TLS and passwords, in which ACLs say what each user may see."""

from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it does export them
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from lockgate_testbed.kafka import PASSWORD, PLAIN, USER, KafkaBroker
from lockgate_testbed.process import free_ports

TIMEOUT_S = 30.0
# Of a key that is named twice the last value counts. Whoever comes to the listener without a
# password may do everything: the test bed.
PROPERTIES = """\
listeners=PLAINTEXT://127.0.0.1:{port},SASL_SSL://127.0.0.1:{tls},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_SSL://127.0.0.1:{tls}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config={plain} required user_{user}="{password}";
ssl.keystore.type=PEM
ssl.keystore.location={certificate}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""


class SecuredBroker(KafkaBroker):
    """`bootstrap_tls` is for `USER` with `PASSWORD`, who may do nothing that is not allowed;
    `bootstrap` for the test bed, who may do all.

    `certificate`: file with the broker's private key (PKCS 8) and chain, in PEM, for 127.0.0.1.
    """

    def __init__(self, certificate: Path, data: Path | None = None) -> None:
        super().__init__(data)
        self._certificate = certificate
        (self._tls,) = free_ports(1)

    @property
    def bootstrap_tls(self) -> str:
        """Where it speaks TLS and asks for a password (SASL_SSL, mechanism PLAIN), host:port."""
        return f"127.0.0.1:{self._tls}"

    def allow(self, topic: str, *operations: AclOperation) -> None:
        """Give `USER` these rights on a topic, as `AclOperation`s."""
        admin = self._admin()  # it has to live until the answers are there
        for future in admin.create_acls(
            [_right(topic, each) for each in operations], request_timeout=TIMEOUT_S
        ).values():
            future.result()

    def forbid(self, topic: str) -> None:
        """Take back all rights on a topic."""
        every = AclBindingFilter(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            f"User:{USER}",
            "*",
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        admin = self._admin()
        for future in admin.delete_acls([every], request_timeout=TIMEOUT_S).values():
            future.result()

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})

    def _properties(self) -> str:
        ports = {"port": self._port, "tls": self._tls, "controller": self._controller}
        secured = PROPERTIES.format(**ports, plain=PLAIN, user=USER, password=PASSWORD, certificate=self._certificate)
        return super()._properties() + secured


def _right(topic: str, operation: AclOperation) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{USER}", "*", operation, AclPermissionType.ALLOW
    )

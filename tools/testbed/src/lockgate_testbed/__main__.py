"""`python -m lockgate_testbed` brings the jars that the test bed needs, and prints what this
machine lacks.

Exit code 1 when the demo, the benchmarks and the tests with Kafka cannot run here.
"""

import sys
from collections.abc import Callable

from lockgate_testbed import jars
from lockgate_testbed.errors import Missing
from lockgate_testbed.java import java
from lockgate_testbed.redis import redis_binary
from lockgate_testbed.spark import archive_classes


def main() -> int:
    """Check Java, the jars and Redis, in this order."""
    kafka = _has("Kafka and Spark", java, jars.kafka_broker, jars.kafka_connector)
    if kafka:
        archive_classes()
    _has("Redis", redis_binary)  # optional: only its own tests, and a store=redis://, need it
    return 0 if kafka else 1


def _has(what: str, *needs: Callable[[], object]) -> bool:
    try:
        for need in needs:
            need()
    except Missing as missing:
        print(f"{what}: not on this machine; {missing}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())

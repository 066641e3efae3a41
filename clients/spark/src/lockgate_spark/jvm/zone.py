"""Time zones from the JVM's tables, so that window-aligned batches agree with `date_trunc`."""

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lockgate.plan.windows import Zone
from lockgate_http.errors import ConfigurationError

SESSION_ZONE = "spark.sql.session.timeZone"
_UNTIL_MS = 4_102_444_800_000  # 2100


def zone_of(jvm: Any, name: str) -> Zone:
    """Return the zone of this name, from 1970 to 2100."""
    rules = zone_rules(jvm, name)
    instant = jvm.java.time.Instant.EPOCH
    before, changes = int(rules.getOffset(instant).getTotalSeconds()) * 1000, []
    while (change := rules.nextTransition(instant)) is not None:
        instant = change.getInstant()
        at = int(instant.toEpochMilli())
        if at >= _UNTIL_MS:
            break
        changes.append((at, int(change.getOffsetAfter().getTotalSeconds()) * 1000))
    return Zone(before, tuple(changes))


def zone_rules(jvm: Any, name: str) -> Any:
    try:
        return jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(name).getRules()
    except (Py4JJavaError, PySparkException) as error:
        raise ConfigurationError(
            f'Alignment(slice_zone={name!r}): expected a time zone such as "Europe/Berlin" or "UTC", or "epoch"; '
            f"Spark says: {str(error).partition('. ')[0]}"
        ) from None

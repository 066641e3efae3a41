"""The list of all breaks."""

from rule_breaks.assignments import ASSIGNMENTS
from rule_breaks.breaking import Break
from rule_breaks.clocks import CLOCKS
from rule_breaks.combining import COMBINING
from rule_breaks.coordinator import COORDINATOR
from rule_breaks.dashboards import DASHBOARDS
from rule_breaks.edges import EDGES
from rule_breaks.facts import FACTS
from rule_breaks.groups import GROUPS
from rule_breaks.growth import GROWTH
from rule_breaks.operating import OPERATING
from rule_breaks.operators import OPERATORS
from rule_breaks.producers import PRODUCERS
from rule_breaks.reading import READING
from rule_breaks.reports import REPORTS
from rule_breaks.simulation import SIMULATION
from rule_breaks.sources import SOURCES
from rule_breaks.spark_client import SPARK_CLIENT
from rule_breaks.standing_still import STANDING_STILL

BREAKS: tuple[Break, ...] = (
    *COMBINING,
    *SOURCES,
    *EDGES,
    *GROUPS,
    *COORDINATOR,
    *STANDING_STILL,
    *OPERATING,
    *GROWTH,
    *SPARK_CLIENT,
    *CLOCKS,
    *PRODUCERS,
    *REPORTS,
    *DASHBOARDS,
    *FACTS,
    *OPERATORS,
    *SIMULATION,
    *ASSIGNMENTS,
    *READING,
)

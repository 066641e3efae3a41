"""The arrows of the architecture point down only:

services/coordinator   commands → server → app → api → service → store  ─┐
                       (each part of `fast` beside the layer it serves)  ├→ lockgate (core)
clients/cli            commands of an operator, over clients/http      ─┤
clients/http           group → calls → config                           ─┤
clients/spark          align | gate → gates → jvm → planning            ─┘
                         → report → telemetry → logs → config

An import for types alone is an arrow too, and so is an import inside a function: a reader follows
them all the same. Only `test_the_core_loads_without_its_extra` asks when an import is made.
"""

import sys

import pytest

from support.imports import SOURCES, Import, When, imports_in, imports_of, inside, modules

ARROWS = {
    "lockgate": {"lockgate"},
    "lockgate_coordinator": {"lockgate", "lockgate_cli", "lockgate_coordinator"},
    "lockgate_cli": {"lockgate", "lockgate_http", "lockgate_cli"},
    "lockgate_http": {"lockgate", "lockgate_http"},
    "lockgate_spark": {"lockgate", "lockgate_http", "lockgate_spark"},
    "lockgate_reader": {"lockgate", "lockgate_http", "lockgate_reader"},
}
# The rooms of the core that each package uses; the modules at the core's root are for all.
ROOMS = {
    "lockgate_coordinator": {"wire", "group", "enumerator", "flink"},
    "lockgate_cli": {"wire", "simulate"},
    "lockgate_http": {"wire"},
    "lockgate_spark": {"wire", "plan"},
    "lockgate_reader": {"wire", "flink"},
    "lockgate_testbed": set[str](),
}
BETWEEN_ROOMS = {
    "wire": {"flink"},  # a split on the wire is Flink's
    "group": {"wire"},
    "enumerator": {"wire", "group", "flink"},
    "plan": set[str](),
    "simulate": {"wire", "group", "plan"},
    "flink": set[str](),
}
# What the core uses where it is installed.
IF_INSTALLED = {"msgspec"}

# The client's outermost modules, one for each way to use it.
WAYS_IN = tuple(f"lockgate_spark.{name}" for name in ("align", "gate"))

# Third-party packages and the modules that may know them.
KNOWN_TO = {
    "lockgate_coordinator": {
        "redis": ("lockgate_coordinator.store.connections",),
        "fastapi": ("lockgate_coordinator.api", "lockgate_coordinator.app", "lockgate_coordinator.dashboard"),
        "starlette": (
            "lockgate_coordinator.api",
            "lockgate_coordinator.app",
            "lockgate_coordinator.dashboard",
            "lockgate_coordinator.access.browsers",
            "lockgate_coordinator.access.guard",
            "lockgate_coordinator.access.under_way",
            "lockgate_coordinator.telemetry.requests",
            "lockgate_coordinator.telemetry.traces",
        ),
        "prometheus_client": ("lockgate_coordinator.telemetry.metrics",),
        "opentelemetry": ("lockgate_coordinator.telemetry.traces", "lockgate_coordinator.app"),
        "uvicorn": ("lockgate_coordinator.server", "lockgate_coordinator.intake", "lockgate_coordinator.probes"),
        "typer": ("lockgate_coordinator.commands",),
        "lockgate_cli": ("lockgate_coordinator.commands",),
    },
    "lockgate_reader": {
        # an event time of the program's own is a function of confluent-kafka's message
        "confluent_kafka": ("lockgate_reader.kafka", "lockgate_reader.config", "lockgate_reader.consumer"),
        "pyarrow": ("lockgate_reader.columns", "lockgate_reader.consumer"),
        "prometheus_client": ("lockgate_reader.prometheus",),
    },
    "lockgate_spark": {
        "pyspark": (
            "lockgate_spark.late_rows",
            "lockgate_spark.offset_ranges",
            "lockgate_spark.packages",
            "lockgate_spark.spark_lines",
            *WAYS_IN,
            "lockgate_spark.jvm",
            "lockgate_spark.host",
            "lockgate_spark.gates.foreach_batch",
            "lockgate_spark.gates.sessions",
            "lockgate_spark.connect",
            "lockgate_spark.telemetry.view",
        ),
        "py4j": ("lockgate_spark.jvm", "lockgate_spark.host"),
    },
    "lockgate_cli": {
        "httpx": ("lockgate_cli.client",),
        "yaml": ("lockgate_cli.output", "lockgate_cli.workloads"),
        "msgspec": ("lockgate_cli.workloads",),
    },
    "lockgate_http": {
        "httpx": (
            "lockgate_http.calls.connection",
            "lockgate_http.calls.credentials",
            "lockgate_http.calls.client",
            "lockgate_http.group.group_session",
        ),
    },
}
# The floors of a client, lowest first: its rooms, and the modules at its root.
FLOORS = {
    "lockgate_http": (
        {"errors"},
        {"duration", "completeness", "history"},
        {"config"},
        {"calls"},
        {"group", "waiting"},
        {"__init__"},
    ),
    "lockgate_spark": (
        {"errors", "event_times", "offset_ranges", "running", "spark_lines"},
        {"packages", "spark_run"},
        {"config"},
        {"conf", "joining"},
        {"logs"},
        {"telemetry"},
        {"report"},
        {"planning"},
        {"connect"},
        {"jvm"},
        {"gates"},
        {"align"},
        {"gate", "late_rows", "status"},
        {"host"},
        {"__init__"},
        {"__main__"},
    ),
    "lockgate_reader": (
        {"clock", "place"},
        {"config"},
        {"kafka"},
        {"reading", "group"},
        {"columns"},
        {"consumer"},
        {"prometheus", "__init__"},
    ),
}
LAYERS: tuple[set[str], ...] = (
    {"store"},
    {"telemetry"},
    {"service"},
    {"api"},
    {"app"},
    {"server"},
    {"commands"},
)  # of the coordinator, lowest first


def root(module: str) -> str:
    """Return the package that a module belongs to."""
    return module.split(".")[0]


def layer(module: str) -> int:
    """Return the number of a coordinator module's layer; -1 for a leaf such as settings, which all
    layers may use and which uses none of them.
    """
    parts = module.split(".")[1:3]
    return next((number for number, names in enumerate(LAYERS) if {".".join(parts), *parts[:1]} & names), -1)


@pytest.mark.parametrize("package", ARROWS)
def test_packages_know_only_the_core_and_themselves(package: str) -> None:
    assert [
        i for i in imports_of(package) if root(i.imported) in SOURCES and root(i.imported) not in ARROWS[package]
    ] == []


def core_room(module: str) -> str:
    """Return the room of the core that a module is in; "" for a module at its root, and for other
    packages.
    """
    parts = module.split(".")
    return parts[1] if parts[0] == "lockgate" and len(parts) > 1 and parts[1] in BETWEEN_ROOMS else ""


@pytest.mark.parametrize("package", ROOMS)
def test_a_package_uses_the_rooms_of_the_core_that_are_meant_for_it(package: str) -> None:
    assert {core_room(i.imported) for i in imports_of(package)} - {""} == ROOMS[package]


@pytest.mark.parametrize("room", BETWEEN_ROOMS)
def test_rooms_of_the_core_know_only_those_below_them(room: str) -> None:
    known = {core_room(i.imported) for i in imports_of("lockgate") if core_room(i.importer) == room}

    assert known - {"", room} == BETWEEN_ROOMS[room]


def test_the_root_of_the_core_knows_no_room() -> None:
    roots = [i for i in imports_of("lockgate") if not core_room(i.importer)]

    assert [i for i in roots if core_room(i.imported)] == []


def test_the_core_needs_nothing_but_the_standard_library() -> None:
    allowed = sys.stdlib_module_names | IF_INSTALLED | {"lockgate"}

    assert [i for i in imports_of("lockgate") if root(i.imported) not in allowed] == []


@pytest.mark.parametrize(
    ("package", "library"), [(package, library) for package, known in KNOWN_TO.items() for library in known]
)
def test_a_library_is_known_to_its_own_modules_alone(package: str, library: str) -> None:
    may = KNOWN_TO[package][library]

    assert [i for i in imports_of(package) if root(i.imported) == library and not inside(i.importer, *may)] == []


def test_inside_the_coordinator_imports_point_down() -> None:
    upwards = [
        i
        for i in imports_of("lockgate_coordinator")
        if root(i.imported) == "lockgate_coordinator" and layer(i.imported) > layer(i.importer)
    ]

    assert upwards == []


def client_room(module: str) -> str:
    """Return the room of a module of a client, or its name if it is at the client's root."""
    return module.split(".")[1] if "." in module else "__init__"


def client_floor(module: str) -> int:
    """How high a module of a client is; an error for one that has no floor."""
    return next(number for number, rooms in enumerate(FLOORS[root(module)]) if client_room(module) in rooms)


@pytest.mark.parametrize("package", FLOORS)
def test_each_module_of_a_client_has_one_floor_and_no_floor_is_empty(package: str) -> None:
    rooms = [room for floor in FLOORS[package] for room in floor]

    assert sorted(rooms) == sorted({client_room(m) for m in modules() if root(m) == package})


@pytest.mark.parametrize("package", FLOORS)
def test_inside_a_client_imports_point_down(package: str) -> None:
    between = [i for i in imports_of(package) if root(i.imported) == package]

    assert [i for i in between if client_floor(i.imported) > client_floor(i.importer)] == []


def test_the_api_knows_the_errors_of_the_store_alone() -> None:
    known = {
        i.name
        for i in imports_of("lockgate_coordinator")
        if layer(i.importer) == LAYERS.index({"api"}) and layer(i.imported) == LAYERS.index({"store"})
    }

    assert known <= {"StoreUnavailable", "UnreadableGroup"}


def test_the_redis_store_is_known_to_the_factory_alone() -> None:
    knowing = {
        i.importer for i in imports_of("lockgate_coordinator") if inside(i.imported, "lockgate_coordinator.store.redis")
    }

    assert knowing <= {"lockgate_coordinator.store"}


def test_inside_the_client_the_ways_in_are_known_to_each_other_alone() -> None:
    knowing = {i.importer for i in imports_of("lockgate_spark") if inside(i.imported, *WAYS_IN)}

    assert [module for module in knowing - {"lockgate_spark"} if not inside(module, *WAYS_IN)] == []


@pytest.mark.parametrize("package", SOURCES)
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    edges: dict[str, set[str]] = {}
    for each in imports_of(package):
        if each.imported in modules():
            edges.setdefault(each.importer, set()).add(each.imported)
    open_, closed = [], set[str]()

    def visit(module: str) -> None:
        assert module not in open_, " → ".join([*open_[open_.index(module) :], module])
        if module not in closed:
            open_.append(module)
            for imported in sorted(edges.get(module, ())):
                visit(imported)
            closed.add(open_.pop())

    for module in sorted(edges):
        visit(module)


def test_imports_are_seen_wherever_they_stand() -> None:
    source = """
import redis.asyncio
if TYPE_CHECKING:
    from pyspark.sql import DataFrame
def late():
    from lockgate import watermark
"""
    assert list(imports_in("m", source)) == [
        Import("m", "redis.asyncio", "", When.LOADED),
        Import("m", "pyspark.sql", "DataFrame", When.TYPED),
        Import("m", "lockgate.watermark", "", When.CALLED),
    ]

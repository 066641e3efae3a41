"""The pages of reference have all that the code has."""

from types import ModuleType

import pytest
import typer
from website.reference import commands, completed, names, python, rest

import lockgate_reader
import lockgate_spark
from lockgate_coordinator.__main__ import cli
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store.memory import MemoryStore
from support.imports import CHECKOUT

DOCS = CHECKOUT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("package", [lockgate_spark, lockgate_reader])
def test_every_public_name_of_a_client_has_its_docstring_on_the_page(package: ModuleType) -> None:
    asked = [name for name in names(page("reference/python.md")) if name.startswith(f"{package.__name__}.")]

    assert sorted(asked) == sorted(f"{package.__name__}.{name}" for name in package.__all__)


def test_every_entry_of_python_stands_under_a_heading_of_its_name() -> None:
    for file in sorted(DOCS.glob("reference/*.md")):
        lines = file.read_text(encoding="utf-8").splitlines()
        for name in names(file.read_text(encoding="utf-8")):
            above = lines[lines.index(f"<!-- from: {name} -->") - 1]
            assert above.lstrip("# ") in (name, name.rpartition(".")[2])


def test_a_function_is_shown_with_its_signature_and_its_docstring() -> None:
    shown = python.text("lockgate_spark.align")

    assert "align(df: DataFrame, alignment: Alignment | None = None) -> DataFrame" in shown
    assert "all its splits are read up to one event time" in shown


def test_a_class_that_checks_what_it_is_given_is_shown_as_one_makes_it() -> None:
    shown = python.text("lockgate_reader.AlignedConsumer")

    assert "\n    topics: str | Sequence[str],\n" in shown
    assert "\n    *,\n    kafka: Mapping[str, Any],\n" in shown
    assert "*args" not in shown


def test_a_way_to_make_an_object_is_shown_with_its_methods() -> None:
    assert "- `for_monotonous_timestamps() -> WatermarkStrategy`" in python.text("lockgate_reader.WatermarkStrategy")


def test_a_setting_is_shown_with_its_fields_and_defaults() -> None:
    shown = python.text("lockgate_spark.Alignment")

    assert "| `future_bound` | `str \\| int \\| timedelta \\| None` | `'1 day'` |" in shown
    assert "| `mode` | `Literal['align', 'observe']` | `'align'` |" in shown


@pytest.mark.parametrize("file", ["reference/python.md", "internals/core.md"])
def test_no_entry_shows_what_only_memory_knows(file: str) -> None:
    shown = completed(page(file))

    assert "<!-- from" not in shown
    assert " at 0x" not in shown
    assert "(self" not in shown
    assert "<built-in" not in shown
    assert "9223372036854775808" not in shown


def test_every_command_is_shown_with_all_its_options_and_variables() -> None:
    shown = commands.text()
    group = typer.main.get_command(cli)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        assert f"## lockgate {name}\n" in shown
        entry = shown.partition(f"## lockgate {name}\n")[2].partition("\n## ")[0]
        options = [option for each in command.params if each.param_type_name == "option" for option in each.opts]
        assert [option for option in options if option not in entry] == []
        variables = [each.envvar for each in command.params if isinstance(each.envvar, str)]
        assert [variable for variable in variables if f"`{variable}`" not in entry] == []


def test_every_route_and_schema_of_the_service_is_shown() -> None:
    shown = rest.text()
    document = create_app(MemoryStore()).openapi()
    routes = [f"{method.upper()} {path}" for path, all_of in document["paths"].items() for method in all_of]

    assert [route for route in routes if f"### {route}\n" not in shown] == []
    assert [name for name in document["components"]["schemas"] if f"### {name}\n" not in shown] == []

"""The reference has all that the code has."""

import re
from types import ModuleType

import pytest
import typer
from tools.site import commands, rest

import lockgate_http
import lockgate_reader
import lockgate_spark
from lockgate_cli.__main__ import cli
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store.memory import MemoryStore
from support.imports import CHECKOUT

PYTHON = (CHECKOUT / "docs/reference/python.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("package", [lockgate_spark, lockgate_reader])
def test_every_public_name_of_a_client_is_on_the_page_of_python(package: ModuleType) -> None:
    asked = re.findall(rf"(?m)^::: {package.__name__}\.(?:\w+\.)*(\w+)$", PYTHON)

    assert sorted(asked) == sorted(package.__all__)


def test_every_public_name_that_clients_share_is_on_the_page_of_python() -> None:
    asked = re.findall(r"(?m)^::: lockgate_http\.(?:\w+\.)*(\w+)$", PYTHON)

    assert [name for name in lockgate_http.__all__ if name not in asked and f".{name}\n" not in PYTHON] == []


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

"""The public API as tests/release/public_api.txt lists it: a change of it is noticed.

`API=write python -m pytest tests/release` writes the list anew. docs/compatibility.md says what a
change of it means for the version.
"""

import dataclasses
import inspect
import os
from collections.abc import Iterator
from difflib import unified_diff
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

import lockgate_http
import lockgate_reader
import lockgate_spark
from lockgate_cli.__main__ import cli
from lockgate_spark.conf import KEYS, OPTIONS, TOKENS
from support.imports import CHECKOUT

LIST = Path(__file__).with_name("public_api.txt")


def of_client() -> Iterator[str]:
    """Every public name of the clients, with its signature or its members."""
    for client in (lockgate_spark, lockgate_reader, lockgate_http):
        yield from of_package(client)


def of_package(client: ModuleType) -> Iterator[str]:
    package = client.__name__
    for name in sorted(client.__all__):
        found = getattr(client, name)
        if not inspect.isclass(found):
            yield f"{package}.{name}{signature(found)}"
            continue
        bases = ", ".join(base.__name__ for base in found.__bases__ if base is not object)
        yield f"{package}.{name}({bases})"
        yield from (f"    {member}" for member in sorted(members(found)))


def members(found: type) -> Iterator[str]:
    if issubclass(found, Enum):
        yield from (f"{each.name} = {each.value!r}" for each in found)
        return
    if dataclasses.is_dataclass(found):
        for field in dataclasses.fields(found):
            if not field.name.startswith("_"):
                yield f"{field.name}{default_of(field)}"
    for name, value in vars(found).items():
        if name.startswith("_") or name in getattr(found, "__dataclass_fields__", {}):
            continue
        if isinstance(value, property):
            yield f"{name} (read only)"
        elif callable(getattr(found, name)):
            yield f"{name}{signature(getattr(found, name))}"


def default_of(field: "dataclasses.Field[Any]") -> str:
    if field.default_factory is not dataclasses.MISSING:
        return " = …"
    if inspect.isfunction(field.default):
        return f" = {field.default.__name__}"
    return "" if field.default is dataclasses.MISSING else f" = {field.default!r}"


def signature(found: Any) -> str:
    parameters = []
    for parameter in inspect.signature(found).parameters.values():
        kind = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**", parameter.KEYWORD_ONLY: "keyword "}
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parameters.append(f"{kind.get(parameter.kind, '')}{parameter.name}{default}")
    return f"({', '.join(parameters)})"


def of_jar() -> Iterator[str]:
    """What users of the jar write: its services, the options of a stream, the conf of a session."""
    services = CHECKOUT / "clients" / "spark-server" / "src" / "META-INF" / "services"
    yield from sorted(file.read_text(encoding="utf-8").strip() for file in services.iterdir())
    yield from sorted([*OPTIONS, *KEYS, f"{TOKENS}<name>"])


def of_command() -> Iterator[str]:
    """Every command of `lockgate`, with its options and their variables."""
    for path, command in sorted(commands(typer.main.get_command(cli), "lockgate")):
        yield path
        for parameter in command.params:
            variable = f" ({parameter.envvar})" if isinstance(parameter.envvar, str) else ""
            yield f"    {', '.join([*parameter.opts, *parameter.secondary_opts])}{variable}"


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, each in command.commands.items():
        yield from commands(each, f"{path} {name}")


def test_the_public_api_is_what_the_list_says() -> None:
    now = [*of_client(), "", *of_jar(), "", *of_command()]
    if os.environ.get("API") == "write":
        LIST.write_text("\n".join(now) + "\n", encoding="utf-8")
    listed = LIST.read_text(encoding="utf-8").splitlines()
    difference = "\n".join(unified_diff(listed, now, "public_api.txt", "now", lineterm=""))
    assert listed == now, (
        f"{difference}\nIf it is meant: API=write python -m pytest tests/release, and a line in CHANGELOG"
    )
    assert len(listed) > 100


def test_the_version_of_the_wire_protocol_is_the_one_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs/internals/protocol.md").read_text(encoding="utf-8")
    assert page.startswith("# Wire protocol, version 1\n")
    assert "/v1/groups/{group}" in page

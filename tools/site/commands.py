"""What the command line says of itself: the commands in their order, with arguments, options and
environment variables.
"""

import re
from collections.abc import Iterator
from typing import Any

import typer

from lockgate_cli.__main__ import cli


def text() -> str:
    """Return an entry for each command, in the order of `lockgate --help`."""
    group: Any = typer.main.get_command(cli)
    return "\n".join(_entry(name, command) for name, command in group.commands.items() if not command.hidden)


def _entry(name: str, command: Any) -> str:
    rows = list(_rows(command))
    table = ["| | default | environment | meaning |", "|---|---|---|---|", *rows] if rows else []
    given = [_argument(each) for each in command.params if each.param_type_name == "argument"]
    usage = " ".join(["lockgate", name, *(["[OPTIONS]"] if len(given) < len(rows) else []), *given])
    return "\n".join([f"## lockgate {name}", f"```text\n{usage}\n```", _line(command.help or ""), "", *table, ""])


def _rows(command: Any) -> Iterator[str]:
    for each in command.params:
        option = each.param_type_name == "option"
        shown = ", ".join([*each.opts, *each.secondary_opts]) if option else _argument(each)
        variables = each.envvar if isinstance(each.envvar, list) else [each.envvar] if each.envvar else []
        meaning = re.sub(r" *\[default: .*?\]", "", _line(each.help or ""))
        yield f"| `{shown}` | {_default(each)} | {', '.join(f'`{one}`' for one in variables)} | {meaning} |"


def _argument(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs != 1 else "")
    return name if argument.required else f"[{name}]"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    default = parameter.default
    return "" if callable(default) or not default else f"`{getattr(default, 'value', default)}`"


def _line(written: str) -> str:
    return " ".join(written.replace("\b", "").split()).replace("|", "\\|")

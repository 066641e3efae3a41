"""The forms of an answer: a table for people, JSON and YAML for programs."""

import json
from enum import Enum
from typing import Annotated, Any

import typer
import yaml


class Output(str, Enum):
    """The form in which a command prints what it has read."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[
    Output, typer.Option("--output", help="table is for people; json and yaml are the service's answer, for programs.")
]


def print_answer(answer: Any, output: Output) -> None:
    """One answer for programs, over several lines."""
    typer.echo(_yaml(answer) if output is Output.YAML else json.dumps(answer, indent=2, ensure_ascii=False))


def print_item(item: Any, output: Output) -> None:
    """One of many answers: a line of JSON, or a YAML document."""
    typer.echo(f"---\n{_yaml(item)}" if output is Output.YAML else json.dumps(item, ensure_ascii=False))


def _yaml(answer: Any) -> str:
    return str(yaml.safe_dump(answer, sort_keys=False, allow_unicode=True)).removesuffix("\n")

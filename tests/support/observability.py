"""The files of deploy/observability, and what they ask of Prometheus."""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from support.imports import CHECKOUT

FOLDER = CHECKOUT / "deploy" / "observability"
BOARD = FOLDER / "grafana" / "dashboards" / "lockgate.json"
ALERTS = FOLDER / "prometheus" / "alerts.yml"
SCRAPING = FOLDER / "prometheus" / "prometheus.yml"


def read(file: Any) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(BOARD.read_text(encoding="utf-8"))
    return found


def board_expressions(group: str) -> Iterator[tuple[str, str]]:
    """Each expression of the board, by its panel's title, as Grafana asks it for a group."""
    shown = board()
    for panel in shown["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], _asked(target["expr"], group)
    for annotation in shown["annotations"]["list"]:
        yield annotation["name"], _asked(annotation["expr"], group)


def _asked(expression: str, group: str) -> str:
    return expression.replace("$group", group).replace("$__rate_interval", "1m")


def alerts() -> list[dict[str, Any]]:
    return [rule for group in read(ALERTS)["groups"] for rule in group["rules"]]

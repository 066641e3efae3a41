"""The specification in TLA+: its models hold, and each rule that is broken on purpose is found."""

import re
from pathlib import Path

import pytest
from specification.models import GROUP_PROPERTIES, MODELS, SPLITS_PROPERTIES, Model
from specification.tlc import FOLDER, check

from lockgate_testbed import jars
from lockgate_testbed.java import java
from support.imports import CHECKOUT
from support.left_out import or_left_out

PAGE = CHECKOUT / "docs/internals/specification.md"
SMALLEST = "without: epochs"
STEP_BY_STEP = "group, two coordinators step by step"
THREE_WITH_FAILOVER = "three readers, failover, without: "


@pytest.fixture(scope="module", autouse=True)
def tlc() -> None:
    or_left_out(java)
    or_left_out(jars.tlc)


def test_a_fenced_report_is_found_once_epochs_are_left_out() -> None:
    found = check(MODELS[SMALLEST])
    assert found.violated == "FencedMovesNothing"
    assert "LateReport" in found.output


def test_each_rule_that_a_failover_needs_is_broken_with_three_readers() -> None:
    named = [model for name, model in MODELS.items() if name.startswith(THREE_WITH_FAILOVER)]
    whole = MODELS["group, three readers, failover"]
    assert {model.breaks for model in named} >= {"numbers rise after a loss", "compare-and-set"}
    assert all(whole.constants.items() <= model.constants.items() for model in named)


def test_reduced_module_is_used_unless_a_reduction_is_unsound() -> None:
    whole = [model for model in MODELS.values() if model.module == "Group" and model.root == "Group"]
    assert [model.name for model in whole if not model.liveness and model.breaks != "compare-and-set"] == [STEP_BY_STEP]


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_model_holds_or_breaks_the_property_that_it_names(model: Model) -> None:
    found = check(model)
    assert found.violated == model.violates, found.output[-4_000:]


@pytest.mark.parametrize("module", ["Group", "Splits"])
def test_each_rule_of_a_module_is_broken_by_a_model(module: str) -> None:
    rules = set(re.findall(r'Rule\("([^"]+)"\)', Path(FOLDER, f"{module}.tla").read_text()))
    assert rules == {model.breaks for model in MODELS.values() if model.module == module and model.breaks}


def test_the_page_names_each_property_and_each_broken_rule() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in (*GROUP_PROPERTIES, *SPLITS_PROPERTIES) if f"| `{name}`" not in text] == []
    assert [model.breaks for model in MODELS.values() if model.breaks and f"| {model.breaks} |" not in text] == []

"""The page on Spark on Kubernetes: its confs are options that there are, and its pieces fit."""

import re

import yaml

from lockgate_spark import Alignment
from lockgate_spark.conf import configured
from support.code_of_pages import blocks
from support.imports import CHECKOUT

PAGE = CHECKOUT / "docs/compatibility.md"


def submitted() -> dict[str, str]:
    """Return the confs of the page's spark-submit."""
    (command,) = [block.text for block in blocks(PAGE) if block.language == "bash" and "k8s://" in block.text]
    return dict(re.findall(r"--conf (\S+?)=(\S+)", command))


def application() -> dict[str, object]:
    (text,) = [block.text for block in blocks(PAGE) if block.language == "yaml"]
    found: dict[str, object] = yaml.safe_load(text)["spec"]
    return found


def test_the_confs_of_both_ways_make_one_coordinator_with_a_token_from_the_mounted_secret() -> None:
    by_hand = configured(Alignment(), submitted()).coordinator
    by_operator = configured(Alignment(), application()["sparkConf"]).coordinator  # type: ignore[arg-type]
    assert by_hand is not None
    assert by_hand == by_operator
    assert by_hand.token_file == submitted()["spark.kubernetes.driver.secrets.orders-lockgate"] + "/token"
    (secret,) = application()["driver"]["secrets"]  # type: ignore[index]
    assert f"{secret['path']}/token" == by_hand.token_file


def test_the_files_of_certificates_are_options_of_a_coordinator_on_https() -> None:
    (text,) = [block.text for block in blocks(PAGE) if block.language == "properties"]
    given = dict(line.split() for line in text.splitlines())
    coordinator = configured(Alignment(), {**submitted(), **given}).coordinator
    assert coordinator is not None
    assert (coordinator.ca, coordinator.cert, coordinator.key) == tuple(
        f"/etc/lockgate/{name}" for name in ("ca.crt", "tls.crt", "tls.key")
    )

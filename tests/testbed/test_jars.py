from pathlib import Path

import pytest

from lockgate_testbed import ivy, jars, maven
from lockgate_testbed.artifacts import Artifact, JarSet, spark_connector
from lockgate_testbed.errors import JarsUnavailable

TWO_VERSIONS = JarSet("set", (Artifact("g", "a", ("1",)), Artifact("g", "b", ("2.1", "2.0"))), transitive=False)


class Repository:
    """A double of a download tool: has some versions, and remembers the requests."""

    def __init__(self, *held: str) -> None:
        self.held = held
        self.asked: list[tuple[str, ...]] = []

    def available(self) -> bool:
        return True

    def fetch(self, wanted: JarSet, versions: tuple[str, ...], folder: Path) -> str | None:
        self.asked.append(versions)
        for artifact, version in zip(wanted.artifacts, versions, strict=True):
            (folder / f"{artifact.name}-{version}.jar").touch()
            if version not in self.held:
                return f"no {artifact.at(version)}"
        return None


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Repository:
    held = Repository("1", "2.0")
    monkeypatch.setattr(jars, "maven", held)
    monkeypatch.setattr(jars, "ivy", Repository())
    return held


def test_a_version_that_a_mirror_lacks_is_replaced_by_the_next_in_the_list(
    repository: Repository, tmp_path: Path
) -> None:
    found = jars.resolve(TWO_VERSIONS, tmp_path)

    assert [jar.name for jar in found] == ["a-1.jar", "b-2.0.jar"]
    assert repository.asked == [("1", "2.1"), ("1", "2.0")]


def test_a_complete_set_is_not_downloaded_again(repository: Repository, tmp_path: Path) -> None:
    assert jars.resolve(TWO_VERSIONS, tmp_path) == jars.resolve(TWO_VERSIONS, tmp_path)
    assert len(repository.asked) == 2


def test_half_a_download_is_never_used(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "half.jar").touch()

    assert [jar.name for jar in jars.resolve(TWO_VERSIONS, tmp_path)] == ["a-1.jar", "b-2.0.jar"]


def test_a_jar_that_neither_tool_can_bring_is_an_error_that_says_what_to_install(
    repository: Repository, tmp_path: Path
) -> None:
    repository.held = ()

    with pytest.raises(
        JarsUnavailable, match=r"install Maven(.|\n)*Maven, g:a:1, g:b:2\.1:\nno g:a:1(.|\n)*Ivy, g:a:1"
    ):
        jars.resolve(TWO_VERSIONS, tmp_path)


@pytest.mark.parametrize(
    ("spark", "connectors"), [("4.0.2", ("4.0.2", "4.0.1", "4.0.0")), ("4.3.1", ("4.3.1", "4.3.0", "4.2.0"))]
)
def test_where_a_mirror_lacks_a_connector_an_older_one_serves(spark: str, connectors: tuple[str, ...]) -> None:
    assert spark_connector(spark).artifacts[0].versions == connectors


@pytest.mark.parametrize("tool", [maven, ivy])
def test_both_tools_are_given_the_same_coordinates(tool: object, tmp_path: Path) -> None:
    describe = maven._pom if tool is maven else ivy._module
    wanted = spark_connector("4.2.0")
    text = describe(wanted, tuple(artifact.versions[0] for artifact in wanted.artifacts))

    for artifact in wanted.artifacts:
        assert artifact.group in text
        assert artifact.name in text
        assert artifact.versions[0] in text


def test_the_connector_leaves_out_what_spark_brings_itself(kafka: object) -> None:
    names = {jar.name.split("-")[0] for jar in jars.kafka_connector()}

    assert names == {"commons", "kafka", "spark"}

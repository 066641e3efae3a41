"""The search for secrets finds one in the tree, and one that only an old commit has."""

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from support.imports import CHECKOUT

pytestmark = pytest.mark.long

KEY = "-----BEGIN RSA PRIVATE " + "KEY-----"


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("detect_secrets", reason="`make audit` installs it")
    monkeypatch.syspath_prepend(str(CHECKOUT / "release"))
    spec = importlib.util.spec_from_file_location("no_secrets", CHECKOUT / "release/no_secrets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run(tmp_path, "init", "--quiet")
    run(tmp_path, "config", "user.email", "somebody@example.org")
    run(tmp_path, "config", "user.name", "somebody")
    return tmp_path


def run(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, file: str, text: str) -> None:
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(text)
    run(folder, "add", "-A")
    run(folder, "commit", "--quiet", "-m", "a change")


def test_a_secret_in_the_tree_is_named_by_its_place_and_not_repeated(search: ModuleType, repository: Path) -> None:
    commit(repository, "settings.py", 'PASSWORD = "correct horse battery"\n')
    (found,) = search.in_the_tree(repository)
    assert found.startswith("settings.py:1: Secret Keyword")
    assert "horse" not in found


def test_a_secret_that_was_taken_out_again_is_found_in_the_history(search: ModuleType, repository: Path) -> None:
    commit(repository, "key.pem", f"{KEY}\n")
    commit(repository, "key.pem", "gone\n")
    assert list(search.in_the_tree(repository)) == []
    (found,) = search.in_the_history(repository)
    assert found.startswith("commit ")
    assert found.endswith(": Private Key")


def test_an_invented_token_of_a_test_is_no_finding_and_a_key_there_is(search: ModuleType, repository: Path) -> None:
    commit(repository, "tests/test_it.py", 'PASSWORD = "correct horse battery"\n')
    assert list(search.in_the_tree(repository)) == []
    commit(repository, "tests/test_it.py", f'KEY = "{KEY}"\n')
    assert list(search.in_the_tree(repository)) == ["tests/test_it.py:1: Private Key"]

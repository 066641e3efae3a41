"""The checkout's docker-compose.yml, brought up from the files that a fresh clone has, under a
project name and a port of its own.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from lockgate_testbed.errors import Missing, TestbedError
from lockgate_testbed.process import free_ports
from support.imports import CHECKOUT

PROJECT = "lockgate-test"
UP_WITHIN_S = 1_200
"""The first time, images are pulled and built."""
DONE_WITHIN_S = 120


class DockerMissing(Missing):
    """No Docker, no compose, or no engine that answers."""


class NotUp(TestbedError):
    """`docker compose up --wait` failed; what it printed has been shown."""


def require_docker() -> None:
    """Raises `DockerMissing`, with what to do about it."""
    if shutil.which("docker") is None:
        raise DockerMissing(
            "no docker on the PATH: install Docker (Debian 13: apt-get install docker.io docker-compose)"
        )
    if _run("docker", "compose", "version").returncode:
        raise DockerMissing(
            "docker has no compose plugin: install it (Debian 13: docker-compose; else docker-compose-plugin)"
        )
    if (engine := _run("docker", "info", "--format", "{{.ServerVersion}}")).returncode:
        raise DockerMissing(f"no Docker engine answers; start it, and be allowed to use it: {engine.stderr.strip()}")


def fresh_clone(folder: Path) -> Path:
    """A copy of the files that git keeps, as they are now: neither a .env nor anything else that
    only this machine has.
    """
    names = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, folder / name)
    return folder


class Stack:
    """`start()` brings it up from nothing; whoever called it calls `remove()`."""

    def __init__(self, folder: Path, project: str = PROJECT, profile: str | None = None) -> None:
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._command = [
            "docker",
            "compose",
            "--project-name",
            project,
            "--ansi",
            "never",
            *(["--profile", profile] if profile else []),
        ]
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("LOCKGATE_", "COMPOSE_"))}
        self._env = {**ours, "LOCKGATE_PUBLISHED_PORT": str(port)}

    def start(self) -> None:
        """As the first line of docker-compose.yml says. Raises `NotUp`, with what the containers
        have printed.
        """
        self.remove()  # what a run that was killed has left
        if self._compose("up", "--build", "--wait", timeout_s=UP_WITHIN_S, shown=True).returncode:
            raise NotUp(f"docker compose up --build --wait failed, see above\n{self.logs()}")

    def remove(self) -> None:
        """Everything but the images, the volumes too."""
        self.compose("down", "--volumes", "--remove-orphans")

    def compose(self, *arguments: str, timeout_s: float = DONE_WITHIN_S) -> str:
        """What `docker compose …` prints on its standard output. Raises `AssertionError` with its
        errors if it fails.
        """
        done = self._compose(*arguments, timeout_s=timeout_s)
        assert done.returncode == 0, f"docker compose {' '.join(arguments)}: {done.stderr}\n{self.logs()}"
        return done.stdout

    def up(self, **env: str) -> None:
        """What has ended, or has another environment now, is started again; returns when all are
        healthy.
        """
        self._env |= env
        self.compose("up", "--wait", timeout_s=UP_WITHIN_S)

    def warnings(self) -> str:
        """What compose has against the file."""
        return self._compose("config", "--quiet").stderr

    def logs(self) -> str:
        """What all containers have printed."""
        return self._compose("logs", "--no-color", "--timestamps").stdout

    def containers(self, *services: str) -> list[dict[str, Any]]:
        """`docker inspect` of the containers, stopped ones too; of all when no service is named."""
        ids = self.compose("ps", "--all", "--quiet", *services).split()
        found: list[dict[str, Any]] = json.loads(_run("docker", "inspect", *ids).stdout)
        return found

    def kill(self, container: dict[str, Any]) -> None:
        """SIGKILL, as a crash would end it; nothing starts it again but `up`."""
        assert _run("docker", "kill", "--signal", "KILL", container["Id"]).returncode == 0

    def password(self) -> str:
        """The one of Redis, when nobody has set another."""
        found = re.search(r"LOCKGATE_REDIS_PASSWORD:-([\w-]+)}", (self._folder / "docker-compose.yml").read_text())
        assert found
        return found[1]

    def _compose(
        self, *arguments: str, timeout_s: float = DONE_WITHIN_S, shown: bool = False
    ) -> "subprocess.CompletedProcess[str]":
        command = [*self._command, *arguments]
        return subprocess.run(
            command,
            cwd=self._folder,
            env=self._env,
            capture_output=not shown,
            text=True,
            timeout=timeout_s,
            check=False,
        )


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=DONE_WITHIN_S, check=False)

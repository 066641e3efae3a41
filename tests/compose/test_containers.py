"""How the containers are run: what they may do, what they show."""

import subprocess

import pytest

from compose.stack import Stack


def test_the_file_has_no_warnings(stack: Stack) -> None:
    assert stack.warnings() == ""


def test_all_containers_are_healthy_and_there_are_two_coordinators(stack: Stack) -> None:
    health = {
        container["Name"].removeprefix("/lockgate-test-"): container["State"]["Health"]["Status"]
        for container in stack.containers()
    }
    assert health == dict.fromkeys(("proxy-1", "coordinator-1", "coordinator-2", "redis-1"), "healthy")


@pytest.mark.parametrize("service", ["proxy", "coordinator", "redis"])
def test_a_container_may_do_nothing_that_it_need_not(stack: Stack, service: str) -> None:
    for container in stack.containers(service):
        host = container["HostConfig"]
        assert container["Config"]["User"] not in ("", "0", "root")
        assert (host["ReadonlyRootfs"], host["Privileged"], host["CapAdd"], host["CapDrop"]) == (
            True,
            False,
            None,
            ["ALL"],
        )
        assert host["SecurityOpt"] == ["no-new-privileges:true"]
        assert host["RestartPolicy"]["Name"] == "unless-stopped"


def test_the_proxy_alone_is_published_and_to_this_machine_alone(stack: Stack) -> None:
    published = {
        container["Config"]["Labels"]["com.docker.compose.service"]: {binding["HostIp"] for binding in bindings}
        for container in stack.containers()
        for bindings in (container["HostConfig"]["PortBindings"] or {}).values()
    }
    assert published == {"proxy": {"127.0.0.1"}}


def test_redis_answers_to_its_password_alone(stack: Stack) -> None:
    asked = stack.compose("exec", "-T", "-e", "REDISCLI_AUTH=", "redis", "redis-cli", "ping")
    assert "NOAUTH" in asked
    assert "PONG" in stack.compose("exec", "-T", "redis", "redis-cli", "ping")


def test_the_password_is_in_no_log_and_no_command_line(stack: Stack) -> None:
    shown = stack.logs() + stack.compose("top")
    assert "redis-server" in shown
    assert stack.password() not in shown


def test_the_image_says_what_it_can_do() -> None:
    said = subprocess.run(
        ["docker", "run", "--rm", "lockgate-coordinator", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "serve" in said


def test_the_coordinators_image_is_below_150_megabytes_and_has_no_shell() -> None:
    size = ["docker", "image", "inspect", "lockgate-coordinator", "--format", "{{.Size}}"]
    assert int(subprocess.run(size, capture_output=True, text=True, check=True).stdout) < 150_000_000
    shell = ["docker", "run", "--rm", "--entrypoint", "sh", "lockgate-coordinator", "-c", "true"]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert done.returncode == 127, done.stderr

"""The Helm chart, by Helm itself: what it makes of some values, and what it refuses.

`make helm-test` brings Helm and the schemas of Kubernetes. `HELM=write` writes the recorded
manifests anew.
"""

import os
import shutil
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.imports import CHECKOUT

pytestmark = pytest.mark.long

CHART = CHECKOUT / "deploy/helm/lockgate"
RECORDED = Path(__file__).with_name("manifests")
KUBERNETES = "1.31.0"
HELM = shutil.which("helm") or shutil.which("helm", path=str(CHECKOUT / "build/bin"))
VALUES: dict[str, dict[str, Any]] = {
    "plain": {"allowUnauthenticated": True},
    "one": {"allowUnauthenticated": True, "replicas": 1, "store": "memory://"},
    "full": {
        "tokensSecret": "lockgate-tokens",
        "redisSecret": "redis",
        "tlsSecret": "lockgate-tls",
        "allowedHosts": ["lockgate.example"],
        "env": {"LOCKGATE_MAX_PARTITIONS": 20000},
        "ingress": {"enabled": True, "host": "lockgate.example", "className": "nginx", "tlsSecret": "outside"},
        "autoscaling": {"enabled": True},
        "networkPolicy": {
            "enabled": True,
            "from": [{"namespaceSelector": {"matchLabels": {"spark": "yes"}}}],
        },
        "serviceMonitor": {"enabled": True, "tokenSecret": "scraper"},
        "prometheusRule": {"enabled": True},
    },
    "mutual": {
        "tokensSecret": "lockgate-tokens",
        "tlsSecret": "lockgate-tls",
        "clientCaSecret": "lockgate-callers",
        "redisSecret": "redis",
        "redisTlsSecret": "redis-tls",
        "store": "rediss://redis:6379/0?ssl_ca_certs=/etc/lockgate/redis-tls/ca.crt",
        "networkPolicy": {"enabled": True},
        "serviceMonitor": {
            "enabled": True,
            "tokenSecret": "scraper",
            "tlsConfig": {"ca": {"secret": {"name": "lockgate-tls", "key": "ca.crt"}}, "serverName": "lockgate"},
        },
    },
    "redis": {
        "tokensSecret": "lockgate-tokens",
        "redisSecret": "redis",
        "redis": {"enabled": True},
        "networkPolicy": {"enabled": True},
    },
}


def helm(*arguments: str, values: dict[str, Any] | None = None) -> "subprocess.CompletedProcess[str]":
    if HELM is None:
        pytest.skip("no helm on the PATH: `make helm-test` builds it")
    given = ["--values", "-"] if values is not None else []
    text = None if values is None else yaml.safe_dump(values)
    return subprocess.run([HELM, *arguments, *given], input=text, capture_output=True, text=True, check=False)


def manifests(values: dict[str, Any]) -> str:
    done = helm("template", "shop", str(CHART), "--kube-version", KUBERNETES, values=values)
    assert done.returncode == 0, done.stderr
    return done.stdout


def by_kind(text: str) -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all(text) if each}


@pytest.mark.parametrize("name", VALUES)
def test_the_chart_passes_helm_s_own_check_and_makes_the_recorded_manifests(name: str) -> None:
    linted = helm("lint", "--strict", str(CHART), values=VALUES[name])
    assert linted.returncode == 0, linted.stdout
    now, recorded = manifests(VALUES[name]), RECORDED / f"{name}.yaml"
    if os.environ.get("HELM") == "write":
        recorded.write_text(now, encoding="utf-8")
    difference = unified_diff(recorded.read_text(encoding="utf-8").splitlines(), now.splitlines(), lineterm="")
    assert list(difference) == []


@pytest.mark.parametrize("name", VALUES)
def test_the_manifests_are_what_kubernetes_takes(name: str, tmp_path: Path) -> None:
    pytest.importorskip("kubernetes_validate", reason="`make helm-test` installs it")
    file = tmp_path / "manifests.yaml"
    own = [
        each for each in yaml.safe_load_all(manifests(VALUES[name])) if each and "monitoring" not in each["apiVersion"]
    ]
    file.write_text(yaml.safe_dump_all(own))
    command = [str(Path(sys.executable).with_name("kubernetes-validate")), "--strict", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("passed for resource") + done.stderr.count("passed for resource") == len(own)


def test_the_alerts_of_the_chart_are_those_of_the_checkout() -> None:
    rule = by_kind(manifests(VALUES["full"]))["PrometheusRule"]
    alerts = yaml.safe_load((CHECKOUT / "deploy/observability/prometheus/alerts.yml").read_text(encoding="utf-8"))
    assert rule["spec"] == alerts
    assert by_kind(manifests(VALUES["full"]))["ServiceMonitor"]["spec"]["jobLabel"] == "app.kubernetes.io/name"


def test_one_coordinator_has_no_disruption_budget_and_two_have() -> None:
    assert "PodDisruptionBudget" not in by_kind(manifests(VALUES["one"]))
    assert "PodDisruptionBudget" in by_kind(manifests(VALUES["plain"]))


def test_the_options_are_those_of_the_service() -> None:
    (container,) = by_kind(manifests(VALUES["full"]))["Deployment"]["spec"]["template"]["spec"]["containers"]
    served = {**os.environ, **{each["name"]: str(each.get("value", "")) for each in container["env"]}}
    done = subprocess.run(
        [sys.executable, "-m", "lockgate_cli", *container["args"]],
        env=served,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # All options are read; what is missing here is the files of the secrets.
    assert "/etc/lockgate/" in done.stderr + done.stdout
    assert "No such option" not in done.stderr


def test_where_callers_need_a_certificate_probes_go_to_a_port_of_their_own() -> None:
    (container,) = by_kind(manifests(VALUES["mutual"]))["Deployment"]["spec"]["template"]["spec"]["containers"]
    probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("liveness", "readiness")]
    assert [(each["port"], each["scheme"]) for each in probes] == [("probes", "HTTP")] * 2
    given = {each["name"]: each.get("value") for each in container["env"]}
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert (given["LOCKGATE_PROBE_PORT"], given["LOCKGATE_SSL_CA_CERTS"]) == (
        str(ports["probes"]),
        "/etc/lockgate/client-ca/ca.crt",
    )


def test_the_coordinators_find_the_redis_of_the_chart() -> None:
    made = [each for each in yaml.safe_load_all(manifests(VALUES["redis"])) if each]
    (container,) = by_kind(manifests(VALUES["redis"]))["Deployment"]["spec"]["template"]["spec"]["containers"]
    store = {each["name"]: each.get("value") for each in container["env"]}["LOCKGATE_STORE"]
    services = {
        each["metadata"]["name"]: each["spec"]["ports"][0]["port"] for each in made if each["kind"] == "Service"
    }
    assert store == "redis://shop-lockgate-redis:6379/0"
    assert services["shop-lockgate-redis"] == 6379


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "tokensSecret is empty: name the secret that holds tokens.toml, or set allowUnauthenticated=true"),
        (
            {"allowUnauthenticated": True, "store": "memory://"},
            "set replicas=1 without autoscaling, or a redis:// store",
        ),
        ({"allowUnauthenticated": True, "redis": {"enabled": True}}, "redis.enabled needs redisSecret"),
        (
            {"allowUnauthenticated": True, "clientCaSecret": "ca"},
            "name the certificate of the coordinators in tlsSecret",
        ),
        ({"allowUnauthenticated": True, "ingress": {"enabled": True}}, "ingress.host is empty"),
        ({"allowUnauthenticated": True, "replica": 3}, "additional properties 'replica' not allowed"),
        ({"allowUnauthenticated": True, "store": "postgres://db"}, "store"),
        ({"allowUnauthenticated": True, "env": {"MAX_SPLITS": 3}}, "MAX_SPLITS"),
    ],
)
def test_values_that_cannot_work_are_refused_in_words(values: dict[str, Any], said: str) -> None:
    done = helm("template", "shop", str(CHART), "--kube-version", KUBERNETES, values=values)
    assert done.returncode != 0
    assert said in done.stderr

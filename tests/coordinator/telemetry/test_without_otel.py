"""The service where the extra `otel` is not installed."""

from pathlib import Path

import httpx

from lockgate_testbed.coordinator import CoordinatorProcess
from support.children import doing_first

NOT_INSTALLED = (
    "import sys; sys.modules |= dict.fromkeys(('opentelemetry.sdk', 'opentelemetry.exporter', "
    "'opentelemetry.instrumentation'))"
)


def test_service_without_opentelemetry_says_what_to_install(
    tmp_path: Path,
) -> None:
    for wanted in (False, True):
        env = doing_first(tmp_path, NOT_INSTALLED) | (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"} if wanted else {}
        )
        with CoordinatorProcess(env=env) as coordinator:
            answer = httpx.post(f"{coordinator.url}/v1/groups/g/sources/a/readers", json={"subtask": 0}, timeout=60)
            assert answer.status_code == 201
            body = {"subtask": 0, "epoch": answer.json()["epoch"], "watermark": 5}
            assert (
                httpx.post(f"{coordinator.url}/v1/groups/g/sources/a/watermarks", json=body, timeout=60).status_code
                == 200
            )
            assert ("pip install 'lockgate-coordinator[otel]'" in coordinator.log.read_text()) is wanted

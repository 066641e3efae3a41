"""The messages need no compiled package: a client without msgspec reads and writes the same."""

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["msgspec"] = None  # importing it fails
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import ReportedWatermarkEvent
from lockgate.errors import InvalidMessage
good = {"subtask": 0, "epoch": 1, "watermark": 5, "splits": {"a": {"watermark": 1}}}
report = from_json(ReportedWatermarkEvent, good)
assert from_json(ReportedWatermarkEvent, to_json(report)) == report
try:
    from_json(ReportedWatermarkEvent, {**good, "subtask": -1, "epoch": 0, "splits": {"a/b": {"watermark": 1}}})
except InvalidMessage as error:
    print([field for field, _ in error.faults])
"""


def test_messages_without_msgspec_have_the_same_faults() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['subtask', 'epoch', 'splits.a/b']", done.stderr

"""Puts the files of uPlot into the wheel, out of the distribution `uplot-python`.

The wheel then needs neither it nor what it pulls in: it is a Python package around these files, and
wants numpy and IPython, which a service has no use for.
"""

from importlib.metadata import distribution
from pathlib import PurePosixPath
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("uplot/static/uPlot.iife.js", "uplot/static/uPlot.min.css")


class Charts(BuildHookInterface):  # type: ignore[misc, type-arg]
    """Called by hatchling for each wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Take the files of the installed distribution in an editable checkout."""
        if version == "editable":
            return
        installed = distribution("uplot-python")
        for name in FILES:
            target = f"lockgate_coordinator/dashboard/static/{PurePosixPath(name).name}"
            build_data["force_include"][str(installed.locate_file(name))] = target

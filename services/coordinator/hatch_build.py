"""Put the files of uPlot into the wheel, from the distribution `uplot-python`.

So the service does not depend on that distribution, which requires numpy and IPython.
"""

from importlib.metadata import distribution
from pathlib import PurePosixPath
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("uplot/static/uPlot.iife.js", "uplot/static/uPlot.min.css")


class Charts(BuildHookInterface):  # type: ignore[misc, type-arg]
    """The hook that hatchling calls for each wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Include the files, except in an editable checkout, which finds them itself."""
        if version == "editable":
            return
        installed = distribution("uplot-python")
        for name in FILES:
            target = f"lockgate_coordinator/dashboard/static/{PurePosixPath(name).name}"
            build_data["force_include"][str(installed.locate_file(name))] = target

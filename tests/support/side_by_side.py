"""Which tests one process of pytest-xdist runs: those of a file, and those of folders whose files
share a server that takes long to start.
"""

from xdist.scheduler import LoadFileScheduling

TOGETHER = (("tests/spark_server/", "tests/environments/"),)
"""Each of these needs the jar, and most of them a Connect server."""


def together(file: str) -> str:
    """Return the name of what one process runs with `file`."""
    return next((folders[0] for folders in TOGETHER if file.startswith(folders)), file)


class Files(LoadFileScheduling):  # type: ignore[misc]
    """`--dist loadfile`, with the folders of `TOGETHER`."""

    def _split_scope(self, nodeid: str) -> str:
        return together(super()._split_scope(nodeid))

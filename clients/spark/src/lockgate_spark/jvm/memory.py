"""Stores a short text for a query's next run, in the query's checkpoint folder."""

from contextlib import closing
from typing import Any

from py4j.protocol import Py4JJavaError


class CheckpointMemory:
    """The files `<name>0` and `<name>1` in `<checkpoint>/lockgate`. They are written in turn, so
    one of them is always complete, and no atomic rename is needed.
    """

    def __init__(self, execution: Any, jvm: Any, name: str = "") -> None:
        self._names = f"{name}0", f"{name}1"
        self._path = jvm.org.apache.hadoop.fs.Path
        self._folder = self._path(str(execution.resolvedCheckpointRoot()), "lockgate")
        self._files = self._folder.getFileSystem(execution.sparkSession().sessionState().newHadoopConf())
        self._io = jvm.org.apache.hadoop.io.IOUtils

    def read(self) -> list[str]:
        paths = [self._path(self._folder, name) for name in self._names]
        return [self._text(path) for path in paths if self._files.exists(path)]

    def write(self, number: int, text: str) -> None:
        with closing(self._files.create(self._path(self._folder, self._names[number % 2]), True)) as out:
            out.write(text.encode())

    def _text(self, path: Any) -> str:
        try:
            with closing(self._files.open(path)) as source:
                return bytes(self._io.readFullyToByteArray(source)).decode(errors="replace")
        except Py4JJavaError as error:  # a checksum that is wrong, for example
            return str(error.java_exception)

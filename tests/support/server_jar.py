"""The jar of `clients/spark-server`, as `release/jar.py` builds it."""

import importlib.util
import sys
from pathlib import Path

from support.imports import CHECKOUT


def built_jar(folder: Path) -> Path:
    """The jar, built into a folder."""
    sys.path.insert(0, str(CHECKOUT / "release"))
    try:
        spec = importlib.util.spec_from_file_location("release_jar", CHECKOUT / "release" / "jar.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(CHECKOUT / "release"))
    built: Path = module.build(folder)
    return built

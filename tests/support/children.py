"""Code that a child process of Python runs before its program, to give it a wrong clock, or a look
inside.
"""

import os
from pathlib import Path


def doing_first(folder: Path, code: str) -> dict[str, str]:
    """Environment variables with which a child that runs Python runs this code first; `folder` is
    its own.
    """
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])}

"""The fenced blocks of README and docs, in the order in which a reader meets them.

A comment on the line above a block says how it is tested, where its language does not.
`<!-- not run: REASON -->`: not at all. `<!-- output -->`: the block is what the Python block before
it prints. `<!-- words of: FOLDER -->`: it is a message, whose words are in the sources there.
`<!-- tested by: FILE -->`: that test reads the block off the page. `<!-- drawing -->`: there is
nothing to test. `<!-- not compared: REASON -->`: an output that differs each time.
`<!-- setup -->`: the block that pages share; it runs before those of each page that links to it.
`test_no_block_is_unchecked.py` has the rule.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.imports import CHECKOUT

OF_PACKAGES = [*sorted(CHECKOUT.glob("clients/*/README.md")), CHECKOUT / "services/coordinator/README.md"]
PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *OF_PACKAGES,
    *sorted((CHECKOUT / "docs").rglob("*.md")),
]
BLOCK = re.compile(
    r"^(?:<!-- (?P<comment>.*?) -->\n)?```(?P<language>\S*)[^\n]*\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE
)
QUICKSTART = CHECKOUT / "docs/quickstart.md"
LINK_TO_SETUP = "quickstart.md#common-setup-for-the-guides)"
CONTINUED = re.compile(r"\\\n\s*")
TOPIC = re.compile(r"kafka-topics\.sh\b.*--create\b.*--topic (\S+) --partitions (\d+)")


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is the page's line, from 1, where its text begins."""

    page: Path
    line: int
    language: str
    text: str
    comment: str

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.page.relative_to(CHECKOUT)}:{self.line}"

    @property
    def reason(self) -> str:
        """Why a test cannot run it; empty where one does."""
        return self.noted("not run")

    @property
    def interactive(self) -> bool:
        """It shows a Python prompt, and what is answered: a doctest."""
        return self.language == "python" and self.text.startswith(">>> ")

    def noted(self, kind: str) -> str:
        """What the comment says after `kind: `; empty where it says something else."""
        return self.comment.removeprefix(f"{kind}: ") if self.comment.startswith(f"{kind}: ") else ""

    def commands(self) -> list[str]:
        """The lines of a shell's block, each with those that continue it."""
        lines = CONTINUED.sub(" ", self.text).splitlines()
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def blocks(page: Path) -> list[Block]:
    """All blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = [(text.count("\n", 0, each.start("text")) + 1, each) for each in BLOCK.finditer(text)]
    return [Block(page, line, each["language"], each["text"], each["comment"] or "") for line, each in found]


def all_blocks(*languages: str) -> Iterator[Block]:
    """Those of all pages that are written in one of these languages; all without any."""
    return (block for page in PAGES for block in blocks(page) if not languages or block.language in languages)


def topics_of(page: Path) -> dict[str, int]:
    """The topics that a page's commands create, with their partitions."""
    found = (TOPIC.search(line) for block in blocks(page) for line in block.commands() if block.language == "bash")
    return {each[1]: int(each[2]) for each in found if each}


def setup_of(page: Path) -> list[Block]:
    """Return the block that runs before those of `page`, if the page links to it."""
    if LINK_TO_SETUP not in page.read_text(encoding="utf-8"):
        return []
    return [block for block in blocks(QUICKSTART) if block.comment == "setup"]

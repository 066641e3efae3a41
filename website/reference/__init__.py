"""The parts of pages that are made from the code: a page says where, in a comment of a line.

`<!-- from: lockgate_spark.align -->` becomes the signature and the docstring of that name,
`<!-- from: the commands of lockgate -->` what the command line says of itself, and
`<!-- from: the OpenAPI document -->` all routes and schemas of the service. So nothing of it can be
out of date. A forge does not show the comments; the headings around them it shows.
"""

import re

from website.reference import commands, python, rest

MADE = re.compile(r"^<!-- from: (.+) -->$", re.MULTILINE)
WHOLE = {"the commands of lockgate": commands.text, "the OpenAPI document": rest.text}


def completed(page: str) -> str:
    """The page with all that its comments ask for. Raises AttributeError and ImportError for a
    name that there is not.
    """

    def made(found: re.Match[str]) -> str:
        whole = WHOLE.get(found[1])
        return whole() if whole else python.text(found[1])

    return MADE.sub(made, page)


def names(page: str) -> list[str]:
    """The names of Python whose docstrings a page asks for."""
    return [name for name in MADE.findall(page) if name not in WHOLE]

"""The switches of the fast parts. All are on in service; tests and measurements turn them off."""

from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Fast:
    """True: the fast part is used; False: the plain way beside it. The package's docstring says
    what each part is.
    """

    lean_reports: bool = True
    whole_answers: bool = True
    redis_link: bool = True
    group_cache: bool = True
    gathering: bool = True
    claims: bool = True


PARTS = tuple(each.name for each in fields(Fast))


def without(parts: Sequence[str]) -> Fast:
    """All fast parts but these; `all` names every part. Raises `ValueError` for another name."""
    unknown = [part for part in parts if part not in (*PARTS, "all")]
    if unknown:
        raise ValueError(f"must be among {', '.join(PARTS)}, all; {unknown[0]!r} is not")
    return Fast(**{part: not ("all" in parts or part in parts) for part in PARTS})


PLAIN = without(["all"])
"""No fast part: the coordinator as its rules alone ask for."""

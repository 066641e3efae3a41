"""Texts beside a checkpoint that no release has written: whole ones with one place broken."""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

NUMBERS = [0, 1, -1, 2**31, 2**62, 2**63, -(2**63), 10**30]


def broken(whole: Any, atoms: Sequence[object] = (), names: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Texts like `whole`, of which one place is replaced, left out or added, or that are cut off;
    or any JSON.
    """
    atom = st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.sampled_from([*NUMBERS, *atoms])
    name = st.sampled_from([*names, "x", "", "-1", "format", "number"])
    anything = st.recursive(atom, lambda of: st.lists(of) | st.dictionaries(name, of, max_size=4), max_leaves=12)
    return st.one_of(
        anything.map(json.dumps),
        st.integers(0, len(json.dumps(whole)) - 1).map(lambda at: json.dumps(whole)[:at]),
        _with_one_place_broken(whole, atom | anything, name),
    )


@st.composite
def _with_one_place_broken(
    draw: st.DrawFn, whole: Any, values: st.SearchStrategy[object], names: st.SearchStrategy[str]
) -> str:
    found = deepcopy(whole)
    places = list(_places(found))
    inside, at = draw(st.sampled_from(places))
    way = draw(st.sampled_from(["replace", "leave out", "add"]))
    if way == "replace":
        inside[at] = draw(values)
    elif way == "leave out":
        del inside[at]
    elif isinstance(inside, list):
        inside.insert(at, draw(values))
    else:
        inside[draw(names)] = draw(values)
    return json.dumps(found)


def _places(of: Any) -> Any:
    inside = of.items() if isinstance(of, dict) else enumerate(of)
    for at, value in list(inside):
        yield of, at
        if isinstance(value, (dict, list)):
            yield from _places(value)

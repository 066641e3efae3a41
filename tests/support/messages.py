"""Messages of the protocol and their JSON, drawn by their definitions: no message and no field can
be forgotten.
"""

from dataclasses import is_dataclass, replace
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from lockgate.errors import InvalidValue
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.watermark import MAX, MIN
from lockgate.wire import events, split_events
from lockgate.wire.codec import ByName, Choice, Flag, Formed, Items, Message, Shape, Text, Whole, shape_of
from lockgate.wire.fields import NAME
from lockgate.wire.split_codec import split_from_text
from lockgate.wire.split_events import SplitExchange

KINDS: list[type[Any]] = [
    kind
    for module in (events, split_events)
    for kind in vars(module).values()
    if is_dataclass(kind) and isinstance(kind, type) and kind.__module__ == module.__name__
]

NAMES = st.from_regex(r"[A-Za-z0-9._:-]{1,255}", fullmatch=True).filter(NAME.match)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
EVENTS = st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers(MIN, MAX) | TEXTS, max_size=3)
SPLITS = st.builds(
    KafkaPartitionSplit,
    st.sampled_from(["orders", "pay.ments"]),
    st.integers(0, 2**31 - 1),
    st.integers(-3, MAX),
)
ODD: list[Any] = [None, True, -1, 0, MAX + 1, MIN - 1, 10**400, 1.0, 1e3, "", "a", "a/b", ".", "a\n", [], {}]


def drawn(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Return any message of this kind."""
    return _values(shape_of(kind))


def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """Return JSON with one value somewhere in it replaced, removed or added."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from([*value]))
        return {**value, key: spoiled(draw, value[key])}
    if isinstance(value, list) and value and draw(st.booleans()):
        return [*value[1:], spoiled(draw, value[0])]
    if isinstance(value, dict) and draw(st.booleans()):
        return {each: value[each] for each in [*value][1:]} | draw(st.sampled_from([{}, {"unknown": 1}, {"a/b": {}}]))
    return draw(st.sampled_from(ODD))


def _values(shape: Shape) -> st.SearchStrategy[Any]:
    match shape:
        case Whole(low, high):
            return st.integers(low, high) | st.sampled_from([low, high])
        case Flag():
            return st.booleans()
        case Text(least, most, pattern):
            return NAMES if pattern else TEXTS.filter(lambda text: least <= len(text) <= most)
        case Choice(members):
            return st.sampled_from([*members.values()])
        case Formed(form):
            return SPLITS if form.read is split_from_text else EVENTS
        case Items(item):
            return st.lists(_values(item), max_size=3).map(tuple)
        case ByName(key, item):
            return st.dictionaries(_values(key), _values(item), max_size=3)
        case Message(kind, fields):
            parts = {
                each.name: st.none() | _values(each.shape) if each.may_be_none else _values(each.shape)
                for each in fields
            }
            return st.fixed_dictionaries(parts).map(lambda values: _made(kind, values))
    raise AssertionError(shape)


def _made(kind: type[Any], values: dict[str, Any]) -> Any:
    if kind is SplitExchange and values["report"] is not None:
        values["report"] = replace(values["report"], epoch=values["epoch"])
    try:
        return kind(**values)
    except InvalidValue:
        reject()

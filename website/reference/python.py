"""What a public name says of itself: signature, docstring, fields, members."""

import dataclasses
import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

PLACES = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
AS_WRITTEN = {
    r"<function (\w+) at 0x[0-9a-f]+>": r"\1",
    r"<built-in function (\w+)>": r"\1",
    r"<(\w+\.\w+): [^>]+>": r"\1",
    r"\b9223372036854775807\b": "MAX",
    r"-9223372036854775808\b": "MIN",
    r"~(?=[A-Z])": "",
    r"'((?:[a-z_]+\.)*[A-Z]\w+(?:\[[^']*\])?(?: \| None)?)'": r"\1",
    r"\bdatetime\.": "",
    r"\((?:self|cls)(?:, )?": "(",
}
"""What Python shows of types and defaults, and how a person writes it."""
WIDE = 88


def text(name: str) -> str:
    """The entry of a function, a class or a module, such as `lockgate_spark.align`."""
    found = pkgutil.resolve_name(name)
    if name.count(".") == 1 and isinstance(found, ModuleType):
        found = getattr(importlib.import_module(name.partition(".")[0]), name.partition(".")[2])
    parts = [] if isinstance(found, ModuleType) else [f"```python\n{_signature(name.rpartition('.')[2], found)}\n```"]
    parts.append(_prose(found))
    if inspect.isclass(found):
        parts += [_fields(found), _members(found)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _prose(found: Any) -> str:
    """The docstring; what it sets apart by blanks is code."""
    return re.sub(r"(?m)^(?=[-*] )", "\n", inspect.getdoc(found) or "", count=1).strip()


def _signature(name: str, found: Any) -> str:
    """As one writes the call, broken where it is wide. A class with fields has them in a table."""
    if inspect.isclass(found) and (dataclasses.is_dataclass(found) or issubclass(found, enum.Enum | Exception)):
        bases = [base.__name__ for base in found.__bases__ if base is not object and not base.__name__.startswith("_")]
        return f"class {name}" + (f"({', '.join(bases)})" if bases else "")
    called = inspect.signature(found)
    if inspect.isclass(found):  # its own __new__ may only check what it is given
        made = inspect.signature(found.__init__)
        called = made.replace(parameters=list(made.parameters.values())[1:], return_annotation=made.empty)
    one_line = f"{name}{_plain(str(called))}"
    if len(one_line) <= WIDE:
        return one_line
    parameters = [f"    {shown},\n" for shown in _parameters(called)]
    answer = "" if called.return_annotation is called.empty else f" -> {_plain(_type(called.return_annotation))}"
    return f"{name}(\n{''.join(parameters)}){answer}"


def _parameters(called: inspect.Signature) -> Iterator[str]:
    """Each as it is written, with the star before those that go by name alone."""
    kinds = [each.kind for each in called.parameters.values()]
    named = kinds.index(inspect.Parameter.KEYWORD_ONLY) if inspect.Parameter.KEYWORD_ONLY in kinds else None
    for place, each in enumerate(called.parameters.values()):
        if place == named and inspect.Parameter.VAR_POSITIONAL not in kinds:
            yield "*"
        yield _plain(str(each))


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _plain(written: str) -> str:
    """Without the modules of types, and without what only Python's memory knows."""
    for shown, meant in AS_WRITTEN.items():
        written = re.sub(shown, meant, written)
    return PLACES.sub("", written)


def _fields(found: type) -> str:
    """A table of the fields of a dataclass, or of the members of an Enum."""
    if issubclass(found, enum.Enum):
        return "\n".join(["| member | value |", "|---|---|", *(f"| `{one.name}` | `{one.value!r}` |" for one in found)])
    if not dataclasses.is_dataclass(found):
        return ""
    rows = [
        f"| `{each.name}` | `{_plain(_type(each.type)).replace('|', chr(92) + '|')}` | {_default(each)} |"
        for each in dataclasses.fields(found)
        if not each.name.startswith("_")
    ]
    return "\n".join(["| field | type | default |", "|---|---|---|", *rows]) if rows else ""


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{_plain(repr(field.default))}`"
    return "made anew" if field.default_factory is not dataclasses.MISSING else "to be given"


def _members(found: type) -> str:
    """The public properties and methods, each with its docstring."""
    return "\n".join(f"- {line}" for line in _described(found))


def _described(found: type) -> Iterator[str]:
    for name, value in vars(found).items():
        value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        says = " ".join((inspect.getdoc(value) or "").split())
        if name.startswith("_") or name in getattr(found, "__dataclass_fields__", {}) or issubclass(found, enum.Enum):
            continue
        if isinstance(value, property):
            yield f"`{name}`: {says}"
        elif inspect.isfunction(value):
            yield f"`{name}{_plain(str(inspect.signature(value)))}`: {says}"

"""Draws the rooms of all packages, and the arrows between them, from the imports in the sources.

`PYTHONPATH=tests python -m support.rooms` writes `docs/pictures/rooms.svg`, which
`docs/internals/architecture.md` shows. A room is a folder of a package. The modules at a package's
root are
two more rooms: the *ways in* import rooms, the *floor* imports none. The picture leaves out an
arrow where a longer way through other arrows says the same. An arrow that points up is red.

A room may stand beside the layers: its parts replace plain ones of several layers, so imports go
both ways. The picture has it at the side, with the names of its users and without arrows.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from support.imports import CHECKOUT, SOURCES, imports_of, modules

PICTURE = CHECKOUT / "docs/pictures/rooms.svg"
WAYS_IN, FLOOR, MODULES = "ways in", "floor", "modules"
SHIPPED = ("lockgate_reader", "lockgate_spark", "lockgate_http", "lockgate_cli", "lockgate_coordinator")
BESIDE = {"lockgate_coordinator": ("fast",)}

Arrows = Mapping[str, frozenset[str]]

# Sizes in pixels. A letter of the small font is about 6 wide.
_LETTER, _LINE, _TITLE, _PAD, _GAP, _RISE = 6.1, 14, 30, 10, 30, 40
_FRAME_GAP, _FRAME_TITLE = 60, 30
_COLOURS = {
    "lockgate": "#e6f0e1",
    "lockgate_coordinator": "#e1ecf4",
    "lockgate_spark": "#f6ecdc",
    "lockgate_http": "#f3e4ee",
    "lockgate_cli": "#f4e6e1",
    "lockgate_reader": "#ece1f4",
    "lockgate_testbed": "#eeeeee",
}


@dataclass(frozen=True)
class Room:
    """`modules`: their names below the package, `sql.text` for one in a room's own folder.
    `users`: of a room beside the layers.
    """

    package: str
    name: str
    modules: tuple[str, ...]
    users: tuple[str, ...] = ()

    @property
    def columns(self) -> list[Sequence[str]]:
        """The modules as they are written, in four columns at most."""
        count = min(4, -(-len(self.modules) // 7))
        height = -(-len(self.modules) // count)
        return [self.modules[at : at + height] for at in range(0, len(self.modules), height)]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of its box."""
        wide = sum(max(map(len, column)) * _LETTER + 14 for column in self.columns)
        high = (max(map(len, self.columns)) + len(self.notes)) * _LINE
        least = max([len(self.name) * 9, *(len(note) * _LETTER for note in self.notes)])
        return max(wide, least) + 2 * _PAD - 14, high + _TITLE + _PAD

    @property
    def notes(self) -> list[str]:
        """The lines below its modules."""
        return ["", "used by", *self.users] if self.users else []


@dataclass(frozen=True)
class Box:
    """A room at its place in the picture."""

    room: Room
    x: float
    y: float

    @property
    def middle(self) -> float:
        """Where its middle is, from the left."""
        return self.x + self.room.size[0] / 2

    @property
    def bottom(self) -> float:
        """Where its lower edge is."""
        return self.y + self.room.size[1]


def folder_of(module: str) -> str:
    """The package's folder that a module is in; "" at its root."""
    parts = module.split(".")
    within = len(parts) > 1 and (SOURCES[parts[0]] / parts[0] / parts[1]).is_dir()
    return parts[1] if within else ""


@functools.cache
def room_of(module: str) -> str:
    """The name of the room that a module is in."""
    package = module.split(".")[0]
    if folder_of(module):
        return folder_of(module)
    used = {i.imported for i in imports_of(package) if i.importer == module and i.imported.split(".")[0] == package}
    layers = {other for other in used - {module, package} if folder_of(other) not in BESIDE.get(package, ())}
    above = any(folder_of(other) or room_of(other) == WAYS_IN for other in layers)
    return WAYS_IN if above else FLOOR if any(map(folder_of, _of_package(package))) else MODULES


@functools.cache
def rooms(package: str) -> dict[str, Room]:
    """The rooms of a package, by name."""
    within: dict[str, list[str]] = {}
    for module in _of_package(package):
        below = module.split(".")[1:]
        if modules()[module].name != "__init__.py":
            within.setdefault(room_of(module), []).append(".".join(below[1:] if folder_of(module) else below))
    return {name: Room(package, name, tuple(those)) for name, those in within.items()}


def beside(package: str) -> list[Room]:
    """The rooms beside the layers."""
    names = [name for name in BESIDE.get(package, ()) if name in rooms(package)]
    users = {name: tuple(sorted(a for a, b in _between(package) if b == name)) for name in names}
    return [replace(rooms(package)[name], users=users[name]) for name in names]


def _of_package(package: str) -> list[str]:
    return sorted(module for module in modules() if module.split(".")[0] == package)


@functools.cache
def arrows(package: str) -> Arrows:
    """Each room in the layers of a package with the rooms there that it imports."""
    beside = BESIDE.get(package, ())
    found: dict[str, set[str]] = {name: set() for name in rooms(package) if name not in beside}
    for importer, imported in _between(package):
        if importer in found and imported in found:
            found[importer].add(imported)
    return {name: frozenset(used) for name, used in found.items()}


def _between(package: str) -> set[tuple[str, str]]:
    """The imports from one room of a package to another one."""
    ends = {(each.importer, each.imported) for each in imports_of(package) if package != each.importer}
    within = [pair for pair in ends if pair[1].startswith(f"{package}.")]
    return {pair for pair in ((room_of(a), room_of(b)) for a, b in within) if pair[0] != pair[1]}


def core_rooms_used(package: str) -> frozenset[str]:
    """The rooms of the core that another package imports, but for its floor."""
    used = {room_of(i.imported) for i in imports_of(package) if i.imported.split(".")[0] == "lockgate"}
    return frozenset(used - {FLOOR})


def downward(of: Arrows) -> Arrows:
    """The arrows without those that close a circle, seen from the ways in."""
    found: dict[str, frozenset[str]] = {}

    def follow(name: str, above: frozenset[str]) -> None:
        found[name] = of[name] - above
        for other in sorted(found[name]):
            if other not in found:
                follow(other, above | {other})

    for name in sorted(of, key=lambda name: (name != WAYS_IN, name)):
        if name not in found:
            follow(name, frozenset({name}))
    return found


def shortest(of: Arrows) -> Arrows:
    """The arrows without those that a longer way replaces. `of` has no circle."""

    def behind(name: str) -> frozenset[str]:
        return of[name].union(*map(behind, of[name]))

    return {name: used - frozenset().union(*map(behind, used)) for name, used in of.items()}


def rows(package: str) -> list[list[Room]]:
    """The rooms of a package from top to bottom, each as high as its users let it be. Rooms of the
    core that other packages use are at the top, below those packages.
    """
    of = shortest(downward(arrows(package)))

    def users(name: str) -> list[int]:
        return [at for at, other in enumerate(SHIPPED) if package == "lockgate" and name in core_rooms_used(other)]

    def row(name: str) -> int:
        above = [row(user) for user, used in of.items() if name in used]
        return 0 if users(name) or not above else 1 + max(above)

    def side(name: str) -> float:
        return sum(users(name)) / len(users(name)) if users(name) else len(SHIPPED)

    found: list[list[Room]] = [[] for _ in range(1 + max(map(row, of)))]
    for name in sorted(of, key=lambda name: (side(name), name)):
        found[row(name)].append(rooms(package)[name])
    return found


def frame(package: str, left: float, top: float) -> tuple[list[Box], float, float]:
    """The boxes of a package, with the right and the lower edge of its frame."""
    wide = max(sum(room.size[0] + _GAP for room in row) - _GAP for row in rows(package))
    boxes, y = list[Box](), top + _FRAME_TITLE
    for row in rows(package):
        gap = (wide - sum(room.size[0] for room in row)) / (len(row) + 1)
        x = left + _PAD + gap
        for room in row:
            boxes.append(Box(room, x, y))
            x += room.size[0] + gap
        y += max(room.size[1] for room in row) + _RISE
    right, aside = left + wide + 2 * _PAD, top + _FRAME_TITLE
    for room in beside(package):
        boxes.append(Box(room, right, aside))
        aside += room.size[1] + _RISE
    right += max((room.size[0] + 2 * _PAD for room in beside(package)), default=0)
    return boxes, right, max(y, aside) - _RISE + _PAD


def svg() -> str:
    """The whole picture: the core below, above it the packages that use it and the test bed."""
    left, parts, edges, bottom = 10.0, list[str](), dict[str, tuple[float, float]](), 0.0
    upper = [*SHIPPED, "lockgate_testbed"]
    for package in upper:
        bottom = max(bottom, frame(package, left, 10)[2])
    for package in upper:
        boxes, right, end = frame(package, left, 10)
        low = bottom if package in SHIPPED else end
        parts += [*_frame(package, left, 10, right, low), *_within(boxes), *map(_box, boxes)]
        edges[package] = left, right
        left = right + _FRAME_GAP
    core, right, end = frame("lockgate", 10, bottom + _FRAME_GAP)
    parts += [*_frame("lockgate", 10, bottom + _FRAME_GAP, right, end), *_within(core)]
    for package in SHIPPED:
        parts += _to_core(package, core, bottom, edges[package])
    parts += map(_box, core)
    return _head(max(left - _FRAME_GAP, right) + 10, end + 10) + "\n".join(parts) + "\n</svg>\n"


def _head(wide: float, high: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" '
        f'height="{high:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="10" markerHeight="10" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>\n'
        f'<rect width="{wide:.0f}" height="{high:.0f}" fill="white"/>\n'
    )


def _frame(package: str, left: float, top: float, right: float, bottom: float) -> Iterator[str]:
    folder = SOURCES[package].parent.relative_to(CHECKOUT)
    size = f'width="{right - left:.0f}" height="{bottom - top:.0f}"'
    colour = f'fill="{_COLOURS[package]}" stroke="#bbb"'
    yield f'<rect x="{left:.0f}" y="{top:.0f}" {size} rx="6" {colour}/>'
    # arrows end at the core's upper edge
    title_y = bottom - _PAD if package == "lockgate" else top + 19
    yield _text(left + _PAD, title_y, f"{folder}  ·  {package}", 14, "#333", bold=True)


def _box(box: Box) -> str:
    wide, high = box.room.size
    lines = [
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{wide:.0f}" height="{high:.0f}" rx="4" fill="white" '
        'stroke="#777"/>',
        _text(box.x + _PAD, box.y + 19, box.room.name, 14, "#000", bold=True),
    ]
    x = box.x + _PAD
    for column in box.room.columns:
        lines += [_text(x, box.y + _TITLE + 8 + n * _LINE, name, 11, "#444") for n, name in enumerate(column)]
        x += max(map(len, column)) * _LETTER + 14
    notes_y = box.y + _TITLE + 8 + max(map(len, box.room.columns)) * _LINE
    lines += [_text(box.x + _PAD, notes_y + n * _LINE, note, 11, "#777") for n, note in enumerate(box.room.notes)]
    return "\n".join(lines)


def _within(boxes: Iterable[Box]) -> Iterator[str]:
    at = {box.room.name: box for box in boxes}
    package = next(iter(at.values())).room.package
    down = downward(arrows(package))
    for name, used in sorted(arrows(package).items()):
        for up in sorted(used - down[name]):
            yield _arrow(at[name].middle, at[name].y, at[up].middle, at[up].bottom, colour="#c00")
    for name, used in sorted(shortest(down).items()):
        ends = sorted((at[other] for other in used), key=lambda box: box.middle)
        for n, end in enumerate(ends, 1):
            start = at[name].x + at[name].room.size[0] * n / (len(ends) + 1)
            if end.y == at[name].y:
                yield _arrow(at[name].x, end.y + _TITLE, end.x + end.room.size[0], end.y + _TITLE)
            else:
                yield _arrow(start, at[name].bottom, end.middle, end.y)


def _to_core(package: str, core: Iterable[Box], top: float, edges: tuple[float, float]) -> Iterator[str]:
    ends = sorted((box for box in core if box.room.name in core_rooms_used(package)), key=lambda box: box.middle)
    for n, end in enumerate(ends, 1):
        start = edges[0] + (edges[1] - edges[0]) * n / (len(ends) + 1)
        yield _arrow(start, top, end.middle, end.y, 2.2)


def _arrow(x: float, y: float, to_x: float, to_y: float, wide: float = 1.3, colour: str = "#555") -> str:
    bend = (to_y - y) / 2
    way = f"M{x:.0f},{y:.0f} C{x:.0f},{y + bend:.0f} {to_x:.0f},{to_y - bend:.0f} {to_x:.0f},{to_y:.0f}"
    return f'<path d="{way}" fill="none" stroke="{colour}" stroke-width="{wide}" marker-end="url(#head)"/>'


def _text(x: float, y: float, text: str, size: int, colour: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}"{weight}>{escape(text)}</text>'


def main(to: Path = PICTURE) -> None:
    """Writes the picture."""
    to.write_text(svg(), encoding="utf-8")


if __name__ == "__main__":
    main()

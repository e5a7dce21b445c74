"""The sheets that explain a device: what throws mean, where a pointer stops, and what letters mean."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from maskwell.core.phrases import Printed
from maskwell.errors import TooLargeError
from maskwell.procedures.decks import Deck
from maskwell.procedures.dice_spinner import DiceTable, Sector, Spinner, faces_in_words
from maskwell.procedures.realisation import Device
from maskwell.reports.device.device_words import in_one_table, is_direct
from maskwell.reports.device.paper_cards import ROW, SHEET, Face, faces_of, height, letter, pages

GRID_FACES = 12
COIN_OUTCOMES = 64
ROOM, SPINNER = 220.0, 155.0  # millimetres below the heading, and of the drawing
_EDGE, _BOX = 4.5, 9.0  # millimetres around a line of a table, and around a box


@dataclass(frozen=True)
class Entry:
    """A letter with its meaning, and for a spinner the limits of its field."""

    name: str
    face: Face
    where: str = ""


@dataclass(frozen=True)
class Part:
    """One sheet: a heading, the table of throws or the spinner, and letters."""

    heading: str
    throws: dict[str, Any] | None = None
    spinner: bool = False
    letters: list[Entry] = field(default_factory=list)
    in_one_table: bool = False


def explained(device: Device) -> list[Part]:
    """The sheets that explain throws or fields; none where the first sheet holds them, or where there are cards."""
    if device.spinner is not None:
        drawing = Part("Spinner", spinner=True)
        return _with_letters([drawing], _entries(device), device.deck, ROOM - SPINNER)
    if device.dice is None or is_direct(device.dice):
        return []
    heading = f"What the {'coins' if device.dice.faces == 2 else 'dice'} mean"
    throws = throws_of(device.dice)
    tables = [throws]
    if throws["kind"] != "square":  # a long list goes on on further sheets
        groups = pages(throws["rows"], map(_row, throws["rows"]), first=ROOM - 8, room=ROOM - 8)
        tables = [{**throws, "rows": group} for group in groups]
        tall = 14.0 + sum(map(_row, tables[-1]["rows"]))
    else:
        tall = 14.0 + (device.dice.faces + 1) * (11.0 if device.dice.faces > 8 else 14.0)
    parts = [Part(heading, throws=table) for table in tables]
    return _with_letters(parts, _entries(device), device.deck, ROOM - tall)


def _entries(device: Device) -> list[Entry]:
    faces = faces_of(device.deck)
    if device.spinner is None:
        return [Entry(letter(i), face) for i, face in enumerate(faces)]
    fields = [f"{tenths(s.start)}° to {tenths(s.stop)}°" for s in device.spinner.sectors]
    return [Entry(letter(i), face, where) for i, (face, where) in enumerate(zip(faces, fields, strict=True))]


def _with_letters(parts: list[Part], entries: list[Entry], deck: Deck, first: float) -> list[Part]:
    """All letters below the last sheet where they fit, else on sheets of their own."""
    table = in_one_table(deck)
    if table:  # the head of the table stands with its first line
        width = (SHEET[0] - 16 - 34 * any(entry.where for entry in entries)) / len(entries[0].face.rows) - 4
        tall = [max(height(said, width, ROW) for _, said in entry.face.rows) + _EDGE for entry in entries]
        tall[0] += max(height(truth, width, ROW) for truth, _ in entries[0].face.rows) + _EDGE
    else:  # two boxes stand side by side, the first of which adds to the column
        boxes = [one.face.height((SHEET[0] - 8) / 2 - 3) - 12 + _BOX + 5 * bool(one.where) for one in entries]
        tall = [0.0 if i % 2 else max(boxes[i : i + 2]) for i in range(len(boxes))]
    room = first if sum(tall) <= first else 0.0
    groups = pages(entries, tall, first=room, room=ROOM)
    last = parts[-1]
    below = Part(last.heading, last.throws, last.spinner, groups[0], table)
    return [*parts[:-1], below, *(Part("What the letters mean", None, False, group, table) for group in groups[1:])]


def throws_of(table: DiceTable) -> dict[str, Any]:
    """The table of throws: sums, a square of two dice, lists of coins, or ranges of numbers."""
    sums, faces = table.sums(), faces_of(table.deck)
    throws: list[tuple[str, int | None]]
    if sums is None and table.faces != 2 and table.dice == 2 and table.faces <= GRID_FACES:
        cells = [_meaning(run.kind) for run in table.runs() for _ in range(run.first, run.last + 1)]
        size = table.faces
        return {
            "kind": "square",
            "rows": [(row + 1, cells[row * size : (row + 1) * size]) for row in range(size)],
            "faces": range(1, table.faces + 1),
        }
    if sums is not None:
        head, throws = "Sum", [(_range(low, high), kind) for low, high, kind in sums]
    elif table.faces == 2:
        if table.outcomes > COIN_OUTCOMES:
            raise TooLargeError("coins-have-outcomes-too-many", dice=table.dice, outcomes=table.outcomes)
        tossed = ["".join("HT"[face - 1] for face in table.shown(outcome)) for outcome in range(table.outcomes)]
        head = "Coins: H heads, T tails"
        throws = [(", ".join(tossed[run.first : run.last + 1]), run.kind) for run in table.runs()]
    else:
        runs = [(faces_in_words(table, run.first), faces_in_words(table, run.last), run.kind) for run in table.runs()]
        head = "The die shows" if table.dice == 1 else "The dice in order"
        throws = [(first if first == last else f"{first} to {last}", kind) for first, last, kind in runs]
    rows = [(throw, _meaning(kind), None if kind is None else faces[kind]) for throw, kind in throws]
    return {"kind": "list", "head": head, "rows": rows}


def _range(low: int, high: int) -> str:
    """Numbers from low to high in words."""
    return str(low) if low == high else f"{low} or {high}" if high == low + 1 else f"{low} to {high}"


def _meaning(kind: int | None) -> str:
    return "again" if kind is None else letter(kind)


def _row(row: tuple[str, str, Face | None]) -> float:
    return 4.0 + height(row[0], SHEET[0] - 30, (2.9, 7.2))


RADIUS, EDGE = 72.0, 80.0  # millimetres
TINTS = ("#ffffff", "#e4e4e4")


def spinner_svg(spinner: Spinner) -> str:
    """The drawing, 160 mm wide; black and two tints, every sector with its letter."""
    sectors = spinner.sectors
    parts = [_filled(sector, len(sectors)) for sector in sectors]
    parts += [_tick(degree) for degree in range(0, 360, 10)]
    parts += [_letter(sector) for sector in sectors]
    size = 2 * EDGE
    words = "; ".join(f"{letter(s.kind)} from {tenths(s.start)} to {tenths(s.stop)} degrees" for s in sectors)
    return (
        f'<svg class="spinner" xmlns="http://www.w3.org/2000/svg" viewBox="{-EDGE} {-EDGE} {size} {size}" '
        f'width="{size:g}mm" height="{size:g}mm" role="img" aria-label="Spinner: {html.escape(words)}">'
        f'{"".join(parts)}<circle r="{RADIUS}" fill="none" stroke="#000" stroke-width="0.7"/>'
        '<circle r="1.2" fill="#000"/></svg>'
    )


def tenths(degrees: Fraction) -> str:
    """Degrees to a tenth."""
    return f"{float(round(10 * degrees)) / 10:g}"


def _point(degrees: Fraction | float, radius: float) -> str:
    angle = math.radians(float(degrees))
    return f"{Printed(radius * math.sin(angle)):.3f} {Printed(-radius * math.cos(angle)):.3f}"


def _filled(sector: Sector, count: int) -> str:
    odd_one = count % 2 and sector.kind == count - 1 and count > 1  # the last would touch the first in the same tint
    tint = "#c9c9c9" if odd_one else TINTS[sector.kind % 2]
    if sector.degrees == 360:
        return f'<circle r="{RADIUS}" fill="{tint}"/>'
    large = int(sector.degrees > 180)
    arc = f"M 0 0 L {_point(sector.start, RADIUS)} A {RADIUS} {RADIUS} 0 {large} 1 {_point(sector.stop, RADIUS)} Z"
    return f'<path d="{arc}" fill="{tint}" stroke="#000" stroke-width="0.4"/>'


def _tick(degree: int) -> str:
    long = degree % 30 == 0
    (x1, y1), (x2, y2) = (_point(degree, radius).split() for radius in (RADIUS, RADIUS + (3 if long else 1.6)))
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#000" stroke-width="0.25"/>'
    if not long:
        return line
    x, y = _point(degree, RADIUS + 5.5).split()
    return f'{line}<text x="{x}" y="{y}" font-size="3" text-anchor="middle" dominant-baseline="central">{degree}</text>'


def _letter(sector: Sector) -> str:
    middle = (sector.start + sector.stop) / 2
    x, y = ("0", "0") if sector.degrees == 360 else _point(middle, RADIUS * 0.68).split()
    size = max(4.0, min(14.0, float(sector.degrees) / 4))
    style = 'text-anchor="middle" dominant-baseline="central" font-weight="600"'
    return f'<text x="{x}" y="{y}" font-size="{size:.1f}" {style}>{letter(sector.kind)}</text>'

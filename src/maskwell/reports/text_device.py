"""A device as text for a terminal: what it is, what it realises, and what to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from maskwell.core.exact import to_decimal
from maskwell.core.phrases import Printed
from maskwell.privacy.criteria import stands_for
from maskwell.procedures.dice_spinner import DiceTable, faces_in_words
from maskwell.procedures.realisation import Device
from maskwell.reports.device_cards import faces_of, letter
from maskwell.reports.device_record import assigned
from maskwell.reports.spinner_drawing import tenths
from maskwell.reports.tables import WIDTH as COLUMNS
from maskwell.reports.tables import broken, counted, facts, notes, parity_text, shorten

SHOWN_KINDS = 20
WIDTH = 64


def device_text(
    device: Device, path: str, *, output: str | None, realised: str | None, remarks: Sequence[str], command: str
) -> list[str]:
    """What was made; ``command`` is what was typed, for the line that says what comes next."""
    written = "" if output is None else f", written to {output}"
    return [
        *broken(f"{_thing(device)} {_nearness(device, path)}{written}."),
        *facts(_facts(device, realised)),
        *_shown(device),
        *notes([*device.warnings(), *_as_private(device), *remarks]),
        f"Next: {_next(device, path, output, realised, command)}",
    ]


def _as_private(device: Device) -> list[str]:
    return ["--not-less-private rounds to the side of privacy"] if device.general.less_private else []


def _nearness(device: Device, path: str) -> str:
    return f"realises {path} exactly" if device.general.exact else f"realises a design near {path}"


def _thing(device: Device) -> str:
    """The device at the start of a sentence."""
    cards = counted(device.deck.size, "card", "cards")
    kinds = counted(device.deck.kinds, "kind", "kinds")
    if device.procedure is not None:
        return _PROCEDURES[device.procedure.family]
    if device.dice is not None:
        coins = device.dice.faces == 2
        number = device.dice.dice
        one, more = ("A coin", "coins") if coins else (f"A die of {device.dice.faces} faces", "dice")
        return one if number == 1 else f"A table for {number} {more}"
    return f"A deck of {cards} of {kinds}" if device.spinner is None else f"A spinner of {device.deck.kinds} fields"


_PROCEDURES = {
    "crosswise": "A sheet with two questions",
    "triangular": "A sheet with two questions",
    "simmons": "A sheet with two questions and a deck of cards",
    "soberanis-cruz": "A sheet with two questions and a deck of cards",
    "mangat-singh-singh": "A sheet with two questions and a deck of cards",
    "simmons-twice": "A sheet with two questions and two boxes of cards",
    "mangat-singh-singh-twice": "A sheet with two questions and two boxes of cards",
    "greenberg-statements": "A sheet with two questions and a deck of statements",
    "kuk": "A pair of decks",
    "chow": "An urn of two colours",
}


def _facts(device: Device, realised: str | None) -> list[tuple[str, str]]:
    exact = device.general.exact
    general = device.general
    found, wished = (parity_text(stands_for(design)) for design in (general.realised, general.wish))
    shown = [("parity", found if exact else f"{found}, where {wished} was asked for")]
    if not exact:
        shown.append(("largest error", f"{Printed(float(device.general.error)):.3g}"))
    if device.dice is not None:
        rolls = to_decimal(Fraction(round(1000 * device.dice.expected_rolls), 1000))
        shown.append(("expected rolls", rolls))
    if device.procedure is not None or general.kinds != device.deck.kinds:
        kinds = counted(general.kinds, "kind", "kinds")
        shown.append(("as plain cards", f"{counted(general.size, 'card', 'cards')} of {kinds} (--general)"))
    together = device.realised.provenance.get("samples")
    shown += [("samples", str(together))] if together else []
    return shown + ([("realised design", realised)] if realised else [])


def _shown(device: Device) -> list[str]:
    """The kinds of cards, what throws mean, or the fields of a spinner."""
    if device.procedure is not None:
        return []
    faces = faces_of(device.deck)
    said = [shorten(face.in_short(), WIDTH) for face in faces]
    if device.dice is not None:
        return _limited(*_thrown(device.dice, said))
    if device.spinner is not None:
        rows = [
            [letter(s.kind), tenths(s.start), tenths(s.stop), said[s.kind]]
            for s in device.spinner.sectors[:SHOWN_KINDS]
        ]
        return _left(["field", "from °", "to °", "instruction"], rows)
    rows = [[str(face.copies), text] for face, text in zip(faces, said, strict=True)]
    return _limited(["cards", "instruction"], rows)


def _thrown(throws: DiceTable, said: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    sums = throws.sums()
    if sums is not None:
        return ["sum", "instruction"], [
            [f"{low} to {high}" if high > low else str(low), said[k]] for low, high, k in sums
        ]
    rows = []
    for run in throws.runs():
        first, last = faces_in_words(throws, run.first), faces_in_words(throws, run.last)
        shown = first if first == last else f"{first} to {last}"
        rows.append([shown, "roll again" if run.kind is None else said[run.kind]])
    return ["in order", "instruction"], rows


def _limited(header: list[str], rows: list[list[str]]) -> list[str]:
    more = len(rows) - SHOWN_KINDS
    rest = [f"  ... and {more} more kinds: --json gives all"] if more > 0 else []
    return [*_left(header, rows[:SHOWN_KINDS]), *rest]


def _left(header: list[str], rows: list[list[str]]) -> list[str]:
    """A table of texts, all to the left.

    >>> _left(["sum", "instruction"], [["2 to 4", "Say “yes”."]])
    ['  sum     instruction', '  2 to 4  Say “yes”.']
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = (zip(row, widths, strict=True) for row in [header, *rows])
    return [("  " + "  ".join(cell.ljust(width) for cell, width in line)).rstrip() for line in lines]


def _next(device: Device, path: str, output: str | None, realised: str | None, command: str) -> str:
    if not device.general.exact and realised is None:
        return _fitting("keep the design that it realises", command, "--realised realised.json")
    if output is None:
        return _fitting("sheets to print", command, "-o sheets.html")
    estimate = f"maskwell estimate ANSWERS.csv --design {assigned(device.realised, 'COLUMN', realised or path)}"
    whole = f"print it from a browser; later: {estimate}"
    return whole if len(whole) + len("Next: ") <= COLUMNS else f"print it; later: {estimate}"


def _fitting(what: str, command: str, more: str) -> str:
    """A command with one more option, or that option alone where the line would be too long."""
    whole = f"{what}: {command} {more}"
    return whole if len(whole) + len("Next: ") <= COLUMNS else f"{what}: the same with {more}"

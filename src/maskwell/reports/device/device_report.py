"""A device in words: what it is, what it realises, how its answers are estimated from, and what to do with it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import parity_text, to_decimal, to_text
from maskwell.core.phrases import Printed, option
from maskwell.designs.design import Design
from maskwell.privacy.criteria import stands_for
from maskwell.procedures.decks import report_labels, truth_labels
from maskwell.procedures.dice_spinner import DiceTable, faces_in_words
from maskwell.procedures.realisation import Device
from maskwell.reports.device.legend_sheets import tenths
from maskwell.reports.device.paper_cards import faces_of, letter
from maskwell.reports.plain_words import counted, factor_up, gives_all, promise
from maskwell.reports.report import WIDTH, Block, Facts, Grid, Notes, Report

SHOWN_KINDS = 20


def device_report(
    device: Device, path: str, *, output: str | None, realised: str | None, remarks: Sequence[str], command: str
) -> Report:
    """What was made; ``command`` is what was typed, for the line that says what comes next."""
    nearness = f"realises {path} exactly" if device.general.exact else f"realises a design near {path}"
    written = "" if output is None else f", written to {output}"
    notes = [
        *device.warnings(),
        *([f"{option('not_less_private')} rounds to the side of privacy"] if device.general.less_private else []),
        *remarks,
    ]
    if not device.general.exact and realised is None:
        following = _fitting("save the design that it realises", command, "--realised realised.json")
    elif output is None:
        following = _fitting("sheets to print", command, "-o sheets.html")
    else:
        estimate = f"maskwell estimate ANSWERS.csv --design {assigned(device.realised, 'COLUMN', realised or path)}"
        whole = f"print it from a browser; later: {estimate}"
        following = whole if len(whole) + len("Next: ") <= WIDTH else f"print it; later: {estimate}"
    body: list[Block] = [Facts(_facts(device, realised)), *_instructions(device), Notes(notes)]
    return Report(f"{_thing(device)} {nearness}{written}.", body, next_step=following)


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
    **dict.fromkeys(("crosswise", "triangular"), "A sheet with two questions"),
    **dict.fromkeys(
        ("simmons", "soberanis-cruz", "mangat-singh-singh"), "A sheet with two questions and a deck of cards"
    ),
    **dict.fromkeys(("simmons-twice", "mangat-singh-singh-twice"), "A sheet with two questions and two boxes of cards"),
    "greenberg-statements": "A sheet with two questions and a deck of statements",
    "kuk": "A pair of decks",
    "chow": "An urn of two colours",
}


def _facts(device: Device, realised: str | None) -> list[tuple[str, str]]:
    general, exact = device.general, device.general.exact
    parity, wished = (parity_text(stands_for(design)) for design in (general.realised, general.wish))
    facts = [("parity", parity if exact else f"{parity}, where {wished} was asked for")]
    if not exact:
        facts.append(("largest error", f"{Printed(float(device.general.error)):.3g}"))
    if device.dice is not None:
        facts.append(("expected rolls", to_decimal(Fraction(round(1000 * device.dice.expected_rolls), 1000))))
    if device.procedure is not None or general.kinds != device.deck.kinds:
        kinds = counted(general.kinds, "kind", "kinds")
        facts.append(("as plain cards", f"{counted(general.size, 'card', 'cards')} of {kinds} ({option('general')})"))
    together = device.realised.provenance.get("samples")
    facts += [("samples", str(together))] if together else []
    return facts + ([("realised design", realised)] if realised else [])


def _instructions(device: Device) -> list[Grid]:
    """The kinds of cards, what throws mean, or the fields of a spinner."""
    if device.procedure is not None:
        return []
    faces = faces_of(device.deck)
    said = [face.in_short() for face in faces]
    if device.dice is not None:
        return [_limited(*_thrown(device.dice, said))]
    if device.spinner is not None:
        rows = [
            [letter(s.kind), tenths(s.start), tenths(s.stop), said[s.kind]]
            for s in device.spinner.sectors[:SHOWN_KINDS]
        ]
        return [Grid(["field", "from °", "to °", "instruction"], rows, texts=True)]
    rows = [[str(face.copies), text] for face, text in zip(faces, said, strict=True)]
    return [_limited(["cards", "instruction"], rows)]


def _thrown(throws: DiceTable, said: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    sums = throws.sums()
    if sums is not None:
        return ["sum", "instruction"], [
            [f"{low} to {high}" if high > low else str(low), said[k]] for low, high, k in sums
        ]
    rows = []
    for run in throws.runs():
        first, last = faces_in_words(throws, run.first), faces_in_words(throws, run.last)
        throws_text = first if first == last else f"{first} to {last}"
        rows.append([throws_text, "roll again" if run.kind is None else said[run.kind]])
    return ["in order", "instruction"], rows


def _limited(header: list[str], rows: list[list[str]]) -> Grid:
    more = len(rows) - SHOWN_KINDS
    rest = f"  ... and {more} more kinds: {gives_all()}" if more > 0 else ""
    return Grid(header, rows[:SHOWN_KINDS], texts=True, more=rest)


def _fitting(what: str, command: str, more: str) -> str:
    """A command with one more option, or that option alone where the line would be too long."""
    whole = f"{what}: {command} {more}"
    return whole if len(whole) + len("Next: ") <= WIDTH else f"{what}: the same with {more}"


WIDE_MATRIX, LONG_MATRIX = 6, 16
LATER = "realised.json"


def record_of(device: Device, design_file: str | None) -> dict[str, Any]:
    """What the record holds; without a ``design_file`` it says that the design to estimate with is not kept yet."""
    return {
        "facts": _record_facts(device, design_file),
        "counted": _counted(device),
        "matrix": _matrix(device.realised),
        "rounded": not device.general.exact,
        "warnings": device.warnings(),
        "estimate": assigned(device.realised, "answer", design_file or LATER),
    }


def assigned(design: Design, name: str, path: str) -> str:
    """What ``--design`` takes: a column, or one for each of several answers, the rows of a sample, and the file."""
    first = design.outputs.labels[0] if isinstance(design.outputs, Categories) else ""
    columns = ",".join(f"{name}{i + 1}" for i in range(len(first))) if isinstance(first, tuple) else name
    if design.provenance.get("samples"):
        return f"{shlex.quote(f'{columns}[group=1]={path}')} --design ..."
    return f"{columns}={shlex.quote(path)}"


def _record_facts(device: Device, design_file: str | None) -> list[tuple[str, str]]:
    deck, design = device.general, device.realised
    parity, wished = (stands_for(design) for design in (deck.realised, deck.wish))
    nearness = "exactly" if deck.exact else f"rounded; probabilities moved by up to {Printed(float(deck.error)):.2g}"
    together = design.provenance.get("samples")
    labels = [("Truths", _first(truth_labels(design))), ("Reports", _first(report_labels(design)))]
    return [
        ("Device", _in_short(device)),
        ("Realises the design", nearness),
        ("Parity", _parity(parity)),
        *([] if deck.exact else [("Parity asked for", parity_text(wished))]),
        ("What it promises", promise(parity)),
        *([] if _matrix(design) else labels),
        *([("Samples", str(together))] if together else []),
        ("Fingerprint of the design", design.fingerprint),
        ("File to estimate with", design_file or f"not saved yet: make these sheets again with --realised {LATER}"),
    ]


def _first(labels: list[str], most: int = 30) -> str:
    return ", ".join([*labels[:most], *(["..."] if len(labels) > most else [])])


def _parity(parity: Fraction | float) -> str:
    exact = to_text(parity)
    if isinstance(parity, float):
        return "infinite: some report rules out some true answer"
    return exact if len(exact) < 20 else factor_up(parity)


def _in_short(device: Device) -> str:
    if device.procedure is not None:
        given = {
            name: ", ".join(map(str, value)) if isinstance(value, list) else value
            for name, value in device.procedure.parameters.items()
        }
        return f"{device.procedure.family}, {', '.join(f'{name} = {value}' for name, value in given.items())}"
    if device.dice is not None:
        thing = "coins" if device.dice.faces == 2 else f"dice of {device.dice.faces} faces"
        often = device.dice.expected_rolls
        times = "once" if often == 1 else f"{to_text(often)} times on average"
        return f"{device.dice.dice} {thing}, thrown {times}"
    cards = f"{device.deck.size} cards of {device.deck.kinds} kinds"
    return cards if device.spinner is None else f"spinner of {device.deck.kinds} fields, shares as in {cards}"


def _counted(device: Device) -> list[tuple[int, list[str]]]:
    """How many cards there are of each kind, and what they make of each truth; nothing where that is too much."""
    asked = device.deck.realised
    lines = device.deck.kinds + (asked.m if _matrix(device.realised) else 0)
    if device.form != "cards" or lines > LONG_MATRIX or asked.k > WIDE_MATRIX:
        return []
    reports = device.deck.reports
    return [(card.copies, [reports[i] for i in card.answers]) for card in device.deck.cards]


def _matrix(design: Design) -> dict[str, Any] | None:
    """The realised matrix, where it fits a page."""
    if design.k > WIDE_MATRIX or design.m > LONG_MATRIX:
        return None
    rows = [
        (name, [(to_text(p) if len(to_text(p)) <= 12 else "", f"{Printed(float(p)):.4f}") for p in row])
        for name, row in zip(report_labels(design), design.exact_matrix(), strict=True)
    ]
    return {"truths": truth_labels(design), "rows": rows}

"""Sheets to print: how to answer, what the interviewer does, the record of the device, and cards, table or spinner.

One file that needs no other, black on white, for A4 and Letter alike. Every label is escaped.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.exact import to_text
from maskwell.designs.base import Design
from maskwell.errors import ParameterError, TooLargeError
from maskwell.procedures.dice import DiceTable, faces_in_words
from maskwell.procedures.realise import Device
from maskwell.procedures.spoken import report_labels, truth_labels
from maskwell.reports.device_cards import CardSheet, Face, faces_of, letter, sheets_of
from maskwell.reports.device_questions import Asked, Script, has_unrelated, other_question, two_questions
from maskwell.reports.device_scripts import script_for
from maskwell.reports.device_words import (
    MOST_LISTED,
    RULE,
    Question,
    is_direct,
    learned,
    once,
    protection,
    words_for,
)
from maskwell.reports.html import environment, version_text
from maskwell.reports.spinner_drawing import spinner_svg, tenths
from maskwell.reports.style import MONO_FONTS, TEXT_FONTS
from maskwell.reports.tables import parity_text
from maskwell.reports.words import factor_up, promise

PAPERS = {"a4": "A4", "letter": "letter"}
GRID_FACES = 12
COIN_OUTCOMES = 64
WIDE_MATRIX, LONG_MATRIX = 6, 16
SMALL_LEGEND = 4
TRUTHFUL = ("warner", "kim-warde", "abul-ela", "mangat-singh", "bourke-dalenius")
"""Forms in which everybody says what is true."""

NAMES = {
    "truth-or-fixed": "Cards: the truth, or a word that is named",
    "table": "Cards with a line for each true answer",
    "warner": "Warner's cards",
    "kim-warde": "Warner's cards for this stratum",
    "abul-ela": "Statements about each category",
    "mangat": "Mangat's cards",
    "mangat-singh": "Mangat and Singh's cards",
    "christofides": "Christofides' numbers",
    "bourke-dalenius": "Bourke and Dalenius' lists",
}


@dataclass(frozen=True, kw_only=True)
class SheetOptions:
    """What is printed besides the device.

    Attributes
    ----------
    question
        The sensitive question; a line to write on without one.
    innocuous
        The other question of procedures that have two.
    paper
        "a4" or "letter"; by default the printer's own, which may be either.
    design_file
        The design file to estimate with.
    """

    question: str = ""
    innocuous: str | None = None
    paper: str | None = None
    design_file: str = "design.json"


def device_page(device: Device, options: SheetOptions | None = None) -> str:
    """The sheets as one HTML text, ready to be printed from a browser.

    >>> from maskwell.procedures.realise import make_device
    >>> from maskwell.procedures.warner import warner
    >>> page = device_page(make_device(warner("0.7")), SheetOptions(question="Have you ever evaded taxes?"))
    >>> page.count('<div class="face">')   # one for each of ten cards
    10
    """
    options = SheetOptions() if options is None else options
    if options.paper is not None and options.paper not in PAPERS:
        raise ParameterError(f"paper = {options.paper!r}", hint=f"one of {', '.join(PAPERS)}", paper=options.paper)
    return (
        environment()
        .get_template("device.html")
        .render(
            css={"text": TEXT_FONTS, "mono": MONO_FONTS, "paper": PAPERS.get(options.paper or "", "")},
            version=version_text(),
            question=options.question,
            **_content(device, options),
        )
    )


def _content(device: Device, options: SheetOptions) -> dict[str, Any]:
    script, design = _script(device, options), device.deck.realised
    words = words_for(device) if script is None else script.words
    return {
        "title": _title(device) if script is None else script.title,
        "steps": words.steps,
        "rules": words.rules,
        "rule": RULE if _is_by_chance(device) else "",
        "questions": _questions(device, options) if script is None else script.questions,
        "most_listed": MOST_LISTED,
        "truths": truth_labels(design),
        "truth_heading": _heading(device.deck.wish),
        "protection": protection(device.deck) if script is None else protection(device.deck, script.hidden),
        "together": learned(design),
        "once": once(design),
        "sheets": _sheets(device, script),
        "legend": _legend(device),
        "small_legend": all(not face.rows for _, face, _ in _legend(device)) and device.deck.kinds <= SMALL_LEGEND,
        "direct": device.dice is not None and is_direct(device.dice),
        "throws": None if device.dice is None else _throws(device.dice),
        "spinner": None if device.spinner is None else spinner_svg(device.spinner),
        "facts": _facts(device, options),
        "counted": _counted(device),
        "matrix": _matrix(device.realised),
        "rounded": not device.general.exact,
        "warnings": device.warnings(),
        "design_file": options.design_file,
    }


def _heading(design: Design) -> str:
    """What is looked up on a card: the true answer, or the answers to several questions."""
    if has_unrelated(design):
        return "Answers to A, B"
    names = design.provenance.get("variables")
    return ", ".join(map(str, names)).capitalize() if isinstance(names, list) else "True answer"


def _script(device: Device, options: SheetOptions) -> Script | None:
    if device.procedure is None:
        return None
    return script_for(device.procedure, device.realised, Asked(options.question, options.innocuous))


def _questions(device: Device, options: SheetOptions) -> tuple[Question, ...]:
    """The question, or two where truths are pairs of an own and an unrelated answer."""
    asked = Asked(options.question, options.innocuous)
    if has_unrelated(device.deck.wish):
        return two_questions(device.deck.wish, asked, other_question(None, asked)[0])
    return (Question(options.question, answers=tuple(device.deck.truths)),)


def sheet_notes(device: Device, options: SheetOptions) -> list[str]:
    """What whoever prints the sheets must know, besides the warnings of the device."""
    script = _script(device, options)
    if script is None:
        asked = Asked(options.question, options.innocuous)
        return list(other_question(None, asked)[1]) if has_unrelated(device.deck.wish) else []
    return list(script.notes)


def _is_by_chance(device: Device) -> bool:
    """Whether people may be told to say what is not true; two questions at once are always answered truthfully."""
    return device.procedure is None and device.deck.form not in TRUTHFUL


def _title(device: Device) -> str:
    kind = NAMES.get(device.deck.form, "Cards")
    if device.dice is not None:
        return "Coins" if device.dice.faces == 2 else "Dice"
    return kind if device.spinner is None else "Spinner"


def _sheets(device: Device, script: Script | None) -> list[CardSheet]:
    if script is not None:
        return list(script.sheets)
    return sheets_of(faces_of(device.deck)) if device.form == "cards" else []


def _legend(device: Device) -> list[tuple[str, Face, str]]:
    """Letters with what they mean, and for a spinner from where to where their field goes."""
    faces = faces_of(device.deck)
    if device.spinner is not None:
        fields = [f"{tenths(s.start)}° to {tenths(s.stop)}°" for s in device.spinner.sectors]
        return [(letter(i), face, field) for i, (face, field) in enumerate(zip(faces, fields, strict=True))]
    return [(letter(i), face, "") for i, face in enumerate(faces)] if device.dice is not None else []


# ---- dice and coins


def _throws(table: DiceTable) -> dict[str, Any]:
    """The table of throws: sums, a square of two dice, lists of coins, or ranges of numbers."""
    sums, faces = table.sums(), faces_of(table.deck)
    found: list[tuple[str, int | None]]
    if sums is None and table.faces != 2 and table.dice == 2 and table.faces <= GRID_FACES:
        return {"kind": "square", "rows": _square(table), "faces": range(1, table.faces + 1)}
    if sums is not None:
        head, found = "Sum", [(_range(low, high), kind) for low, high, kind in sums]
    elif table.faces == 2:
        head, found = "Coins: H heads, T tails", _coins(table)
    else:
        head, found = "The die shows" if table.dice == 1 else "The dice in order", _ranges(table)
    rows = [(shown, _meaning(kind), None if kind is None else faces[kind]) for shown, kind in found]
    return {"kind": "list", "head": head, "rows": rows}


def _range(low: int, high: int) -> str:
    """Numbers from low to high in words.

    >>> _range(2, 2), _range(11, 12), _range(2, 4)
    ('2', '11 or 12', '2 to 4')
    """
    return str(low) if low == high else f"{low} or {high}" if high == low + 1 else f"{low} to {high}"


def _meaning(kind: int | None) -> str:
    return "again" if kind is None else letter(kind)


def _square(table: DiceTable) -> list[tuple[int, list[str]]]:
    cells = [_meaning(run.kind) for run in table.runs() for _ in range(run.first, run.last + 1)]
    size = table.faces
    return [(row + 1, cells[row * size : (row + 1) * size]) for row in range(size)]


def _ranges(table: DiceTable) -> list[tuple[str, int | None]]:
    shown = [(faces_in_words(table, run.first), faces_in_words(table, run.last), run.kind) for run in table.runs()]
    return [(first if first == last else f"{first} to {last}", kind) for first, last, kind in shown]


def _coins(table: DiceTable) -> list[tuple[str, int | None]]:
    if table.outcomes > COIN_OUTCOMES:
        raise TooLargeError(
            f"{table.dice} coins have {table.outcomes} outcomes, too many for a table",
            hint="use dice or cards",
        )

    def tossed(outcome: int) -> str:
        return "".join("HT"[face - 1] for face in table.shown(outcome))

    return [
        (", ".join(tossed(outcome) for outcome in range(run.first, run.last + 1)), run.kind) for run in table.runs()
    ]


# ---- the record


def _facts(device: Device, options: SheetOptions) -> list[tuple[str, str]]:
    deck, design = device.general, device.realised
    wished, found = deck.parities
    asked = [] if deck.exact else [("Parity asked for", parity_text(wished))]
    nearness = "exactly" if deck.exact else f"rounded; probabilities moved by up to {float(deck.error):.2g}"
    together = design.provenance.get("samples")
    return [
        ("Device", _in_short(device)),
        ("Realises the design", nearness),
        ("Parity", _parity(found)),
        *asked,
        ("What it promises", promise(found)),
        *(
            []
            if _matrix(design)
            else [("Truths", _first(truth_labels(design))), ("Reports", _first(report_labels(design)))]
        ),
        *([("Samples", str(together))] if together else []),
        ("Fingerprint of the design", design.fingerprint),
        ("File to estimate with", options.design_file),
    ]


def _first(labels: list[str], most: int = 30) -> str:
    return ", ".join([*labels[:most], *(["..."] if len(labels) > most else [])])


def _parity(parity: Fraction | float) -> str:
    exact = to_text(parity)
    if isinstance(parity, float):
        return "infinite: some report rules out some truth"
    return exact if len(exact) < 20 else factor_up(parity)


def _in_short(device: Device) -> str:
    if device.procedure is not None:
        given = ", ".join(f"{name} = {_listed(value)}" for name, value in device.procedure.parameters.items())
        return f"{device.procedure.family}, {given}"
    if device.dice is not None:
        thing = "coins" if device.dice.faces == 2 else f"dice of {device.dice.faces} faces"
        return f"{device.dice.dice} {thing}, rolled {to_text(device.dice.expected_rolls)} times on average"
    cards = f"{device.deck.size} cards of {device.deck.kinds} kinds"
    return cards if device.spinner is None else f"spinner of {device.deck.kinds} fields, shares as in {cards}"


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


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
        (name, [(to_text(p) if len(to_text(p)) <= 12 else "", f"{float(p):.4f}") for p in row])
        for name, row in zip(report_labels(design), design.exact_matrix(), strict=True)
    ]
    return {"truths": truth_labels(design), "rows": rows}

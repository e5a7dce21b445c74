"""The record of a device: what it is, what it realises, and how its answers are estimated from."""

from __future__ import annotations

import shlex
from fractions import Fraction
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import to_text
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design
from maskwell.privacy.criteria import stands_for
from maskwell.procedures.decks import report_labels, truth_labels
from maskwell.procedures.realisation import Device
from maskwell.reports.tables import parity_text
from maskwell.reports.words import factor_up, promise

WIDE_MATRIX, LONG_MATRIX = 6, 16
LATER = "realised.json"


def record_of(device: Device, design_file: str | None) -> dict[str, Any]:
    """What the record holds; without a ``design_file`` it says that the design to estimate with is not kept yet."""
    return {
        "facts": _facts(device, design_file),
        "counted": _counted(device),
        "matrix": _matrix(device.realised),
        "rounded": not device.general.exact,
        "warnings": device.warnings(),
        "estimate": assigned(device.realised, "answer", design_file or LATER),
    }


def assigned(design: Design, name: str, path: str) -> str:
    """What ``--design`` takes: the columns that hold the reports, and the file of the design.

    One column, or one for each answer where a report is several; the rows of one sample where others are needed.

    >>> from maskwell.procedures.unrelated_questions import simmons
    >>> from maskwell.procedures.unrelated_questions import simmons_twice
    >>> assigned(simmons_twice("0.6", "0.7"), "answer", "d.json"), assigned(simmons("3/4"), "answer", "d.json")
    ('answer1,answer2=d.json', "'answer[group=1]=d.json' --design ...")
    """
    first = design.outputs.labels[0] if isinstance(design.outputs, Categories) else ""
    columns = ",".join(f"{name}{i + 1}" for i in range(len(first))) if isinstance(first, tuple) else name
    if design.provenance.get("samples"):
        return f"{shlex.quote(f'{columns}[group=1]={path}')} --design ..."
    return f"{columns}={shlex.quote(path)}"


def _facts(device: Device, design_file: str | None) -> list[tuple[str, str]]:
    deck, design = device.general, device.realised
    found, wished = (stands_for(design) for design in (deck.realised, deck.wish))
    asked = [] if deck.exact else [("Parity asked for", parity_text(wished))]
    nearness = "exactly" if deck.exact else f"rounded; probabilities moved by up to {Printed(float(deck.error)):.2g}"
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
        ("File to estimate with", design_file or f"not kept yet: make these sheets again with --realised {LATER}"),
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
        often = device.dice.expected_rolls
        times = "once" if often == 1 else f"{to_text(often)} times on average"
        return f"{device.dice.dice} {thing}, thrown {times}"
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
        (name, [(to_text(p) if len(to_text(p)) <= 12 else "", f"{Printed(float(p)):.4f}") for p in row])
        for name, row in zip(report_labels(design), design.exact_matrix(), strict=True)
    ]
    return {"truths": truth_labels(design), "rows": rows}

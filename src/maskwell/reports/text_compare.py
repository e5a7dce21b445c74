"""A comparison of two designs, as text for a terminal."""

from __future__ import annotations

import shlex
import textwrap

from maskwell.core.exact import to_float
from maskwell.designs.unary import Unary
from maskwell.planning.compare import Comparison, FairComparison
from maskwell.reports.tables import WIDTH, facts, notes, number, shorten, table

NAME_WIDTH = 28


def compare_text(found: FairComparison, first: str, second: str) -> list[str]:
    """The answer at equal protection first, then both tables, then what proves it."""
    names = (shorten(first, NAME_WIDTH), shorten(second, NAME_WIDTH))
    lines = [*textwrap.wrap(_answer(found, names), WIDTH), *_table(found.given, names)]
    if found.equalised is not None and found.changed is not None:
        changed = first if found.changed == "first" else second
        how = f"At equal protection, {changed} being changed to {found.how}:"
        lines += ["", *textwrap.wrap(how, WIDTH), *_table(found.equalised, names)]
    lines += ["", *facts(_proofs(found, names)), *notes(_remarks(found, names))]
    worse = _worse(found, first, second)
    following = f"maskwell improve {shlex.quote(worse)}" if worse else f"maskwell audit {shlex.quote(first)}"
    return [*lines, f"Next: {following}"]


def _answer(found: FairComparison, names: tuple[str, str]) -> str:
    fair = found.equalised
    if fair is None:
        return f"{_told(found.given, names)}; variances are not compared: {found.why}."
    where = f"At equal protection (parity {number(to_float(fair.parities[0]))})"
    return f"{where} {_told(fair, names)}{_ranked(fair, names)}."


def _told(compared: Comparison, names: tuple[str, str]) -> str:
    one, two = names
    return {
        "first": f"{one} tells all that {two} does, and more",
        "second": f"{two} tells all that {one} does, and more",
        "equivalent": f"{one} and {two} tell exactly the same",
        "incomparable": f"neither of {one} and {two} tells all that the other does",
        "undecided": f"which of {one} and {two} tells more is undecided",
    }[compared.order.verdict]


def _ranked(fair: Comparison, names: tuple[str, str]) -> str:
    winner = fair.winner_by_variance
    if winner is None or winner == "equal" or fair.order.verdict in ("equivalent", winner):
        return ""
    return f"; {names[0] if winner == 'first' else names[1]} adds less variance here"


def _table(compared: Comparison, names: tuple[str, str]) -> list[str]:
    shown = compared.to_dict()
    rows = [
        [title, *(_cell(shown[key][which]) for which in ("first", "second"))]
        for title, key in (
            ("parity", "parity"),
            ("added variance (times 1/n)", "added_variance"),
            ("Fisher information", "information"),
            ("mutual information, nats", "mutual_information"),
            ("best guess is right", "guess_probability"),
        )
        if not any(isinstance(value, list) for value in shown[key].values())
    ]
    return table(["", *names], rows)


def _cell(value: float | None) -> str:
    return "–" if value is None else number(value)


def _proofs(found: FairComparison, names: tuple[str, str]) -> list[tuple[str, str]]:
    """Why each can or cannot be made from the other, as they are."""
    order = found.given.order
    return [
        (f"{two} from {one}", f"{_yes_or_no(question.holds)}: {question.reason}")
        for one, two, question in (
            (names[0], names[1], order.first_for_second),
            (names[1], names[0], order.second_for_first),
        )
    ]


def _yes_or_no(holds: bool | None) -> str:  # noqa: FBT001
    return "undecided" if holds is None else "yes" if holds else "no"


def _remarks(found: FairComparison, names: tuple[str, str]) -> list[str]:
    given = found.given
    remarks = []
    if not given.equally_private:
        remarks.append(
            "as they are, the designs do not protect equally: their variances say nothing about which is better"
        )
    for name, design in zip(names, (given.first, given.second), strict=True):
        if isinstance(design, Unary):
            remarks.append(f"the added variance of {name} is that of its best linear estimator, at equal shares")
    if not given.order.exact:
        remarks.append("part of the order is numerical, not proved in exact numbers; --json shows which")
    return remarks


def _worse(found: FairComparison, first: str, second: str) -> str | None:
    """The design that could be improved at no cost."""
    fair = found.equalised or found.given
    return {"first": second, "second": first}.get(fair.order.verdict)

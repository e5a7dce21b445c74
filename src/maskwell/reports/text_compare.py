"""A comparison of two designs, as text for a terminal."""

from __future__ import annotations

import shlex
import textwrap
from fractions import Fraction
from typing import cast

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design
from maskwell.designs.unary import Unary
from maskwell.planning.blackwell import Sufficiency
from maskwell.planning.comparison import Comparison, FairComparison
from maskwell.reports.tables import WIDTH, broken, facts, label, notes, number, parity_text, shorten, table
from maskwell.reports.text import report_names

NAME_WIDTH = 28
SHOWN_ROWS = 6
SHOWN_REPORTS, SHOWN_CATEGORIES, SHORT_NAME, SHORT_COLUMN = 12, 6, 14, 10


def compare_text(found: FairComparison, first: str, second: str) -> list[str]:
    """The answer at equal protection first, then both tables, then what proves it."""
    names = (shorten(first, NAME_WIDTH), shorten(second, NAME_WIDTH))
    lines = [*textwrap.wrap(_answer(found, names), WIDTH), *_table(found.given, names)]
    if found.equalised is not None and found.changed is not None:
        changed = {"first": first, "second": second, "both": f"{first} and {second}"}[found.changed]
        how = f"At equal protection, {changed} being changed to {found.how}:"
        lines += ["", *textwrap.wrap(how, WIDTH), *_table(found.equalised, names)]
    lines += ["", *_proofs("As they are:", found.given, names)]
    if found.equalised is not None and found.changed is not None:
        lines += _proofs("At equal protection:", found.equalised, names)
    lines += _beliefs(found, names)
    lines += notes([*_remarks(found, names), *_cautions(found, names)])
    worse = _worse(found, first, second)
    following = f"maskwell improve {shlex.quote(worse)}" if worse else f"maskwell audit {shlex.quote(first)}"
    return [*lines, f"Next: {following}"]


def _answer(found: FairComparison, names: tuple[str, str]) -> str:
    fair = found.equalised
    if fair is None:
        return f"{_told(found.given, names)}; variances are not compared: {found.why}."
    near = " within 1e-9" if fair.slack_used else ""
    where = f"At equal protection ({_measure_name(fair)} {parity_text(fair.protections[0])}{near})"
    return f"{where} {_told(fair, names)}{_ranked(fair, names)}."


def _told(compared: Comparison, names: tuple[str, str]) -> str:
    one, two = names
    return {
        "first": f"{one} tells all that {two} does, and more",
        "second": f"{two} tells all that {one} does, and more",
        "equivalent": f"{one} and {two} tell {'exactly the same' if compared.order.exact else 'the same within 1e-8'}",
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
            ("added variance, times n", "added_variance"),
            ("Fisher information", "information"),
            ("mutual information, nats", "mutual_information"),
            ("best guess is right", "guess_probability"),
        )
        if not any(isinstance(value, list) for value in shown[key].values())
    ]
    measured = [[_measure_name(compared), *map(parity_text, compared.protections)]]
    measured = measured if compared.measure.name != "parity" else []
    lines = table(["", *names], [["parity", *map(parity_text, compared.parities)], *measured, *rows])
    return [*lines, *_efficiency(compared, names)]


def _measure_name(compared: Comparison) -> str:
    """The measure with what it looks at."""
    measure = compared.measure
    if measure.name == "parity":
        return "parity"
    who = ", ".join(label(compared.first.inputs.labels[j]) for j in measure.sensitive)
    return {"ratio": "ratio R", "sensitive": "ratio R_S", "hazard": "posterior"}[
        measure.name
    ] + f" of {shorten(who, 30)}"


def _efficiency(compared: Comparison, names: tuple[str, str]) -> list[str]:
    """How many respondents of one are worth one of the other, over the shares that were looked at."""
    found = compared.efficiency
    if found is None or not compared.equally_private or np.isnan(found.relative).any():
        return []
    low, high = float(found.relative.min()), float(found.relative.max())
    where = f"at {len(found.grid)} true shares from rare to common"
    who = {
        "first": f"{names[0]} is at least as good in every direction {where}",
        "second": f"{names[1]} is at least as good in every direction {where}",
        "equal": f"both are equally good {where}",
        "neither": f"neither is the better one {where}",
    }[found.better]
    worth = f"a report of {names[0]} is worth {number(low, 3)} to {number(high, 3)} of {names[1]}"
    worth = (
        worth
        if number(low, 3) != number(high, 3)
        else f"a report of {names[0]} is worth {number(low, 3)} of {names[1]}"
    )
    return broken(f"{who}; {worth}", indent="  ")


# ---- what reports make somebody believe


def _beliefs(found: FairComparison, names: tuple[str, str]) -> list[str]:
    """What is believed after every report of both designs; nothing for large ones."""
    fair = found.equalised or found.given
    pairs = list(zip(names, (fair.first, fair.second), fair.posteriors, strict=True))
    if any(after is None or design.m > SHOWN_REPORTS for _, design, after in pairs):
        return []
    if fair.first.k > SHOWN_CATEGORIES:
        return []
    prior = ", ".join(
        f"{shorten(label(one), SHORT_NAME)} {number(float(p), 4)}"
        for one, p in zip(fair.first.inputs.labels, fair.prior, strict=True)
    )
    when = "at equal protection" if found.equalised is not None and found.changed is not None else "as they are"
    header = ["report", "how often", *(shorten(label(one), SHORT_NAME) for one in fair.first.inputs.labels)]
    rows = [row for name, design, after in pairs for row in _rows(name, design, cast(Real, after), fair.prior)]
    return ["", *broken(f"Beliefs after each report, {when}, from {prior}:"), *table(header, rows)]


def _rows(name: str, design: Design, after: Real, prior: Real) -> list[list[str]]:
    often = design.matrix() @ prior
    return [
        [
            f"{shorten(name, 20)}: {shorten(report, 18)}",
            f"{Printed(how):.4f}",
            *("–" if np.isnan(p) else f"{Printed(p):.4f}" for p in row),
        ]
        for report, how, row in zip(report_names(design), often.tolist(), after.tolist(), strict=True)
    ]


def _cautions(found: FairComparison, names: tuple[str, str]) -> list[str]:
    """What must be said of designs for two categories in which a report rules the sensitive one out."""
    fair = found.equalised or found.given
    return [
        f"{name} makes one report a certain acquittal and the other the only ambiguous answer: whoever gives it may "
        "feel accused"
        for name, design in zip(names, (fair.first, fair.second), strict=True)
        if design.k == 2 and design.m == 2 and _acquits(design)
    ]


def _acquits(design: Design) -> bool:
    rows = design.exact_matrix()
    return any(not a and b for a, b in rows) and not any(a and not b for a, b in rows)


def _cell(value: float | Fraction | None) -> str:
    return "–" if value is None else number(float(value))


def _proofs(title: str, compared: Comparison, names: tuple[str, str]) -> list[str]:
    """Whether each can be made from the other, why, and the garbling or the gain matrix where it is small."""
    one, two = names
    order = compared.order
    asked = [(one, two, order.first_for_second), (two, one, order.second_for_first)]
    lines = facts([(f"{b} from {a}", f"{_yes_or_no(answer.holds)}: {answer.reason}") for a, b, answer in asked])
    designs = [(compared.first, compared.second), (compared.second, compared.first)]
    shown = [_shown(answer, (a, P), (b, A)) for (a, b, answer), (P, A) in zip(asked, designs, strict=True)]
    return [title, *lines, *(line for matrix in shown for line in matrix)]


def _shown(answer: Sufficiency, source: tuple[str, Design], target: tuple[str, Design]) -> list[str]:
    """The matrix that proves the answer, a line for each report of the target; reports without a bet are left out."""
    (a, P), (b, A) = source, target
    rows = answer.garbling or answer.gain or []
    if not 0 < len(rows) <= SHOWN_ROWS or len(rows[0]) > SHOWN_ROWS:
        return []
    truths = [label(one) for one in P.inputs.labels]
    corner, columns = ("to \\ from", report_names(P)) if answer.garbling else ("report \\ truth", truths)
    body = [
        [shorten(name, SHORT_NAME), *(f"{Printed(float(x)):.5g}" for x in row)]
        for name, row in zip(report_names(A), rows, strict=True)
        if answer.garbling or any(row)
    ]
    what = (
        f"{b} = C {a}, with C" if answer.garbling else f"bets with which {b} wins {_cell(answer.margin)} more than {a}"
    )
    heads = [corner, *(shorten(name, SHORT_COLUMN) for name in columns)]
    return [f"    {what}:", *(f"    {line}" for line in table(heads, body))]


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
    answers = (given.order.first_for_second, given.order.second_for_first)
    if any(answer.holds is not None and not answer.exact for answer in answers):
        remarks.append(
            "part of the order holds within 1e-8 and is not proved exactly: a design was given as decimals, or "
            "rounded; --json shows which part"
        )
    if given.slack_used:
        remarks.append("protections within 1e-9 count as equal: a design was given as decimals, or rounded")
    return remarks


def _worse(found: FairComparison, first: str, second: str) -> str | None:
    """The design that could be improved at no cost."""
    fair = found.equalised or found.given
    worse = {"first": (second, found.given.second), "second": (first, found.given.first)}.get(fair.order.verdict)
    if worse is None or isinstance(worse[1].parity_exact(), float) or worse[1].is_admissible():
        return None
    return worse[0]

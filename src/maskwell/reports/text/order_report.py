"""Which of two designs is more informative, and what was gained by improving one, in words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from fractions import Fraction
from typing import cast

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.exact import parity_text
from maskwell.core.phrases import Printed, shorten
from maskwell.designs.design import Design
from maskwell.designs.unary import Unary
from maskwell.notes import Note
from maskwell.planning.blackwell import Sufficiency
from maskwell.planning.comparison import Comparison, FairComparison
from maskwell.planning.improvement import Improvement
from maskwell.planning.one_sided import OneSided, label_of
from maskwell.planning.replacement import Replacement
from maskwell.privacy.criteria import stands_for
from maskwell.reports.plain_words import factor_up, label, number
from maskwell.reports.report import GAP, WIDTH, Block, Facts, Grid, Notes, Paragraph, Report, line
from maskwell.reports.text import design_report

NAME_WIDTH = 28
MOST_PROOF_ROWS = 6
SHOWN_REPORTS, SHOWN_CATEGORIES, SHORT_NAME, SHORT_COLUMN = 12, 6, 14, 10


def compare_report(comparison: FairComparison, first: str, second: str) -> Report:
    """The answer at equal protection first, then both tables, then what proves it."""
    names = (shorten(first, NAME_WIDTH), shorten(second, NAME_WIDTH))
    body, proofs = _table(comparison.given, names), _proofs("As given:", comparison.given, names)
    if comparison.equalised is not None and comparison.changed is not None:
        changed = {"first": first, "second": second, "both": f"{first} and {second}"}[comparison.changed]
        how = f"At equal protection, with {changed} changed to {comparison.how}:"
        body += [GAP, Paragraph(how, hang="", split=True), *_table(comparison.equalised, names)]
        proofs += _proofs("At equal protection:", comparison.equalised, names)
    body += [GAP, *proofs, *_beliefs(comparison, names), Notes(_compared_remarks(comparison, names))]
    worse = _worse(comparison, first, second)
    return Report(
        Paragraph(_compared_answer(comparison, names), hang="", split=True),
        body,
        next_step=f"maskwell improve {shlex.quote(worse)}" if worse else f"maskwell audit {shlex.quote(first)}",
    )


def _compared_answer(comparison: FairComparison, names: tuple[str, str]) -> str:
    fair = comparison.equalised
    if fair is None:
        return f"{_verdict_in_words(comparison.given, names)}; variances are not compared: {comparison.why}."
    near = " within 1e-9" if fair.slack_used else ""
    where = f"At equal protection ({_measure_name(fair)} {parity_text(fair.protections[0])}{near})"
    winner = {"first": names[0], "second": names[1]}.get(fair.winner_by_variance or "")
    ranked = winner is not None and fair.order.verdict not in ("equivalent", fair.winner_by_variance)
    less = f"; {winner} adds less variance here" if ranked else ""
    return f"{where} {_verdict_in_words(fair, names)}{less}."


def _verdict_in_words(compared: Comparison, names: tuple[str, str]) -> str:
    one, two = names
    return {
        "first": f"{one} is more informative than {two}",
        "second": f"{two} is more informative than {one}",
        "equivalent": f"{one} and {two} are {'' if compared.order.exact else 'within 1e-8 '}equally informative",
        "incomparable": f"neither of {one} and {two} is more informative than the other",
        "undecided": f"which of {one} and {two} is more informative is undecided",
    }[compared.order.verdict]


def _table(compared: Comparison, names: tuple[str, str]) -> list[Block]:
    measures = compared.to_dict()
    rows = [
        [title, *(_cell(measures[key][which]) for which in ("first", "second"))]
        for title, key in (
            ("added variance, times n", "added_variance"),
            ("Fisher information", "information"),
            ("mutual information, nats", "mutual_information"),
            ("best guess is right", "guess_probability"),
        )
        if not any(isinstance(value, list) for value in measures[key].values())
    ]
    measured = [[_measure_name(compared), *map(parity_text, compared.protections)]]
    measured *= compared.measure.name != "parity"
    grid = Grid(["", *names], [["parity", *map(parity_text, compared.parities)], *measured, *rows])
    return [grid, *_efficiency(compared, names)]


def _measure_name(compared: Comparison) -> str:
    """The measure with what it looks at."""
    measure = compared.measure
    if measure.name == "parity":
        return "parity"
    who = ", ".join(label(compared.first.inputs.labels[j]) for j in measure.sensitive)
    return {"ratio": "ratio R", "sensitive": "ratio R_S", "hazard": "posterior"}[
        measure.name
    ] + f" of {shorten(who, 30)}"


def _efficiency(compared: Comparison, names: tuple[str, str]) -> list[Block]:
    """How many respondents of one are worth one of the other, over the shares that were looked at."""
    efficiency = compared.efficiency
    if efficiency is None or not compared.equally_private or np.isnan(efficiency.relative).any():
        return []
    low, high = float(efficiency.relative.min()), float(efficiency.relative.max())
    where = f"at {len(efficiency.grid)} true shares from rare to common"
    who = {
        "first": f"{names[0]} is at least as good in every direction {where}",
        "second": f"{names[1]} is at least as good in every direction {where}",
        "equal": f"both are equally good {where}",
        "neither": f"neither is the better one {where}",
    }[efficiency.better]
    worth = " to ".join(dict.fromkeys([number(low, 3), number(high, 3)]))
    return [Paragraph(f"{who}; a report of {names[0]} is worth {worth} of {names[1]}", indent="  ")]


def _beliefs(comparison: FairComparison, names: tuple[str, str]) -> list[Block]:
    """What is believed after every report of both designs; nothing for large ones."""
    fair = comparison.equalised or comparison.given
    pairs = list(zip(names, (fair.first, fair.second), fair.posteriors, strict=True))
    if fair.first.k > SHOWN_CATEGORIES or any(after is None or design.m > SHOWN_REPORTS for _, design, after in pairs):
        return []
    prior = ", ".join(
        f"{shorten(label(one), SHORT_NAME)} {number(float(p), 4)}"
        for one, p in zip(fair.first.inputs.labels, fair.prior, strict=True)
    )
    when = "as given" if comparison.equalised is None or comparison.changed is None else "at equal protection"
    header = ["report", "how often", *(shorten(label(one), SHORT_NAME) for one in fair.first.inputs.labels)]
    rows = [row for name, design, after in pairs for row in _belief_rows(name, design, cast(Real, after), fair.prior)]
    return [GAP, Paragraph(f"Beliefs after each report, {when}, from {prior}:"), Grid(header, rows)]


def _belief_rows(name: str, design: Design, after: Real, prior: Real) -> list[list[str]]:
    often = design.matrix() @ prior
    return [
        [
            f"{shorten(name, 20)}: {shorten(report, 18)}",
            f"{Printed(how):.4f}",
            *("–" if np.isnan(p) else f"{Printed(p):.4f}" for p in row),
        ]
        for report, how, row in zip(design_report.report_names(design), often.tolist(), after.tolist(), strict=True)
    ]


def _acquits(design: Design) -> bool:
    """Whether, of two categories, a report rules out the sensitive one and none the other."""
    if (design.k, design.m) != (2, 2):
        return False
    rows = design.exact_matrix()
    return any(not a and b for a, b in rows) and not any(a and not b for a, b in rows)


def _cell(value: float | Fraction | None) -> str:
    return "–" if value is None else number(float(value))


def _proofs(title: str, compared: Comparison, names: tuple[str, str]) -> list[Block]:
    """Whether each can be made from the other, why, and the garbling or the gain matrix where it is small."""
    one, two = names
    order = compared.order
    asked = [(one, two, order.first_for_second), (two, one, order.second_for_first)]
    reasons = Facts(
        [
            (
                f"{b} from {a}",
                f"{'undecided' if answer.holds is None else 'yes' if answer.holds else 'no'}: {answer.reason}",
            )
            for a, b, answer in asked
        ]
    )
    designs = [(compared.first, compared.second), (compared.second, compared.first)]
    proofs = [_proof(answer, (a, P), (b, A)) for (a, b, answer), (P, A) in zip(asked, designs, strict=True)]
    return [line(title), reasons, *(grid for proof in proofs for grid in proof)]


def _proof(answer: Sufficiency, source: tuple[str, Design], target: tuple[str, Design]) -> list[Grid]:
    """The matrix that proves the answer, a line for each report of the target; reports without a bet are left out."""
    (a, P), (b, A) = source, target
    rows = answer.garbling or answer.gain or []
    if not 0 < len(rows) <= MOST_PROOF_ROWS or len(rows[0]) > MOST_PROOF_ROWS:
        return []
    truths = [label(one) for one in P.inputs.labels]
    corner, columns = ("to \\ from", design_report.report_names(P)) if answer.garbling else ("report \\ truth", truths)
    body = [
        [shorten(name, SHORT_NAME), *(f"{Printed(float(x)):.5g}" for x in row)]
        for name, row in zip(design_report.report_names(A), rows, strict=True)
        if answer.garbling or any(row)
    ]
    what = (
        f"{b} = C {a}, with C" if answer.garbling else f"bets with which {b} wins {_cell(answer.margin)} more than {a}"
    )
    heads = [corner, *(shorten(name, SHORT_COLUMN) for name in columns)]
    return [Grid(heads, body, title=f"{what}:", indent="    ")]


def _compared_remarks(comparison: FairComparison, names: tuple[str, str]) -> list[str]:
    as_given = comparison.given
    remarks: list[str] = []
    if not as_given.equally_private:
        remarks.append(Note("designs-do-not-protect-equally"))
    for name, design in zip(names, (as_given.first, as_given.second), strict=True):
        if isinstance(design, Unary):
            remarks.append(f"the added variance of {name} is that of its best linear estimator, at equal shares")
    answers = (as_given.order.first_for_second, as_given.order.second_for_first)
    if any(answer.holds is not None and not answer.exact for answer in answers):
        remarks.append(
            "part of the order holds within 1e-8 and is not proved exactly: a design was given as decimals, or "
            "rounded; --json shows which part"
        )
    if as_given.slack_used:
        remarks.append("protections within 1e-9 count as equal: a design was given as decimals, or rounded")
    fair = comparison.equalised or as_given
    both = zip(names, (fair.first, fair.second), strict=True)
    return remarks + [Note("a-report-acquits", name=name) for name, design in both if _acquits(design)]


def _worse(comparison: FairComparison, first: str, second: str) -> str | None:
    """The design that could be improved at no cost."""
    fair = comparison.equalised or comparison.given
    given = comparison.given
    worse = {"first": (second, given.second), "second": (first, given.first)}.get(fair.order.verdict)
    if worse is None or isinstance(worse[1].parity_exact(), float) or worse[1].is_admissible():
        return None
    return worse[0]


def improved_report(gain: Improvement, path: str, output: str | None) -> Report:
    """What was gained, and how the old reports come back; ``output`` is where the design was written."""
    parity = parity_text(stands_for(gain.design))
    if not gain.improved:
        remarks = [] if gain.design.identifiable else [Note("shares-are-still-unknown")]
        first = f"{path} cannot be improved: no design of parity {parity} is more informative."
        return _improvement(gain, first, [Notes(remarks), *_written(gain, output)], path, output)
    if gain.gamma == math.inf:
        first = Note("truth-itself-is-more-informative", path=path)
        return _improvement(gain, first, _proof_of_gain(gain, output), path, output)
    before, after = gain.added_variances()
    same = gain.original.parity_exact() == gain.design.parity_exact()
    kept = f"at the same parity {parity}" if same else f"at parity {parity}, which was allowed"
    gained = f"{_variances(before, after)} {kept}" if after is not None else f"its reports are more informative {kept}"
    free = " at no cost" if same else ""
    first = f"{path} can be improved{free}: {gained}."
    return _improvement(gain, first, _proof_of_gain(gain, output), path, output)


def one_sided_report(gain: OneSided, path: str, output: str | None) -> Report:
    """The same where one category is sensitive."""
    name = label(label_of(gain.original, gain.sensitive))
    if not gain.applies:
        first = f"No better design that protects only {name} is known for {path}: {gain.reason}."
        bounded = not isinstance(gain.original.parity_exact(), float)
        following = f"maskwell {'improve' if bounded else 'audit'} {shlex.quote(path)}"
        return Report(_opening(first), [Facts(_both_designs(gain))], next_step=following)
    hidden = f"a report raises the odds of {name} at most {factor_up(gain.ratio)}-fold"
    if not gain.improved:
        first = f"{path} is the best design that protects only {name}: {hidden}."
        return _improvement(gain, first, [_warnings(gain), *_written(gain, output)], path, output)
    gained = _variances(*gain.added_variances())
    first = f"{path} can be improved where only {name} is sensitive: {gained}; {hidden}, as before."
    return _improvement(gain, first, _proof_of_gain(gain, output, [_warnings(gain)]), path, output)


def _improvement(gain: Replacement, first: str, more: Iterable[Block], path: str, output: str | None) -> Report:
    """The answer, what both designs are, and more."""
    audited = output if output is not None else path if gain.design is gain.original else None
    keep = "save it with -o better.json, then: maskwell audit better.json"
    after = keep if audited is None else f"maskwell audit {shlex.quote(audited)}"
    return Report(_opening(first), [Facts(_both_designs(gain)), *more], next_step=after)


def _opening(text: str) -> Paragraph:
    return Paragraph(text, hang="")


def _warnings(gain: OneSided) -> Notes:
    return Notes(gain.warnings(), word="warning")


def _variances(before: float | None, after: float | None) -> str:
    if before is None:
        return f"shares can be estimated now, with added variance {number(after)},"
    return f"added variance {number(before)} becomes {number(after)}"


def _both_designs(gain: Replacement) -> list[tuple[str, str]]:
    old, new = gain.original, gain.design
    if new is old:
        return [("reports", design_report.reports_of(old)), ("parity", design_report.parity_of(old))]
    before, after = gain.added_variances()
    return [
        ("reports before", design_report.reports_of(old)),
        ("reports after", design_report.reports_of(new)),
        ("parity before", design_report.parity_of(old)),
        ("parity after", design_report.parity_of(new)),
        ("added variance before", _variance(old, before)),
        ("added variance after", _variance(new, after)),
    ]


def _variance(design: Design, value: float | None) -> str:
    if value is None:
        return f"none: rank {design.rank()} for {design.k} categories, shares cannot be estimated"
    return f"{number(value)} divided by n, at equal shares, best linear estimate"


def _proof_of_gain(gain: Replacement, output: str | None, warnings: Iterable[Block] = ()) -> list[Block]:
    """The new matrix, the garbling, the warnings and where the design went."""
    return [*design_report.matrix_blocks(gain.design), *_garbling(gain), *warnings, *_written(gain, output)]


def _written(gain: Replacement, output: str | None) -> list[Block]:
    """Where the design went, and that it is the old one if it is."""
    if output is None:
        return []
    same = gain.design is gain.original
    return [line(f"{'The same design, unchanged, is' if same else 'The new design is'} written to {output}.")]


def _garbling(gain: Replacement) -> list[Block]:
    old, new = gain.original, gain.design
    if not (old.has_reports_up_to(design_report.SHOWN_LABELS) and new.has_reports_up_to(design_report.SHOWN_LABELS)):
        sizes = f"{design_report.count_of_reports(old)} by {design_report.count_of_reports(new)}"
        held = f"a garbling matrix of {sizes} entries returns the old reports: see --json"
        return [Notes([f"the new design keeps all information of the old one; {held}"])]
    width = (WIDTH - 26) // new.m - 2
    header = ["old \\ new report", *(shorten(name, width) for name in design_report.report_names(new))]
    rows = [
        [shorten(name, 24), *(_chance(c) for c in row)]
        for name, row in zip(design_report.report_names(old), gain.garbling_matrix().tolist(), strict=True)
    ]
    return [GAP, _opening(Note("old-reports-come-back")), Grid(header, rows)]


def _chance(value: float) -> str:
    return f"{Printed(value):.0f}" if value in (0.0, 1.0) else f"{Printed(value):.4f}"

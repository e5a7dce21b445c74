"""Regressions in words, and as tables for a paper."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from maskwell.core.phrases import Printed, magnitude, p_text, shorten
from maskwell.core.verdicts import at_least
from maskwell.estimation.regression.named_coefficients import Coefficients, flat_notes, interval_words, p_words
from maskwell.estimation.regression.nested_models import NestedTest
from maskwell.estimation.regression.predicted_chances import Effects, Predictions
from maskwell.estimation.regression.regression_result import Regression
from maskwell.notes import Note
from maskwell.reports.pages.paper_tables import Table
from maskwell.reports.plain_words import counted, more_of
from maskwell.reports.report import GAP, Block, Facts, Grid, Notes, Report, line
from maskwell.reports.text.design_report import asked_by, devices_told, with_level

MOST_TERMS = 60
MOST_DECIMALS = 8
LARGE = 1e7


def regression_report(
    regression: Regression,
    level: float,
    designs: Mapping[str, str],
    *,
    exponentiate: bool = False,
    tests: Sequence[NestedTest] = (),
    effects: Effects | None = None,
    predictions: Predictions | None = None,
) -> Report:
    """The coefficients with their errors, what they rest on, and what to look at next; and what else was asked for."""
    head, rows = _cells(regression, level, exponentiate=exponentiate, most=MOST_TERMS)
    marked = [*zip(rows, regression.is_threshold, strict=False)]
    terms, thresholds = ([row for row, one in marked if one == above] for above in (False, True))
    body: list[Block] = [Grid(head, terms, more=more_of(len(regression.terms), MOST_TERMS))]
    if thresholds:
        body += [GAP, Grid([head[0], "estimate", *head[2:]], thresholds, title="  thresholds (log odds)")]
    if regression.latent is not None:
        head, rows = _cells(regression.latent, level, exponentiate=False, most=MOST_TERMS)
        body += [GAP, Grid(head, rows, title=f"  {_latent_title(regression)}")]
    if effects is not None:
        head, rows = _cells(effects, level, exponentiate=False, most=MOST_TERMS)
        body += [GAP, Grid(["term", "effect", *head[2:]], rows, title=f"  {_effects_title(regression)}")]
    if predictions is not None:
        head, rows = _predicted(predictions, level, MOST_TERMS)
        body += [GAP, Grid(head, rows, title=f"  {_predicted_title(regression)}")]
    body += [
        Facts(
            [
                *_facts(regression),
                *_parameters(regression, level),
                *(("test", test.sentence()) for test in (*regression.checks, *tests)),
            ]
        ),
        Notes([*_left_out(regression), *_flags(regression, tests, level)]),
    ]
    first = next(iter(designs.values()), "")
    return Report(
        line(_answer(regression, level, exponentiate=exponentiate)),
        body,
        next_step=f"what a report reveals: maskwell audit {shlex.quote(first)}" if first else "",
    )


def regression_table(
    regression: Regression,
    level: float,
    *,
    exponentiate: bool = False,
    exact: bool = False,
    tests: Sequence[NestedTest] = (),
    effects: Effects | None = None,
    predictions: Predictions | None = None,
) -> Table:
    """The coefficients, or effects or predictions, as a table to publish; ``exact`` for programs: all digits."""
    part: Coefficients = predictions or effects or regression
    ratios = exponentiate and part is regression
    if predictions is not None:
        head, rows = _predicted(predictions, level, None)
    else:
        head, rows = _cells(part, level, exponentiate=ratios, most=None)
        head = head if effects is None else ["term", "effect", *head[2:]]
    head = with_level(head, level)
    if exact:
        rows = [_digits(row)[: len(head)] for row in part.rows(level, exponentiate=ratios)]
    said = [f"n = {regression.n:,} rows; {_how(regression)}."]
    facts = [*_facts(regression), *_parameters(regression, level)]
    said += [f"{name[:1].upper()}{name[1:]}: {value}." for name, value in facts]
    if regression.latent is not None:
        said.append(f"Fitted with a model of the {_latent_title(regression)}, not shown.")
    said += [f"Test {test.sentence()}." for test in (*regression.checks, *tests)]
    said += asked_by(devices_told(regression.designs))
    kind = f"{regression.family.capitalize()} regression with randomized response"
    kind = kind if effects is None else f"Average marginal effects ({_effects_title(regression)}), {kind.lower()}"
    kind = kind if predictions is None else f"Predictions ({_predicted_title(regression)}), {kind.lower()}"
    caption = f"{kind}: {regression.outcome if regression.formula is None else regression.formula}"
    return Table(
        head, rows, caption=caption, notes=[" ".join(said), *_left_out(regression), *_flags(regression, tests, level)]
    )


def coefficients_table(part: Coefficients, level: float) -> Table:
    """Coefficients, effects or predictions as a table to publish."""
    rows_told = [f"n = {part.n:,} rows."] if hasattr(part, "n") else []
    if isinstance(part, Predictions):
        head, rows = _predicted(part, level, None)
        return Table(with_level(head, level), rows, caption="Predictions", notes=[])
    head, rows = _cells(part, level, exponentiate=False, most=None)
    if isinstance(part, Effects):
        head = ["term", "effect", *head[2:]]
    caption = "Average marginal effects" if isinstance(part, Effects) else "Estimates"
    return Table(
        with_level(head, level),
        rows,
        caption=caption,
        notes=[*rows_told, *getattr(part, "flags", ()), *flat_notes([part], level)],
    )


def _predicted(predictions: Predictions, level: float, most: int | None) -> tuple[list[str], list[list[str]]]:
    """The predictions without a test, which has no meaning for them."""
    head = ["prediction", "chance" if predictions.chances else "mean", "std. error", "from", "to"]
    return head, [_line(row)[: len(head)] for row in predictions.rows(level)[:most]]


def _predicted_title(regression: Regression) -> str:
    what = "mean" if regression.family == "linear" else f"probability of {shorten(str(_about(regression)), 40)}"
    return f"predicted {what}" if regression.random is None else f"predicted {what}, mean over all groups"


def _effects_title(regression: Regression) -> str:
    if regression.family == "linear":
        return "change in the mean"
    return f"change in the probability of {shorten(str(_about(regression)), 40)}"


def _flags(regression: Regression, tests: Sequence[NestedTest], level: float) -> list[str]:
    """What a reader should know, with why a test is a Wald test where nothing else says so."""
    reasons = dict.fromkeys(test.reason for test in tests if test.reason and test.reason not in regression.flags)
    halves = any(test.halves for test in (*regression.checks, *tests))
    return [
        *regression.notes(level),
        *(f"no likelihood ratio test: {reason}" for reason in reasons),
        *([Note("p-of-a-variance")] if halves else []),
    ]


def _how(regression: Regression) -> str:
    if regression.family == "linear":
        return "corrected estimating equations"
    return "pseudo maximum likelihood" if "weights" in regression.variance else "maximum likelihood"


def _answer(regression: Regression, level: float, *, exponentiate: bool) -> str:
    """The first predictor of the formula, in one line."""
    first = next((j for j, term in enumerate(regression.terms) if not _is_intercept(term)), 0)
    row = regression.rows(level, exponentiate=exponentiate)[first]
    what = _effect(regression, row["term"], exponentiate=exponentiate)
    about = f"{shorten(regression.outcome, 16)} ~ {shorten(row['term'], 24)}"
    if row["standard_error"] is None and row["interval"][0] is None:
        return f"{about}: no finite estimate from {counted(regression.n, 'row', 'rows')}; see the notes."
    value, low, high = (_number(x, _decimals(row)) for x in (row["estimate"], *row["interval"]))
    if row["standard_error"] is None and not regression.flat(level)[first]:
        value = "has no finite estimate"
    return f"{about}: {what} {value} ({Printed(100 * level):g} % interval {low} to {high}; {regression.n:,} rows)."


def _is_intercept(term: str) -> bool:
    return term == "Intercept" or term.endswith(": Intercept")


def _effect(regression: Regression, term: str, *, exponentiate: bool) -> str:
    """What a coefficient is; an intercept is not a ratio."""
    if regression.family == "linear":
        return "mean" if _is_intercept(term) else "change in the mean"
    if regression.is_threshold[regression.place(term)]:
        return "threshold"
    what = "odds" if _is_intercept(term) else "odds ratio"
    return what if exponentiate else f"log {what}"


def _cells(
    regression: Coefficients, level: float, *, exponentiate: bool, most: int | None
) -> tuple[list[str], list[list[str]]]:
    head = ["term", "odds ratio" if exponentiate else "estimate", "std. error", "from", "to", "p"]
    return head, [_line(row) for row in regression.rows(level, exponentiate=exponentiate)[:most]]


def _line(row: Mapping[str, Any]) -> list[str]:
    values = [row["estimate"], row["standard_error"], *row["interval"]]
    p = row["p_value"]
    return [row["term"], *(_number(value, _decimals(row)) for value in values), "—" if p is None else p_text(p)]


def _digits(row: Mapping[str, Any]) -> list[str]:
    values = [row["estimate"], row["standard_error"], *row["interval"], row["p_value"]]
    return [row["term"], *("" if value is None else repr(value) for value in values)]


def _decimals(row: Mapping[str, Any]) -> int | None:
    """Decimals that show two digits of the standard error, at least four; None where that would be too many."""
    error = row["standard_error"]
    if not error or not math.isfinite(error):
        return 4
    decimals = max(4, 1 - magnitude(error))
    return decimals if decimals <= MOST_DECIMALS else None


def _number(value: float | None, decimals: int | None = 4) -> str:
    """So many decimals; a number too small or too large for them in powers of ten."""
    if value is None or math.isnan(value):
        return "—"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if decimals is None or at_least(abs(value), LARGE):
        return f"{Printed(value):.1e}"
    return f"{Printed(value):.{decimals}f}"


def _facts(regression: Regression) -> list[tuple[str, str]]:
    parts = [part for part in (regression, regression.latent) if part is not None]
    pairs = [("standard errors", regression.variance), ("intervals", _in_tables(map(interval_words, parts)))]
    if any(part.by_profile.any() for part in parts):
        pairs.append(("p values", _in_tables(map(p_words, parts))))
    if regression.degrees_of_freedom is not None:
        pairs.append(("degrees of freedom", f"{regression.degrees_of_freedom:,}"))
    if regression.family == "ordinal":
        ordered = " < ".join(map(str, regression.categories))
        pairs.append(("about", f"higher categories of {shorten(ordered, 80)}"))
    elif regression.categories:
        pairs.append(
            ("about", f"{shorten(str(_about(regression)), 40)}, against {shorten(str(regression.categories[-1]), 40)}")
        )
    if not math.isnan(regression.log_likelihood):
        pairs.append(("log-likelihood", f"{Printed(regression.log_likelihood):.4f}"))
    return pairs


def _in_tables(words: Iterable[str]) -> str:
    """The method of the first table, and that of the second where it differs."""
    return "; in the second table ".join(dict.fromkeys(words))


def _parameters(regression: Regression, level: float) -> list[tuple[str, str]]:
    """What else was estimated, each with its interval."""
    random = regression.random
    pairs = [] if random is None else [("groups", f"{random.groups:,} of {shorten(random.column, 24)}")]
    for one in regression.parameters:
        low, high = (_number(end) if math.isfinite(end) else "no end" for end in one.confidence_interval(level))
        within = f"{Printed(100 * level):g} % interval {low} to {high}"
        pairs.append((shorten(one.name, 40), f"{_number(one.estimate)} ({within})"))
    return pairs


def _about(regression: Regression) -> object:
    return regression.categories[0] if len(regression.categories) == 2 else "each category"


def _left_out(regression: Regression) -> list[str]:
    if not regression.dropped:
        return []
    whole = regression.n + regression.dropped
    were = "was" if regression.dropped == 1 else "were"
    return [f"{regression.dropped:,} of {whole:,} rows had a missing value and {were} left out"]


def _latent_title(regression: Regression) -> str:
    terms: Sequence[str] = regression.latent.terms if regression.latent is not None else ()
    attention = any(term.startswith("attention: ") for term in terms)
    return "attention (log odds)" if attention else "true categories of the randomized predictor (log odds)"

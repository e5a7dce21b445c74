"""Regressions as text for a terminal, and as tables for a paper."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.core.phrases import Printed, magnitude, p_text
from maskwell.estimation.regression.named_coefficients import Coefficients
from maskwell.estimation.regression.regression_result import Regression
from maskwell.reports.publish import Table
from maskwell.reports.tables import counted, facts, notes, shorten, table

SHOWN = 60
MOST_DECIMALS = 8
LARGE = 1e7


def regress_text(
    found: Regression, level: float, designs: Mapping[str, str], *, exponentiate: bool = False
) -> list[str]:
    """The coefficients with their errors, what they rest on, and what to look at next."""
    lines = [_answer(found, level, exponentiate=exponentiate)]
    lines += table(*_cells(found, level, exponentiate=exponentiate, most=SHOWN))
    if len(found.terms) > SHOWN:
        lines.append(f"  ... and {len(found.terms) - SHOWN:,} more: --json gives all")
    if found.latent is not None:
        head, rows = _cells(found.latent, level, exponentiate=False, most=SHOWN)
        lines += ["", f"  {_latent_title(found)}", *table(head, rows)]
    lines += facts(_facts(found))
    lines += notes([*_left_out(found), *found.flags])
    first = next(iter(designs.values()), "design.json")
    return [*lines, f"Next: what a report reveals: maskwell audit {shlex.quote(first)}"]


def regress_table(found: Regression, level: float, *, exponentiate: bool = False, exact: bool = False) -> Table:
    """The coefficients as a table to publish, with what belongs below it; ``exact`` for programs: all digits."""
    head, rows = _cells(found, level, exponentiate=exponentiate, most=None)
    percent = f"{Printed(100 * level):g} %"
    head = [f"{percent} low" if name == "from" else f"{percent} high" if name == "to" else name for name in head]
    if exact:
        rows = [_digits(row) for row in found.rows(level, exponentiate=exponentiate)]
    said = [f"n = {found.n:,} rows; {_how(found)}."]
    said += [f"{name.capitalize()}: {value}." for name, value in _facts(found)]
    if found.latent is not None:
        said.append(f"Fitted with a model of the {_latent_title(found)}, not shown.")
    kind = f"{found.family.capitalize()} regression with randomized response"
    caption = f"{kind}: {found.outcome if found.formula is None else found.formula}"
    return Table(head, rows, caption=caption, notes=[" ".join(said), *_left_out(found), *found.flags])


def _how(found: Regression) -> str:
    if found.family == "linear":
        return "corrected estimating equations"
    return "pseudo maximum likelihood" if "weights" in found.variance else "maximum likelihood"


def _answer(found: Regression, level: float, *, exponentiate: bool) -> str:
    """The first predictor of the formula, in one line."""
    first = next((j for j, term in enumerate(found.terms) if not _is_intercept(term)), 0)
    row = found.rows(level, exponentiate=exponentiate)[first]
    what = _effect(found, row["term"], exponentiate=exponentiate)
    about = f"{shorten(found.outcome, 16)} ~ {shorten(row['term'], 24)}"
    if row["standard_error"] is None:
        return f"{about}: no finite estimate from {counted(found.n, 'row', 'rows')}; see the notes."
    value, low, high = (_number(x, _decimals(row)) for x in (row["estimate"], *row["interval"]))
    return f"{about}: {what} {value} ({Printed(100 * level):g} % interval {low} to {high}; {found.n:,} rows)."


def _is_intercept(term: str) -> bool:
    return term == "Intercept" or term.endswith(": Intercept")


def _effect(found: Regression, term: str, *, exponentiate: bool) -> str:
    """What a coefficient is; an intercept is no ratio."""
    if found.family == "linear":
        return "mean" if _is_intercept(term) else "change in the mean"
    what = "odds" if _is_intercept(term) else "odds ratio"
    return what if exponentiate else f"log {what}"


def _cells(
    found: Coefficients, level: float, *, exponentiate: bool, most: int | None
) -> tuple[list[str], list[list[str]]]:
    head = ["term", "odds ratio" if exponentiate else "estimate", "std. error", "from", "to", "p"]
    return head, [_line(row) for row in found.rows(level, exponentiate=exponentiate)[:most]]


def _line(row: Mapping[str, Any]) -> list[str]:
    values = [row["estimate"], row["standard_error"], *row["interval"]]
    return [row["term"], *(_number(value, _decimals(row)) for value in values), p_text(row["p_value"])]


def _digits(row: Mapping[str, Any]) -> list[str]:
    values = [row["estimate"], row["standard_error"], *row["interval"], row["p_value"]]
    return [row["term"], *("" if value is None else repr(value) for value in values)]


def _decimals(row: Mapping[str, Any]) -> int | None:
    """Decimals that show two digits of the standard error, at least four; None where that would be too many.

    >>> [_decimals({"standard_error": error}) for error in (0.25, 0.00018, 1e-12, None)]
    [4, 5, None, 4]
    """
    error = row["standard_error"]
    if not error or not math.isfinite(error):
        return 4
    decimals = max(4, 1 - magnitude(error))
    return decimals if decimals <= MOST_DECIMALS else None


def _number(value: float | None, decimals: int | None = 4) -> str:
    """So many decimals; a number too small or too large for them in powers of ten.

    >>> _number(0.12345), _number(None), _number(0.00018, 6), _number(1e-12, None), _number(1e9), _number(-1e-9)
    ('0.1235', 'n/a', '0.000180', '1.0e-12', '1.0e+09', '0.0000')
    """
    if value is None or math.isnan(value):
        return "n/a"
    if decimals is None or abs(value) >= LARGE:
        return f"{Printed(value):.1e}"
    return f"{Printed(value):.{decimals}f}"


def _facts(found: Regression) -> list[tuple[str, str]]:
    pairs = [("standard errors", found.variance)]
    if found.degrees_of_freedom is not None:
        pairs.append(("degrees of freedom", f"{found.degrees_of_freedom:,}"))
    if found.categories:
        pairs.append(("about", f"{shorten(str(_about(found)), 40)}, against {shorten(str(found.categories[-1]), 40)}"))
    if not math.isnan(found.log_likelihood):
        pairs.append(("log-likelihood", f"{Printed(found.log_likelihood):.4f}"))
    return pairs


def _about(found: Regression) -> object:
    return found.categories[0] if len(found.categories) == 2 else "each category"


def _left_out(found: Regression) -> list[str]:
    if not found.dropped:
        return []
    whole = found.n + found.dropped
    were = "was" if found.dropped == 1 else "were"
    return [f"{found.dropped:,} of {whole:,} rows had a missing value and {were} left out"]


def _latent_title(found: Regression) -> str:
    terms: Sequence[str] = found.latent.terms if found.latent is not None else ()
    attention = any(term.startswith("attention: ") for term in terms)
    return "attention (log odds)" if attention else "true categories of the randomized predictor (log odds)"

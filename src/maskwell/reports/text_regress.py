"""Regressions as text for a terminal, and as tables for a paper."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.estimation.regression.coefficients import Coefficients
from maskwell.estimation.regression.result import Regression
from maskwell.reports.publish import Table
from maskwell.reports.tables import counted, facts, notes, shorten, table

SHOWN = 60
EFFECT = {"logistic": "log odds ratio", "multinomial": "log odds ratio", "linear": "change in the mean"}


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
    if exact:
        rows = [_digits(row) for row in found.rows(level, exponentiate=exponentiate)]
    said = [f"{found.family.capitalize()} regression with randomized response, {counted(found.n, 'row', 'rows')}."]
    said += [f"{name.capitalize()}: {value}." for name, value in _facts(found)]
    return Table(head, rows, notes=[" ".join(said), *_left_out(found), *found.flags])


def _answer(found: Regression, level: float, *, exponentiate: bool) -> str:
    """The strongest evidence, in one line."""
    shown = [j for j, term in enumerate(found.terms) if not term.endswith("Intercept")] or [0]
    strength = [abs(z) if math.isfinite(z) else -1.0 for z in found.z]
    best = max(shown, key=lambda j: strength[j])
    rows = found.rows(level, exponentiate=exponentiate)
    row, error = rows[best], found.standard_error[best]
    what = "odds ratio" if exponentiate else EFFECT[found.family]
    about = f"{shorten(found.outcome, 16)} ~ {shorten(row['term'], 24)}"
    if math.isnan(error):
        return f"{about}: no finite estimate from {counted(found.n, 'row', 'rows')}; see the notes."
    low, high = (_number(x) for x in row["interval"])
    return f"{about}: {what} {_number(row['estimate'])} ({100 * level:g} % interval {low} to {high}; {found.n:,} rows)."


def _cells(
    found: Coefficients, level: float, *, exponentiate: bool, most: int | None
) -> tuple[list[str], list[list[str]]]:
    head = ["term", "odds ratio" if exponentiate else "estimate", "std. error", "from", "to", "p"]
    return head, [_line(row) for row in found.rows(level, exponentiate=exponentiate)[:most]]


def _line(row: Mapping[str, Any]) -> list[str]:
    values = [row["estimate"], row["standard_error"], *row["interval"]]
    return [row["term"], *map(_number, values), _p_value(row["p_value"])]


def _digits(row: Mapping[str, Any]) -> list[str]:
    values = [row["estimate"], row["standard_error"], *row["interval"], row["p_value"]]
    return [row["term"], *("" if value is None else repr(value) for value in values)]


def _number(value: float | None) -> str:
    """Four decimals; a number too small or too large for them in powers of ten.

    >>> _number(0.12345), _number(None), _number(0.00001), _number(1e9), _number(0.0)
    ('0.1235', 'n/a', '1.0e-05', '1.0e+09', '0.0000')
    """
    if value is None or math.isnan(value):
        return "n/a"
    return f"{value:.4f}" if value == 0 or 5e-4 <= abs(value) < 1e5 else f"{value:.1e}"


def _p_value(value: float | None) -> str:
    """Never zero.

    >>> _p_value(0.04321), _p_value(1e-9), _p_value(None)
    ('0.043', '<0.001', 'n/a')
    """
    if value is None:
        return "n/a"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _facts(found: Regression) -> list[tuple[str, str]]:
    pairs = [("standard errors", found.variance)]
    if found.degrees_of_freedom is not None:
        pairs.append(("degrees of freedom", f"{found.degrees_of_freedom:,}"))
    if found.categories:
        pairs.append(("about", f"{shorten(str(_about(found)), 40)}, against {shorten(str(found.categories[-1]), 40)}"))
    if not math.isnan(found.log_likelihood):
        pairs.append(("log-likelihood", f"{found.log_likelihood:.4f}"))
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

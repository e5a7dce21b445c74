"""The table of coefficients as text, for a notebook or a terminal."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from maskwell.core.phrases import p_text, shorten
from maskwell.core.printed import Printed
from maskwell.estimation.regression.coefficients import Coefficients

if TYPE_CHECKING:
    from maskwell.estimation.regression.result import Regression

WIDTH = 98
NAMES = 40


def summary_lines(result: Regression, level: float) -> list[str]:
    """Facts in two columns, the coefficients, and the notes."""
    title = f"{result.family.capitalize()} regression with randomized response"
    lines = [title.center(WIDTH).rstrip(), "=" * WIDTH, *_facts(result), "=" * WIDTH]
    parts = [result] if result.latent is None else [result, result.latent]
    width = min(NAMES, max(len(term) for part in parts for term in part.terms))
    lines += coefficient_lines(result, level, width)
    if result.latent is not None:
        lines += ["-" * WIDTH, *coefficient_lines(result.latent, level, width)[2:]]
    lines.append("=" * WIDTH)
    return lines + [line for flag in result.flags for line in textwrap.wrap(f"note: {flag}", WIDTH)]


def coefficient_lines(found: Coefficients, level: float, width: int) -> list[str]:
    """A header and one line for each coefficient."""
    tail = (1 - level) / 2
    letter = "z" if found.degrees_of_freedom is None else "t"
    header = ["", "coef", "std err", letter, f"P>|{letter}|", f"[{Printed(tail):.3g}", f"{Printed(1 - tail):.3g}]"]
    rows = zip(
        found.terms,
        found.estimates,
        found.standard_error,
        found.z,
        found.p_values,
        found.confidence_interval(level),
        strict=True,
    )
    lines = [_line(header, width), "-" * WIDTH]
    for term, value, error, z, p, (low, high) in rows:
        cells = [_digits(value), _digits(error), f"{Printed(z):.3f}", p_text(p), _digits(low), _digits(high)]
        lines.append(_line([shorten(term, NAMES), *(cell.replace("nan", "n/a") for cell in cells)], width))
    return lines


def _facts(result: Regression) -> list[str]:
    pairs = [
        ("Outcome:", shorten(result.outcome, 30)),
        ("No. observations:", f"{result.n:,}"),
        ("Model:", _model(result)),
        ("Log-likelihood:", "n/a" if math.isnan(result.llf) else f"{Printed(result.llf):.3f}"),
        ("Variance:", shorten(result.variance, WIDTH // 2 - 20)),
        ("Pseudo R-squared:", "n/a" if result.prsquared is None else f"{Printed(result.prsquared):.4f}"),
        ("Converged:", "yes" if result.converged else "no"),
        ("AIC:", "n/a" if math.isnan(result.llf) else f"{Printed(result.aic):.1f}"),
    ]
    cells = [f"{name:<18}{value:>{WIDTH // 2 - 20}}" for name, value in pairs]
    return [f"{left}  {right}".rstrip() for left, right in zip(cells[::2], cells[1::2], strict=True)]


def _model(result: Regression) -> str:
    return shorten(f"reference {result.categories[-1]}" if result.categories else result.family, 26)


def _line(cells: list[str], width: int) -> str:
    numbers = "".join(f"{cell:>{(WIDTH - width) // 6}}" for cell in cells[1:])
    return f"{cells[0]:<{width}}{numbers}".rstrip()


def _digits(value: float) -> str:
    """Four decimals, or four digits of what is very small or large."""
    return f"{Printed(value):.4f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{Printed(value):.3e}"

"""The curves of a demand from a table with columns p, lower, upper."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from maskwell.core.exact import as_fraction, as_given, check_probability, to_decimal
from maskwell.engines.small_tables import read_lines
from maskwell.errors import DataFileError, ParameterError
from maskwell.privacy.curves import Curve, Lines, Steps

HINT = "give a CSV with a header p,lower,upper and one row for each prior, the first for p = 0"
Rows = Sequence[tuple[Fraction, Fraction]]


def read_curves(path: str, *, between: str = "steps") -> tuple[Curve | None, Curve | None]:
    """The lower and the upper curve; one whose column is absent is None.

    ``between`` = "steps": the values of a row hold from its p up to the next. "lines": rows are joined by straight
    lines, with (0, 0) and (1, 1) added where the table does not reach.
    """
    table = _read(path)
    make = _steps if between == "steps" else _lines
    curves = []
    for name in ("lower", "upper"):
        rows = [(p, row[name]) for p, row in table.items() if name in row]
        try:
            curves.append(make(rows) if rows else None)
        except ParameterError as error:
            raise ParameterError(f"{path}, column {name}: {error.message}", hint=error.hint, path=path) from error
    return curves[0], curves[1]


def _read(path: str) -> dict[Fraction, dict[str, Fraction]]:
    lines = read_lines(path, hint=HINT)
    header = lines[0][1] if lines else []
    if "p" not in header or not {"lower", "upper"} & set(header) or len(set(header)) < len(header):
        raise DataFileError(f"{path} has the columns {', '.join(header) or 'none'}", hint=HINT, path=path)
    return _checked(path, header, lines[1:])


def _checked(
    path: str, header: Sequence[str], lines: Sequence[tuple[int, Sequence[str]]]
) -> dict[Fraction, dict[str, Fraction]]:
    """The table by its priors; ``lines`` come with their number in the file."""
    table: dict[Fraction, dict[str, Fraction]] = {}
    for number, line in lines:
        if len(line) != len(header):
            raise DataFileError(f"{path}, line {number}: {len(line)} fields for {len(header)} columns", hint=HINT)
        cells = dict(zip(header, line, strict=True))
        p = as_given(as_fraction(cells["p"], f"{path}, line {number}, p"), cells["p"])
        before = next(reversed(table), None)
        if not 0 <= p <= 1 or (before is not None and p <= before):
            wrong = (
                f"comes after p = {to_decimal(before)}" if before is not None and p <= before else "is not from 0 to 1"
            )
            raise DataFileError(
                f"{path}, line {number}: p = {to_decimal(p)} {wrong}", hint="let p rise from 0, at most to 1"
            )
        table[p] = {
            name: check_probability(cells[name], f"{path}, line {number}, {name}")
            for name in ("lower", "upper")
            if name in cells
        }
    if not table:
        raise DataFileError(f"{path} has no rows", hint=HINT, path=path)
    return table


def _steps(rows: Rows) -> Steps:
    if rows[0][0] != 0:
        raise ParameterError(
            f"nothing is said about priors below {to_decimal(rows[0][0])}",
            hint="begin with a row for p = 0: its values hold up to the next p",
        )
    inside = [(p, v) for p, v in rows if p < 1]
    return Steps.of([p for p, _ in inside[1:]], [v for _, v in inside])


def _lines(rows: Rows) -> Lines:
    start = [] if rows[0][0] == 0 else [(Fraction(0), Fraction(0))]
    end = [] if rows[-1][0] == 1 else [(Fraction(1), Fraction(1))]
    return Lines.of([*start, *rows, *end])

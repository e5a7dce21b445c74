"""What a column of a microdata file probably is, guessed from its name and its labels; a person has the last word."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

from maskwell.core.cells import CellTable

FEW = 30
"""A column with at most so many labels can be randomized as it is."""

MANY = 100_000
"""Beyond this, a column of categories has to be grouped before anything else."""

_WEIGHT = re.compile(r"weight|wgt|wght|^w$|^wt|^pw$|_wt$|gewicht|^pond", re.IGNORECASE)
_BODY = re.compile(r"^height|^bmi$|^birth", re.IGNORECASE)
_ID = re.compile(r"(^|_)id$|^id|[a-z]id$|uuid|serial|^pnr$|^hid$|record(no|nr)$|^[dhpr]b030$", re.IGNORECASE)
_NAME = re.compile(r"name|address|e_?mail|phone|street|postcode|zip|^ssn$|passport", re.IGNORECASE)
_KEY = re.compile(
    r"sex|gender|^age|age$|agegr|region|urb|rur|province|state|county|race|rac1|ethn|hisp|marit|marst|msp|civil"
    r"|nation|citizen|relat|educ|^edu|degree|occup|^job$|size|birth|hous",
    re.IGNORECASE,
)
_SENSITIVE = re.compile(
    r"income|salary|wage|earn|wealth|debt|asset|health|disab|disease|hiv|drug|alc|smok|abus|relig|vote|party|crim"
    r"|depress|benefit|poverty|pov|orient",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Guess:
    """What one column probably is.

    Attributes
    ----------
    name, n, labels, missing
        The column, records, different labels, and records without a value.
    role
        ``"weights"``, ``"id"``, ``"drop"`` (names people), ``"few"`` (categories), ``"many"`` (too many of them),
        ``"numbers"`` or ``"constant"``.
    key, sensitive
        Whether the name is that of something an intruder may know, or of something nobody should learn.
    """

    name: str
    n: int
    labels: int
    missing: int
    role: str
    key: bool
    sensitive: bool


def guess_columns(tables: Iterable[CellTable], unique: Collection[str] = ()) -> list[Guess]:
    """What the columns of a file probably are, from a table of each; ``unique`` ones differ for every record."""
    counted = [*tables]
    bodies = any(_BODY.search(table.columns[0]) for table in counted)
    return [guess_column(table, bodies=bodies, unique=table.columns[0] in unique) for table in counted]


def guess_column(table: CellTable, *, bodies: bool = False, unique: bool = False) -> Guess:
    """What the column of a table of one column probably is; beside the height of bodies, a weight is that of a body.

    >>> guess_column(CellTable.of(["sex"], {("f",): 6, ("m",): 5})).role
    'few'
    >>> guess_column(CellTable.of(["pid"], {(i,): 1 for i in range(99)})).role
    'id'
    """
    name = table.columns[0]
    labels = [label for label in table.levels[0] if label is not None]
    missing = sum(int(c) for label, c in zip(table.labels(), table.counts, strict=True) if label[0] is None)
    weights = not missing and _is_weight(name, labels) and not (bodies and name.lower() == "weight")
    role = "weights" if weights else _role(name, labels, table.n, unique=unique)
    return Guess(name, table.n, len(labels), missing, role, bool(_KEY.search(name)), bool(_SENSITIVE.search(name)))


def _role(name: str, labels: Sequence[Hashable], n: int, *, unique: bool) -> str:
    k, numeric = len(labels), _are_numbers(labels)
    if k <= 1:
        return "constant"
    if (k == n or unique) and k > FEW and (_ID.search(name) or (numeric and _are_consecutive(labels))):
        return "id"
    if k > FEW and (_ID.search(name) or (not numeric and (_NAME.search(name) or 2 * k > n))):
        return "drop"
    if k <= FEW:
        return "few"
    return "numbers" if numeric and k < MANY and (k > n / 50 or _has_fractions(labels)) else "many"


def _is_weight(name: str, labels: Sequence[Hashable]) -> bool:
    """Whether a column holds survey weights: by its name, and positive numbers."""
    return bool(_WEIGHT.search(name)) and _are_numbers(labels) and all(_number(label) > 0 for label in labels)


def _are_numbers(labels: Sequence[Hashable]) -> bool:
    try:
        return all(_number(label) == _number(label) for label in labels)
    except ValueError:
        return False


def _are_consecutive(labels: Sequence[Hashable]) -> bool:
    values = [_number(label) for label in labels]
    return not _has_fractions(labels) and max(values) - min(values) == len(values) - 1


def _has_fractions(labels: Sequence[Hashable]) -> bool:
    return any(not _number(label).is_integer() for label in labels)


def _number(label: Hashable) -> float:
    if isinstance(label, bool) or not isinstance(label, int | float | str):
        raise ValueError(label)
    return float(label)

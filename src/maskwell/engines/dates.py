"""Dates of SPSS, Stata and SAS, which are numbers with a format, as dates of Arrow.

SPSS counts seconds from 14 October 1582, Stata days or milliseconds and SAS days or seconds from 1 January 1960. Other
formats of time (quarters, hours of the day) stay numbers.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.engines.arrow import require

_DAY = 86_400
_1970 = date(1970, 1, 1)
_SINCE_1582 = (_1970 - date(1582, 10, 14)).days
_SINCE_1960 = (_1970 - date(1960, 1, 1)).days

SPSS_DATES = {"DATE", "ADATE", "EDATE", "JDATE", "SDATE"}
SPSS_TIMES = {"DATETIME", "YMDHMS"}
SAS_DATES = {"DATE", "DDMMYY", "MMDDYY", "YYMMDD", "E8601DA", "IS8601DA", "B8601DA"}
SAS_TIMES = {"DATETIME", "E8601DT", "IS8601DT", "B8601DT"}


def date_type(kind: str, form: str | None) -> Any:
    """The Arrow type of a column with this format, None where it is no date.

    >>> str(date_type(".sav", "DATE11")), str(date_type(".dta", "%tc")), date_type(".sav", "F8.2")
    ('date32[day]', 'timestamp[us]', None)
    """
    arrow, found = require(), _scale(kind, form)
    if found is None:
        return None
    return arrow.date32() if found[2] else arrow.timestamp("us")


def as_dates(values: Real, lost: Array, kind: str, form: str | None) -> Any:
    """A column of numbers as dates; ``lost`` are the rows without a value."""
    arrow, found = require(), _scale(kind, form)
    if found is None:
        raise ValueError(f"{form} is no format of dates")
    seconds, before, whole_days = found
    clean = np.where(lost, 0.0, values)
    if whole_days:
        days = np.floor(clean * seconds / _DAY) - before
        return arrow.array(days.astype(np.int32), mask=lost).cast(arrow.date32())
    micro = np.rint((clean * seconds - before * _DAY) * 1e6)
    return arrow.array(micro.astype(np.int64), mask=lost).cast(arrow.timestamp("us"))


def _scale(kind: str, form: str | None) -> tuple[float, int, bool] | None:
    """Seconds in a unit, days before 1970 of its origin, and whether only the day counts."""
    if form is None:
        return None
    if kind == ".dta":
        if form.startswith(("%td", "%d")):
            return _DAY, _SINCE_1960, True
        return (0.001, _SINCE_1960, False) if form.startswith("%tc") else None
    name = re.sub(r"[\d.]+$", "", form.upper())
    if kind == ".sav":
        return (1.0, _SINCE_1582, name in SPSS_DATES) if name in SPSS_DATES | SPSS_TIMES else None
    if name in SAS_DATES:
        return _DAY, _SINCE_1960, True
    return (1.0, _SINCE_1960, False) if name in SAS_TIMES else None

"""What a protection says about single labels: those that stay, and those with a bound of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from maskwell.core.exact import percent_meant, to_decimal
from maskwell.errors import PlanError
from maskwell.release.plans import entries as read
from maskwell.release.plans.entries import Reader


def read_exclude(variables: Sequence[str]) -> Reader[dict[str, tuple[str, ...]]]:
    """Reads the labels that stay: a list for one variable, a table of lists for several.

    >>> read_exclude(["roof"])([9], "exclude"), read_exclude(["roof", "sex"])({"roof": ["9"]}, "exclude")
    ({'roof': ('9',)}, {'roof': ('9',)})
    """

    def entry(value: Any, name: str) -> dict[str, tuple[str, ...]]:
        given = value if isinstance(value, Mapping) else {_only(variables, name, '{ roof = ["9"] }'): value}
        _check_variables(given, variables, name)
        return {variable: read.labels(labels, f"{name} of {variable!r}") for variable, labels in given.items()}

    return entry


def read_caps(variables: Sequence[str]) -> Reader[dict[str, Fraction]]:
    """Reads the bounds of single labels of a variable.

    >>> read_caps(["roof"])({"9": "0.3"}, "caps")
    {'9': Fraction(3, 10)}
    """

    def entry(value: Any, name: str) -> dict[str, Fraction]:
        if len(variables) > 1:
            raise PlanError(
                f"{name} needs a single variable", hint="bound all combinations alike, such as posterior_own = 0.3"
            )
        return {label: _cap(cap, f"{name}: {label}") for label, cap in read.table(value, name).items()}

    return entry


def _cap(value: Any, name: str) -> Fraction:
    found = read.number(value, name)
    if not 0 <= found <= 1:
        raise PlanError(
            f"{name} = {to_decimal(found)} is out of range", hint=f"give a number 0 to 1{percent_meant(found)}"
        )
    return found


def _only(variables: Sequence[str], name: str, form: str) -> str:
    if len(variables) != 1:
        raise PlanError(
            f"{name} does not say which variable it is for", hint=f"write {name.rsplit(': ', 1)[-1]} = {form}"
        )
    return variables[0]


def _check_variables(given: Mapping[str, Any], variables: Sequence[str], name: str) -> None:
    for variable in given:
        if variable not in variables:
            raise read.unknown(str(variable), f"{name}: there is no variable", [*variables], " here")

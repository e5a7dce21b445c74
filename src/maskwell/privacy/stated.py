"""A demand worked out anew from the words in which it was stated, and how its bound follows from them.

What is stated is exact text, so that another program can do the same::

    {"language": "epsilon", "epsilon": "1"}
    {"language": "rho", "rho1": "1/10", "rho2": "1/2", "closed": false}
    {"language": "curves", "lower": null, "upper": {"steps": {"edges": [...], "values": [...]}}, "closed": false}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from maskwell.core.exact import from_text
from maskwell.privacy.criteria import DEMANDS, FUNCTION, Demand
from maskwell.privacy.curves import Boundary, Curve, Lines, Steps

RULES = {
    "gamma": "gamma itself",
    "bayes_factor": "the factor itself",
    "beta": "beta itself",
    "epsilon": "e^epsilon, rounded down",
    "rho": "rho2 (1 - rho1) / (rho1 (1 - rho2))",
    "curves": "the least ratio of odds between curve and prior",
}
"""How the bound on parity follows from what was stated, by language."""


def demand_from_stated(stated: Mapping[str, Any]) -> Demand | None:
    """The demand that was stated; None when a curve is a function, which cannot be stated in full.

    Raises
    ------
    ValueError
        Anything but the exact text that a demand writes of itself.

    >>> demand_from_stated({"language": "rho", "rho1": "1/10", "rho2": "1/2", "closed": False}).gamma_exact
    Fraction(9, 1)
    """
    demand = _read(stated)
    again = _as_function(stated) if demand is None else demand.stated
    if json.dumps(again, sort_keys=True) != json.dumps(stated, sort_keys=True):
        raise ValueError("the demand is not stated as it should be")
    return demand


def _read(stated: Mapping[str, Any]) -> Demand | None:
    language = stated["language"]
    if language == "curves":
        if FUNCTION in (stated["lower"], stated["upper"]):
            return None
        lower, upper = (_curve(stated[side], upward=side == "upper") for side in ("lower", "upper"))
        return Demand.from_curves(lower=lower, upper=upper, closed=_flag(stated["closed"]))
    if language == "rho":
        return Demand.from_rho(from_text(stated["rho1"]), from_text(stated["rho2"]), closed=_flag(stated["closed"]))
    return DEMANDS[language](from_text(stated[language]))


def _as_function(stated: Mapping[str, Any]) -> dict[str, Any]:
    """What can be read of a demand with a curve that only a program knows, written anew."""
    sides = {side: _written(stated[side], upward=side == "upper") for side in ("lower", "upper")}
    return {"language": "curves", **sides, "closed": _flag(stated["closed"])}


def _written(form: Any, *, upward: bool) -> Any:
    curve = None if form == FUNCTION else _curve(form, upward=upward)
    return FUNCTION if form == FUNCTION else None if curve is None else curve.to_json()


def _curve(form: Any, *, upward: bool) -> Curve | None:
    if form is None:
        return None
    ((kind, content),) = form.items()
    readers: dict[str, Callable[[], Curve]] = {
        "steps": lambda: _steps(content),
        "lines": lambda: Lines.of([(from_text(p), from_text(v)) for p, v in content]),
        "boundary": lambda: Boundary(math.inf if content == "inf" else from_text(content), upward=upward),
    }
    return readers[kind]()


def _steps(content: Mapping[str, Any]) -> Steps:
    closed = content.get("closed_right")
    return Steps.of(
        [from_text(edge) for edge in content["edges"]],
        [from_text(value) for value in content["values"]],
        closed_right=None if closed is None else [_flag(end) for end in closed],
        points=[(from_text(p), from_text(v)) for p, v in content.get("points", [])],
    )


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.50} is neither true nor false")
    return value

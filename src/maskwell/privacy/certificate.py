"""Certificates: a design together with what was proved about it, for anyone to check.

A certificate is JSON::

    {"maskwell": "certificate", "version": 1, "design": ..., "claims": ..., "seal": "sha256:..."}

The claims are exact (fractions as text) and a function of what is given (the design, the demand as stated, an original
and its garbling), so that recomputing them and finding the same text is a complete check. ``slack`` says where a
demand is met only within the slack for decimals. The seal is the SHA-256 of everything else; it shows a slip.

Source: [ChaiNayak2018, Theorem 3.1] for parity and its bounds, Theorems 4.2 and 4.3 for admissibility.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.core.display import Result
from maskwell.core.documents import fingerprint_of, json_schema
from maskwell.core.exact import Parity, from_text, to_text
from maskwell.core.phrases import in_json
from maskwell.designs.design import Design
from maskwell.errors import CertificateError, ParameterError
from maskwell.privacy.criteria import DEMANDS, FUNCTION, SLACK, Demand, verdict
from maskwell.privacy.curves import Boundary, Curve, Lines, Steps
from maskwell.privacy.provable_claims import Improves, proof_of, provable, provable_rows

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
    """The demand that was stated; None when a curve is a function, which cannot be stated in full."""
    demand = _read(stated)
    again: Mapping[str, Any]
    if demand is None:  # what can be read of a demand with a curve that only a program knows, written anew
        sides = {side: _written(stated[side], upward=side == "upper") for side in ("lower", "upper")}
        again = {"language": "curves", **sides, "closed": _flag(stated["closed"])}
    else:
        again = demand.stated
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


VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Result):
    """A proof object: ``content`` is what its file holds.

    >>> from maskwell import Categories
    >>> from maskwell.designs import Uniform
    >>> coin = Uniform.from_gamma(3, Categories.of(["yes", "no"]))
    >>> proof = certify(coin, Demand.from_rho("0.1", "0.5"))
    >>> proof.claims["parity"], proof.claims["demand"]["gamma"], proof.claims["meets"]
    ('3', '9', True)
    """

    content: Mapping[str, Any]

    @property
    def claims(self) -> Mapping[str, Any]:
        """What is claimed of the design."""
        claims: Mapping[str, Any] = self.content["claims"]
        return claims

    def to_dict(self) -> dict[str, Any]:
        """The content of its file."""
        return dict(self.content)

    def text(self) -> str:
        """The text of its file."""
        return in_json(json.dumps(self.content, indent=1, ensure_ascii=False)) + "\n"

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the file; an existing one is replaced only if asked."""
        from maskwell.core.atomic import save_text

        save_text(path, self.text(), overwrite=overwrite, error=CertificateError)

    def __repr__(self) -> str:
        met = f", meets={self.claims['meets']}" if "meets" in self.claims else ""
        return f"Certificate(parity={self.claims['parity']}{met})"


def certify(design: Design, demand: Demand | None = None, *, improvement: Improves | None = None) -> Certificate:
    """Prove what a design promises: exact parity, the demand's bound, admissibility, and an improvement if it is one.

    Designs made of steps or of open cells are certified by their matrix; TooLargeError where that is too large.

    Parameters
    ----------
    demand
        What parity is held against, recomputed from the exact text in which it was stated.
    improvement
        The design that this one replaces, with the garbling that shows it; CertificateError where it does not.
    """
    check_kind(Design, design=design)
    check_kind(Demand | None, demand=demand)
    check_kind(Improves | None, improvement=improvement)
    form = provable(design) if improvement is None else provable_rows(design)
    parity = form.parity_exact()
    claims: dict[str, Any] = {"parity": to_text(parity)}
    if demand is not None:
        claims |= answer_of(_stated(demand), parity, decimals=form.decimals)
    claims["admissible"] = proof_of(form, parity)
    if improvement is not None:
        if (fault := improvement.fault(form)) is not None:
            raise CertificateError("the-garbling-does-not-prove", fault=fault)
        claims["improves"] = improvement.to_dict()
    content = {"maskwell": "certificate", "version": VERSION, "design": form.to_dict(), "claims": claims}
    return Certificate({**content, "seal": fingerprint_of(content)})


def _stated(demand: Demand) -> dict[str, Any]:
    """What a demand says of itself, with the bound that a function of a program was given."""
    if not demand.stated:
        raise ParameterError("the-demand-does-not-say-how", text=demand.text)
    if demand.gamma_exact == math.inf:
        raise ParameterError("allows-any-parity-there-is-nothing", text=demand.text)
    return {"stated": demand.stated, "gamma": to_text(demand.gamma_exact), "decimals": demand.decimals}


def answer_of(demand: Mapping[str, Any], parity: Parity, *, decimals: bool) -> dict[str, Any]:
    """The claims about a stated demand: its bound, whether a parity meets it, and the slack where that decides."""
    bound, gamma = bound_of(demand)
    inexact = [side for side, given in (("design", decimals), ("demand", demand.get("decimals"))) if given]
    answer = verdict(parity, gamma, decimals=bool(inexact), strict=bound["strict"])
    slack = {"relative": to_text(SLACK), "given_as_decimals": inexact}
    return {"demand": bound, "meets": answer.meets, **({"slack": slack} if answer.slack_used else {})}


def bound_of(demand: Mapping[str, Any]) -> tuple[dict[str, Any], Fraction]:
    """The bound that follows from a stated demand, as claimed and as a number; ValueError where nothing is asked.

    ``derived``: computed from what was stated. ``strict``: parity must stay below it, as some prior reaches it.
    """
    stated = demand["stated"]
    derived = demand_from_stated(stated)
    strict = stated["closed"] if derived is None else derived.strict
    gamma = parity_from_text(demand["gamma"]) if derived is None else derived.gamma_exact
    if isinstance(gamma, float) or gamma < 1:
        raise ValueError("a bound on parity is a number of 1 or more")
    return {"stated": dict(stated), "derived": derived is not None, "gamma": to_text(gamma), "strict": strict}, gamma


def parity_from_text(text: Any) -> Parity:
    """A parity from its exact text, infinity included."""
    return math.inf if text == "inf" else from_text(text)


def schema() -> dict[str, Any]:
    """The JSON Schema of certificates; it refers to that of design files."""
    return json_schema("maskwell.privacy", "certificate.schema.json")

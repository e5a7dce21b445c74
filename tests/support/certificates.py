"""Certificates of every kind of design, the checker of the documentation, and ways to change a certificate."""

import contextlib
import importlib.util
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.examples import ABC, EXAMPLES, numbered

from maskwell import Demand, Design
from maskwell.core.documents import fingerprint_of
from maskwell.designs import Dense, Subset, Unary, design_from_dict
from maskwell.errors import CertificateError
from maskwell.planning.improvement import improve
from maskwell.privacy import Certificate
from maskwell.privacy.certificate import certify, demand_from_stated
from maskwell.privacy.certificate_check import verify_text
from maskwell.privacy.provable_claims import Improves

CHECKER = Path(__file__).parents[2] / "docs/reference/check_certificate.py"
SHARED = Dense.of([["1/3", "1/6"], ["1/6", "1/3"], [0, 0], ["1/3", "1/6"], ["1/6", "1/3"]])
"""Admissible, with two witnesses for four rows."""
NEAR_TWO = Dense.of([["0.6666666666666667", "0.3333333333333333"], ["0.3333333333333333", "0.6666666666666667"]])
"""Given as decimals, of a parity just above 2."""
ROUGH = Dense.of([["0.4", "0.3", "0.3"], ["0.3", "0.4", "0.2"], ["0.3", "0.3", "0.5"]], ABC)


def improved(design: Design, **options: Any) -> tuple[Design, Improves]:
    """The better design, and how it improves the other."""
    found = improve(design, **options)
    assert found.sparse is not None
    return found.design, Improves.of(design, found.sparse.entries())


@cache
def certificates() -> dict[str, Certificate]:
    """One for each kind of design, demand and proof."""
    rho, closed = Demand.from_rho("0.1", "0.5"), Demand.from_rho("1/10", "1/2", closed=True)
    better, proof = improved(ROUGH, gamma=3)
    rappor, of_rappor = improved(Unary.rappor_from_gamma(4, ABC))
    product, of_product = improved(EXAMPLES["kronecker of two"])
    return {
        "dense": certify(EXAMPLES["dense square"], rho),
        "dense that fails C1": certify(EXAMPLES["dense tall with a zero row"], closed),
        "dense that fails C2": certify(EXAMPLES["dense wide"], Demand.from_gamma("3")),
        "dense with shared witnesses": certify(SHARED, Demand.from_beta("2")),
        "dense of floats": certify(EXAMPLES["dense of floats"], Demand.from_epsilon("1.5")),
        "dense within slack": certify(NEAR_TWO, Demand.from_gamma("2")),
        "dense within the slack of a demand": certify(SHARED, Demand.from_beta("1.9999999999")),
        "dense without a bound": certify(EXAMPLES["dense of three, skew"], rho),
        "uniform": certify(EXAMPLES["uniform k=4, epsilon 1"], Demand.from_epsilon(1)),
        "uniform, the truth": certify(EXAMPLES["uniform, the truth"]),
        "mixture": certify(EXAMPLES["mixture"], Demand.from_bayes_factor("7")),
        "mixture of equals": certify(EXAMPLES["mixture of equals"], closed),
        "patterns": certify(EXAMPLES["patterns of all sets"], Demand.from_gamma("3")),
        "subset": certify(EXAMPLES["subset k=9 q=3, epsilon 1"], Demand.from_epsilon("0.9")),
        "l-diverse": certify(EXAMPLES["l-diverse k=5 l=3"], rho),
        "unary": certify(EXAMPLES["rappor k=9, epsilon 1"], Demand.from_epsilon(1)),
        "kronecker": certify(EXAMPLES["kronecker of three"], rho),
        "kronecker with a silent factor": certify(EXAMPLES["kronecker with a silent factor"], rho),
        "blocks": certify(EXAMPLES["blocks of two"], rho),
        "composed": certify(EXAMPLES["composed mixture after uniform"], rho),
        "large subset": certify(Subset.from_gamma(3, numbered(1000), size=250), Demand.from_gamma("3")),
        "improved": certify(better, Demand.from_gamma("3"), improvement=proof),
        "improved rappor": certify(rappor, Demand.from_gamma("4"), improvement=of_rappor),
        "improved product": certify(product, improvement=of_product),
    }


@cache
def checker() -> Any:
    """The program of the documentation, as a module."""
    spec = importlib.util.spec_from_file_location("check_certificate", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_holds(text: str) -> bool:
    """Whether every claim holds for the program of the documentation; whatever it stumbles on is a no."""
    try:
        return all(holds for what, holds in checker().check(text) if what != "the demand is met")
    except Exception:  # noqa: BLE001 (its own rule)
        return False


def maskwell_holds(text: str) -> bool:
    """The same for maskwell, which says no to what it cannot read by an error of its own."""
    try:
        return verify_text(text).ok
    except CertificateError:
        return False


# ---- changes


def one_digit(text: str, chance: random.Random) -> str:
    """The text with one digit changed into another."""
    at = chance.choice([i for i, character in enumerate(text) if character in "0123456789"])
    return text[:at] + chance.choice([d for d in "0123456789" if d != text[at]]) + text[at + 1 :]


Place = tuple[Any, ...]


def leaves(form: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value in a JSON form that is no list and no object, with the way to it."""
    items = form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else None
    if items is None:
        yield place, form
        return
    for key, value in items:
        yield from leaves(value, (*place, key))


def replaced(form: Any, place: Place, value: Any) -> Any:
    """The same with another value there; what is not on the way to it is shared."""
    first, *rest = place
    changed = form.copy()
    changed[first] = replaced(form[first], tuple(rest), value) if rest else value
    return changed


def other_digit(value: Any, chance: random.Random) -> Any:
    """A text or a number with one digit changed."""
    changed = one_digit(str(value), chance)
    return int(changed) if isinstance(value, int) else changed


VALUES: list[Any] = [0, 1, 2, -1, True, False, None, "0", "1", "3", "1/2", "2/4", "inf", "C1", "C2", [], {}, [0], ["1"]]
VALUES += [1.0, "epsilon", "gamma", "dense", "uniform", "01", 10**30, "x"]
ASIDE = {"provenance", "inputs", "outputs", "fingerprint", "seal"}


def reshaped(content: Any, chance: random.Random) -> Any:
    """A copy in which something was replaced, left out, repeated, moved or added; labels and provenance are kept."""
    changed = json.loads(json.dumps(content))
    places = [place for place in _places(changed) if place and not ASIDE & set(place)]
    place = chance.choice(places)
    within, key = _at(changed, place[:-1]), place[-1]
    way = chance.choice(["replace", "copy", "leave out", "repeat", "swap", "add"])
    if way == "replace":
        within[key] = chance.choice(VALUES)
    elif way == "copy":
        within[key] = json.loads(json.dumps(_at(changed, chance.choice(places))))
    elif way == "leave out":
        del within[key]
    elif way == "add" and isinstance(within[key], dict):
        within[key][chance.choice(["note", "size", "row", "closed", "k"])] = chance.choice(VALUES)
    elif isinstance(within, list):
        other = chance.randrange(len(within))
        if way == "repeat":
            within.insert(other, within[key])
        within[key], within[other] = within[other], within[key]
    return changed


def _places(form: Any, place: Place = ()) -> Iterator[Place]:
    yield place
    items = form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else ()
    for key, value in items:
        yield from _places(value, (*place, key))


def _at(form: Any, place: Place) -> Any:
    for key in place:
        form = form[key]
    return form


def made_honestly(text: str) -> str:
    """The certificate of the design, the demand and the improvement that a certificate states."""
    content = json.loads(text)
    claims = content["claims"]
    demand = demand_from_stated(claims["demand"]["stated"]) if "demand" in claims else None
    if demand is not None and "slack" in claims:
        demand = replace(demand, decimals="demand" in claims["slack"]["given_as_decimals"])
    improvement = Improves.from_dict(claims["improves"]) if "improves" in claims else None
    return certify(design_from_dict(content["design"]), demand, improvement=improvement).text()


def has_digit(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool) and any(map(str.isdigit, str(value)))


def sealed_again(content: Any) -> str:
    """The text of a certificate whose fingerprints and seal fit its content, as a forger would make it."""
    content = json.loads(json.dumps(content))
    for place in (("design",), ("claims", "improves", "original")):
        with contextlib.suppress(KeyError, TypeError, IndexError):
            design = _at(content, place)
            covered = {key: design[key] for key in design if key not in ("provenance", "fingerprint")}
            design["fingerprint"] = fingerprint_of(covered)
    rest = {key: part for key, part in content.items() if key != "seal"}
    return Certificate({**rest, "seal": fingerprint_of(rest)}).text()

"""Asked for a parity, a design never exceeds it and falls short by less than a billionth."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import told

from maskwell import Categories, Design
from maskwell.designs import Subset, Unary, Uniform
from maskwell.errors import ParameterError, WrongTypeError

LOSS = Fraction(1, 10**9)
K = [2, 3, 10, 1000, 10**6]
EPSILONS = [1e-6, "1e-6", 1e-3, 0.1, 0.3, 0.1 + 0.2, 0.5, "0.5", 1, 1.0, 1 / 3, "1/3", 2, math.log(3), 5, 10.7, 20, 50]
GAMMAS = [1.000001, 1.1, 1.1 + 2.2, 2.7, math.e, 3.3, 9.0, 20.3, 1e6, 1e21 / 3, 0.1 + 0.2 + 1]


def readings(number: Any) -> list[Fraction]:
    """What a number may stand for: its text, and for a float also its binary value."""
    return [Fraction(str(number)), *([Fraction(number)] if isinstance(number, float) else [])]


def exp_range(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions just below and just above e**epsilon, good to 100 digits."""
    with localcontext(Context(prec=110)):
        value = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    return value * (1 - Fraction(1, 10**100)), value * (1 + Fraction(1, 10**100))


def made(kind: str, asked: Any, k: int) -> dict[str, Design]:
    """Designs of every family, from gamma or epsilon."""
    categories, sizes = Categories.numbered(k), {"one": 1, "most": k - 1, "half": max(1, k // 2)}
    makers = {"uniform": Uniform, "rappor": Unary, "oue": Unary}
    names = {"uniform": f"from_{kind}", "rappor": f"rappor_from_{kind}", "oue": f"oue_from_{kind}"}
    found = {name: getattr(maker, names[name])(asked, categories) for name, maker in makers.items()}
    subset = getattr(Subset, f"from_{kind}")
    return found | {f"subset, {name}": subset(asked, categories, size=size) for name, size in sizes.items()}


@pytest.mark.parametrize("k", K)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=repr)
def test_parity_stays_below_e_to_the_epsilon(epsilon: Any, k: int) -> None:
    lowest, highest = exp_range(min(readings(epsilon)))
    for name, design in made("epsilon", epsilon, k).items():
        parity = design.parity_exact()
        assert isinstance(parity, Fraction)
        assert 1 < parity <= lowest, name
        assert 1 - parity / highest < LOSS, name
        assert 0 <= design.provenance["parity_loss"] < 1e-9
        assert design.provenance["asked"] == {"epsilon": str(epsilon)}


@pytest.mark.parametrize("k", K)
@pytest.mark.parametrize("gamma", GAMMAS, ids=repr)
def test_parity_stays_below_both_readings_of_a_float(gamma: float, k: int) -> None:
    for name, design in made("gamma", gamma, k).items():
        parity = design.parity_exact()
        assert isinstance(parity, Fraction)
        assert 1 < parity <= min(readings(gamma)), name
        assert 1 - parity / max(readings(gamma)) < LOSS, name


@pytest.mark.parametrize("k", K)
@pytest.mark.parametrize("gamma", [2, 3, 9, "5/2", Fraction(22, 7), Decimal("1.1"), 10**30, np.int64(7)], ids=repr)
def test_parity_is_exactly_what_was_asked_in_exact_numbers(gamma: Any, k: int) -> None:
    for name, design in made("gamma", gamma, k).items():
        asked = Fraction(str(gamma))
        if name == "rappor":
            assert asked * (1 - LOSS) < design.parity_exact() <= asked
        else:
            assert design.parity_exact() == asked
            assert design.provenance["parity_loss"] == 0


@pytest.mark.parametrize("k", [2, 1000])
def test_integers_of_the_exact_form_stay_short(k: int) -> None:
    """A browser compares two words; the exact form of an ordinary epsilon has no more than 64 bits."""
    categories = Categories.numbered(k)
    for design in (Uniform.from_epsilon(1, categories), Subset.from_epsilon(1, categories, size=1)):
        assert int(design.exact_form()["denominator"]) <= 2**64


BAD_GAMMA = [1, 0.5, 0, -3, "1", math.nan, math.inf, -math.inf, "inf", "nan", "three"]
BAD_EPSILON = [0, -1, 701, math.nan, math.inf, "x"]


@pytest.mark.parametrize("tight", [1e-17, 1e-20, 1e-300])
def test_a_demand_too_tight_for_any_information_is_said_so(tight: float) -> None:
    for make in (Uniform.from_epsilon, Unary.rappor_from_epsilon, Unary.oue_from_epsilon):
        design, refusal = outcome(make, tight)
        assert refusal.hint if design is None else 1 < design.parity_exact() <= exp_range(min(readings(tight)))[0]


def outcome(make: Any, epsilon: float) -> tuple[Any, Any]:
    """The design, or the error."""
    try:
        return make(epsilon, Categories.numbered(1000)), None
    except ParameterError as error:
        return None, error


def for_one(gamma: Any, categories: Categories) -> Design:
    return Subset.from_gamma(gamma, categories, size=1)


GAMMAS_OF = [Uniform.from_gamma, Unary.rappor_from_gamma, Unary.oue_from_gamma, for_one]
EPSILONS_OF = [Uniform.from_epsilon, Unary.rappor_from_epsilon, Unary.oue_from_epsilon]


@pytest.mark.parametrize(
    ("makers", "error", "said", "given"),
    [
        (GAMMAS_OF, ParameterError, "gamma ", BAD_GAMMA),
        (EPSILONS_OF, ParameterError, "epsilon ", BAD_EPSILON),
        ([*GAMMAS_OF, *EPSILONS_OF], WrongTypeError, None, [None, [2], True, 2j]),
    ],
)
def test_what_is_no_demand_is_refused(makers: Any, error: Any, said: str | None, given: list[Any]) -> None:
    for make in makers:
        for bad in given:
            with told(error, match=said) as raised:
                make(bad, Categories.numbered(3))
            assert str(bad) in raised.value.message

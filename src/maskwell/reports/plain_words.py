"""Numbers, labels and promises in plain words, rounded so that no promise sounds better than it is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from maskwell.core.exact import Parity
from maskwell.core.percentages import DECIMALS_LIMIT, SPACE, as_decimal, percent_bound
from maskwell.core.phrases import Printed, in_language, magnitude
from maskwell.notes import Note
from maskwell.privacy.criteria import posterior_range

PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))  # for which a promise is spelled out
PLAIN_LIMIT = 10**6
FACTOR_DIGITS, LARGE_DIGITS = 4, 3  # significant digits of a factor, and of one that is written as a power of ten
CLOSE, FULL_DIGITS = Fraction(1, 10**6), 17
"""How close to a number of few digits a factor is shown with more of them, and how many at most."""

LAST_BITS = Fraction(1, 2**50)  # how far a float may lie from the number that it stands for, relative to it


def gives_all() -> str:
    """Where to find all that a table leaves out."""
    return in_language("--json gives all", "to_dict() gives all")


def more_of(total: int, shown: int) -> str:
    """What stands below a table of the first rows of so many."""
    return f"  ... and {total - shown:,} more: {gives_all()}" if total > shown else ""


def number(value: float | None, digits: int = 6) -> str:
    """A number to so many significant digits."""
    if value is None:
        return "none"
    return "infinite" if math.isinf(value) else f"{Printed(value):.{digits}g}"


def decimals(value: float, digits: int) -> str:
    """So many decimals; what is not known is a dash."""
    return "-" if math.isnan(value) else f"{Printed(value):.{digits}f}"


def count(value: int) -> str:
    """A count with its digits grouped, or as a power of ten when it is very large."""
    if value < 10**12:
        return f"{value:,}"
    exponent = math.floor(math.log10(value))
    lead = f"{Printed(value / 10**exponent):.2f}" if exponent < 300 else ""
    return f"{lead}e+{exponent}" if lead else f"about 10 to the power {exponent:,}"


def label(value: object) -> str:
    """A category as people read it: a cell of a table as its parts, a text with a comma in quotes, a set as it is."""
    if isinstance(value, tuple):
        return f"({', '.join(map(label, value))})"
    text = str(value)
    enclosed = text.startswith("{") and text.endswith("}")
    return f'"{text}"' if "," in text and not enclosed else text


def counted(number_of: int, one: str, more: str) -> str:
    """A count with its noun."""
    return f"{count(number_of)} {one if number_of == 1 else more}"


def with_article(name: str) -> str:
    """A name at the start of a sentence, with its article as it is spoken."""
    return f"An {name}" if name.startswith(("a", "e", "i", "o", "l-")) else f"A {name}"


def factor_up(parity: Parity) -> str:
    """What a design does, as a factor with four digits: never below its value."""
    return _factor(parity, ROUND_CEILING)


def factor_down(gamma: Parity) -> str:
    """What is allowed, as a factor with four digits: never above its value, but for the last bits of a float."""
    return _factor(gamma, ROUND_FLOOR)


def _factor(value: Parity, rounding: str) -> str:
    """Whole numbers keep all their digits, in groups of three, up to a million."""
    if isinstance(value, float):
        return "infinity"
    plain = value < PLAIN_LIMIT
    digits = max(FACTOR_DIGITS, len(str(math.ceil(value)))) if plain else LARGE_DIGITS
    shown = _quotient(value, digits, rounding)
    if not plain:
        return f"{shown:.{LARGE_DIGITS - 1}e}"
    other = _quotient(value, digits, ROUND_FLOOR if rounding == ROUND_CEILING else ROUND_CEILING)
    rest = abs(value - Fraction(other))
    if rounding == ROUND_FLOOR and rest < value * LAST_BITS:
        return f"{other.normalize():,f}"
    if 0 < rest < value * CLOSE:  # so close to a rounder number that the other one would turn the meaning around
        finer = (_quotient(value, more, rounding) for more in range(digits + 1, FULL_DIGITS + 1))
        shown = next((x for x in finer if abs(Fraction(x) - value) <= rest), _quotient(value, FULL_DIGITS, rounding))
    return f"{shown.normalize(Context(prec=FULL_DIGITS)):,f}"


def _quotient(value: Fraction, digits: int, rounding: str) -> Decimal:
    context = Context(prec=digits, rounding=rounding, Emax=10**9)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def range_in_words(parity: Parity, prior: Fraction) -> tuple[str, str, str]:
    """A belief in percent before, and the least and greatest it can be after one report."""
    low, high = posterior_range(parity, prior)
    return percent_bound(prior, up=False), percent_bound(low, up=False), percent_bound(high, up=True)


def promise(parity: Parity) -> str:
    """What a design promises each respondent, in one sentence."""
    if isinstance(parity, float):
        return Note("promise-without-a-bound")
    return Note("promise-of-a-parity", factor=factor_up(parity))


def concrete(parity: Parity, prior: Fraction, answer: str = "") -> str:
    """The same promise for one belief, about the answer that is named or about any."""
    before, low, high = (f"{text}{SPACE}%" for text in range_in_words(parity, prior))
    what = f"your true answer is “{answer}”" if answer else "a certain answer is yours"
    return Note("promise-for-one-belief", before=before, what=what, low=low, high=high)


def rho_promise(parity: Parity, rho1: Fraction, rho2: Fraction | None = None, *, closed: bool = False) -> str:
    """The promise about one suspicion; ``rho2`` is what it can become at most, unless a larger value was agreed on."""
    before = percent_bound(rho1, up=False)
    if rho2 is None:
        most_after = posterior_range(parity, rho1)[1]
    else:  # demands in floats have slack, so the agreed value may be passed by a hair
        most_after = max(rho2, posterior_range(parity, Fraction(before) / 100)[1])
    after = percent_bound(most_after, up=True)
    least, most = ("at most", "at least") if closed else ("less than", "more than")
    first, then = f"{before}{SPACE}%", f"{after}{SPACE}%"
    return Note("promise-of-rho", least=least, before=first, most=most, after=then)


def average_promise(phi: float) -> str:
    """What average security says, and what it does not."""
    return Note("promise-on-average", factor=factor_up(as_decimal(phi)))


def repetition(parity: Parity) -> str:
    """What happens when the same person is asked again."""
    if isinstance(parity, float):
        return Note("repetition-without-a-bound")
    once, twice = factor_up(parity), factor_up(parity * parity)
    sign = "=" if parity.denominator == 1 and parity * parity < PLAIN_LIMIT else "≈"
    return Note("repetition-multiplies", once=once, sign=sign, twice=twice)


RESIDUE = 1e-7  # standard errors below this part of the largest are roots of what rounding leaves of zero


def _without_residues(errors: Iterable[float]) -> list[float]:
    positive = [float(e) for e in errors if math.isfinite(e) and e > 0]
    return [e for e in positive if e > RESIDUE * max(positive)]


def digits_for(errors: Iterable[float]) -> int:
    """Decimals of a share that show two digits of its smallest error; what rounding left of zero does not count."""
    positive = _without_residues(errors)
    return 4 if not positive else min(9, max(3, 1 - magnitude(min(positive))))


def decimals_for(errors: Iterable[float]) -> int:
    """Decimals of a percentage that show its smallest error with two digits; at least one."""
    shown = _without_residues(errors)
    if not shown:
        return 1
    return min(DECIMALS_LIMIT, max(1, -magnitude(100 * min(shown))))

"""Numbers without rounding: reading what a user typed, and bounds (``_below``) that never exceed what was demanded."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, TypeAlias

from maskwell.core.phrases import short_repr, shorten
from maskwell.errors import MaskwellError, ParameterError, WrongTypeError

Number: TypeAlias = int | float | Fraction | Decimal | str
"""What may be given where a number is asked: ``3``, ``0.25``, ``Fraction(1, 6)``, ``Decimal("0.1")``, ``"1/6"``."""

Parity: TypeAlias = Fraction | float  # an exact fraction, or ``math.inf``

_DIGITS = 60  # decimal digits behind exp; far beyond what any design resolves
MOST_DIGITS = 1000  # digits of a number that is typed, before and behind the point, powers of ten written out
PRINTED_DIGITS = 4300  # digits of an integer that Python prints, unless it is asked for more
PRINTED_BITS = int(PRINTED_DIGITS * math.log2(10))
MOST_EXACT_DIGITS = 10_000  # digits of an exact integer in a document; reading one of ten times as many takes a second
_PLAIN_BITS = 2000  # of an integer that str writes out, whatever limit of digits is set
_PLAIN_DIGITS = 600  # that int reads, whatever limit of digits is set
_TYPED_DIGITS = 12
_FULL_DIGITS = 17
_ROUND_DIGITS = 3  # of a number that people take for exact


def as_fraction(value: Number, name: str = "number") -> Fraction:
    """The exact fraction that a number represents; a float by its shortest decimal text, so that ``0.7`` means 7/10."""
    if type(value) is Fraction and type(value.numerator) is type(value.denominator) is int:
        return value  # the common case among a million; others may hold integers of NumPy
    if type(value) is int:
        if value.bit_length() > PRINTED_BITS:
            raise _too_long(name, PRINTED_DIGITS)
        return Fraction(value)
    given: Any = value
    if isinstance(given, bool) or not isinstance(given, str | Decimal | Real):
        raise WrongTypeError(
            "name-given-is-a-type-name", name=name, given=short_repr(given), type_name=type(given).__name__, value=given
        )
    if isinstance(given, str | Decimal):
        check_digits(str(given), name)
    try:
        if isinstance(given, Rational):
            return Fraction(int(given.numerator), int(given.denominator))
        if isinstance(given, str) and not given.isascii():
            raise ValueError("digits are 0 to 9")  # those of other scripts would be read as well
        return Fraction(given if isinstance(given, str | Decimal) else str(given))
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise ParameterError(
            "is-not-a-finite-number",
            hint=_without_sign(given) or "give a number such as 0.25 or a fraction such as 1/6",
            name=name,
            given=short_repr(given),
            value=given,
        ) from error


def _without_sign(given: object) -> str:
    """What to write instead of a number with a percent sign; empty for anything else."""
    match = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*%\s*", str(given))
    return f"numbers are typed without a percent sign: {_hundredth(match[1])} for {match[1]} %" if match else ""


def _hundredth(number: object) -> str:
    return to_decimal(as_fraction(str(number)) / 100)


def percent_meant(*values: Number) -> str:
    """A remark for numbers that were perhaps meant in percent, in front of a space; empty where they were not."""
    if not all(2 <= as_fraction(value) <= 100 for value in values):
        return ""
    typed = [to_decimal(as_fraction(value)) for value in values]
    percents = " and ".join(f"{value} %" for value in typed)
    return f" ({' '.join(typed)} for {percents}? write {' '.join(map(_hundredth, typed))})"


_POWER = re.compile(r"[eE]\s*([+-]?[0-9_]+)")


def check_digits(text: str, name: str) -> None:
    """Raise for a number of over a thousand digits, or such as 1e1000000000, whose digits would fill the memory."""
    if sum(map(str.isdigit, text)) > MOST_DIGITS:
        raise _too_long(name)
    power = _POWER.search(text)
    if power and abs(int(power[1].replace("_", "") or 0)) > MOST_DIGITS:
        raise ParameterError(
            "has-a-power-of-ten-beyond", name=name, text=shorten(repr(text), 40), most_digits=MOST_DIGITS, value=text
        )


def _too_long(name: str, most: int = MOST_DIGITS) -> ParameterError:
    return ParameterError("has-more-than-digits", name=name, most=most)


def safe_below(value: Number, name: str = "number") -> Fraction:
    """A fraction that exceeds neither reading of a float, its decimal text or its binary value."""
    return min(_readings(value, name))


def safe_above(value: Number, name: str = "number") -> Fraction:
    """A fraction that is below neither reading of a float."""
    return max(_readings(value, name))


def _readings(value: Any, name: str) -> list[Fraction]:
    exact = as_fraction(value, name)
    return [exact, Fraction(*map(int, value.as_integer_ratio()))] if is_float(value) else [exact]


def is_float(value: object) -> bool:
    """Whether a number is a binary float, of Python or NumPy, and so may represent another number than its text."""
    return isinstance(value, Real) and not isinstance(value, Rational)


class GivenDecimal(Fraction):
    """A parameter given as a decimal or a float, which may represent a number nearby, as 0.3333 for 1/3."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Fraction({self.numerator}, {self.denominator})"


def is_decimal(value: object) -> bool:
    """Whether a number was given as a decimal or a float, and not as an integer or a fraction."""
    if type(value) in (Fraction, int):
        return False
    if isinstance(value, str | Decimal):
        return not {".", "e", "E"}.isdisjoint(str(value))
    return isinstance(value, GivenDecimal) or is_float(value)


def as_given(exact: Fraction, *values: object) -> Fraction:
    """The same fraction, remembering where one of the values that it was read from is a decimal."""
    return GivenDecimal(exact) if any(map(is_decimal, values)) else exact


def exp_below(epsilon: Fraction) -> Fraction:
    """A fraction just below ``e**epsilon`` (relative gap under 1e-50)."""
    context = Context(prec=_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)
    exponent = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    value = context.exp(exponent)
    slack = Fraction(10) ** -(_DIGITS - 5) * (1 + abs(epsilon))  # covers the rounding of the quotient and of exp
    return max(Fraction(value) * (1 - slack), Fraction(1))


def root_below(value: Fraction, degree: int, places: int) -> Fraction:
    """The largest multiple of ``2**-places`` whose power ``degree`` does not exceed ``value``, which is 1 or more."""
    number = (value.numerator << places * degree) // value.denominator  # its root by Newton's method, from above
    root = 1 << -(-number.bit_length() // degree)
    while (better := ((degree - 1) * root + number // root ** (degree - 1)) // degree) < root:
        root = better
    return Fraction(root, 1 << places)


def floor_to(value: Fraction, bits: int) -> Fraction:
    """The largest multiple of ``2**-bits`` that does not exceed ``value``."""
    return Fraction((value.numerator << bits) // value.denominator, 1 << bits)


def resolution(gamma: Fraction, k: int) -> int:
    """Bits to keep when rounding a design: it loses about ``k * gamma / 2**bits`` of its parity, below 1e-10 of it."""
    beyond = math.ceil(gamma).bit_length() + k.bit_length() - 28
    return 64 + 32 * -(-max(0, beyond) // 32)


def check_probability(value: Number, name: str, *, open_: bool = False) -> Fraction:
    """A probability as a fraction, which remembers whether it was given as a decimal; ``open_`` excludes 0 and 1."""
    probability = as_fraction(value, name)
    part, whole = probability.numerator, probability.denominator
    inside = 0 < part < whole if open_ else 0 <= part <= whole
    if not inside:
        allowed = "strictly between 0 and 1" if open_ else "between 0 and 1"
        raise ParameterError(
            "name-value-shown-is-not",
            name=name,
            value_shown=short_repr(value) if not isinstance(value, str) else value,
            allowed=allowed,
            percent_meant=percent_meant(value),
            value=value,
        )
    return as_given(probability, value)


SHARE, OPEN_SHARE, POSITIVE, RATIO = "0 to 1", "above 0, at most 1", "above 0", "1 or more"
"""Ranges that parameters have, as a hint names them."""

_INSIDE: dict[str, Callable[[Fraction], bool]] = {
    SHARE: lambda value: 0 <= value <= 1,
    OPEN_SHARE: lambda value: 0 < value <= 1,
    POSITIVE: lambda value: value > 0,
    RATIO: lambda value: value >= 1,
}


def check_range(
    value: Fraction, name: str, allowed: str = SHARE, *, error: type[MaskwellError] = ParameterError
) -> Fraction:
    """A number that lies in one of the ranges, or an error of the kind that is asked for."""
    if not _INSIDE[allowed](value):
        percent = percent_meant(value) if allowed in (SHARE, OPEN_SHARE) else ""
        raise error(
            f"{name} = {to_decimal(value)} is out of range", hint=f"give a number {allowed}{percent}", value=value
        )
    return value


def common_denominator(values: Iterable[Fraction]) -> int:
    """The smallest integer that all ``values`` can be written over."""
    return math.lcm(*(value.denominator for value in values))


def sum_of(values: Iterable[Fraction]) -> Fraction:
    """The sum, with all of one denominator added first: a million fractions over few denominators take no time."""
    numerators: dict[int, int] = {}
    for value in values:
        numerators[value.denominator] = numerators.get(value.denominator, 0) + value.numerator
    return sum((Fraction(n, d) for d, n in numerators.items()), Fraction(0))


def to_float(value: Parity) -> float:
    """The nearest float, for people and plots; decisions are taken on the fraction."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def to_text(value: Parity) -> str:
    """A fraction as text, ``"inf"`` for infinity."""
    if isinstance(value, float):
        return "inf"
    whole = value.denominator == 1
    return to_digits(value.numerator) + ("" if whole else "/" + to_digits(value.denominator))


def to_decimal(value: Fraction) -> str:
    """A number as people type it: a short decimal, else a fraction."""
    context = Context(prec=_TYPED_DIGITS)
    decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    short = abs(decimal.adjusted()) < _TYPED_DIGITS and Fraction(decimal) == value
    return f"{decimal.normalize(context):f}" if short else to_text(value)


def rounded(value: Parity, digits: int, *, up: bool) -> str:
    """A number to so many significant digits as a bound: never below it if ``up``, else never above it."""
    if isinstance(value, float):
        return "infinite"
    rule = ROUND_CEILING if up else ROUND_FLOOR
    context = Context(prec=digits, rounding=rule, Emax=MAX_EMAX, Emin=MIN_EMIN)
    shown = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    if -5 < shown.adjusted() < max(digits, 7):
        return f"{shown:f}"
    mantissa, exponent = shown.scaleb(-shown.adjusted(), context), shown.adjusted()
    return f"{mantissa.normalize(context):f}e{exponent:+03d}"


def parity_text(parity: Parity, digits: int = 6) -> str:
    """A parity to so many digits; to more of them where it would look like a smaller, rounder number than it is."""
    nearest = to_float(parity)
    if isinstance(parity, float) or math.isinf(nearest):
        return rounded(parity, digits, up=True)
    short = f"{nearest:.{digits}g}"
    is_round = len(short.partition("e")[0].replace(".", "").strip("0")) <= _ROUND_DIGITS
    return _with_tail(parity, short, digits) if is_round and Fraction(short) < parity else short


def _with_tail(value: Fraction, rounder: str, digits: int) -> str:
    """With as many digits as distinguish it from the rounder number, which it exceeds; 17 at most."""
    for more in range(digits + 1, _FULL_DIGITS + 1):
        text = f"{Context(prec=more).divide(Decimal(value.numerator), Decimal(value.denominator)).normalize():f}"
        if Fraction(text) > Fraction(rounder):
            return text
    return rounded(value, _FULL_DIGITS, up=True)


def told_apart(one: Parity, two: Parity) -> tuple[str, str]:
    """Two numbers with enough digits to distinguish them; one by its distance from the other where digits do not."""
    for digits in (6, 10, 12, 15):
        texts = tuple("infinite" if isinstance(x, float) else f"{to_float(x):.{digits}g}" for x in (one, two))
        if texts[0] != texts[1]:
            return parity_text(one, digits), parity_text(two, digits)
    short = f"{to_float(two):.6g}"
    if isinstance(one, float) or isinstance(two, float) or one == two or math.isinf(to_float(two)):
        return parity_text(one), parity_text(two)
    apart = rounded(abs(one - two), 1, up=True)
    if Fraction(short) == one:
        return short, f"{short} {'plus' if two > one else 'minus'} {apart}"
    return f"{short} {'plus' if one > two else 'minus'} {apart}", short


def log_of(value: Parity) -> float:
    """The natural logarithm of a number of 1 or more, without loss near 1 or for huge fractions."""
    if isinstance(value, float):
        return math.inf
    if value < 2:
        return math.log1p(float(value - 1))
    nearest = to_float(value)
    return math.log(nearest) if nearest < math.inf else math.log(value.numerator) - math.log(value.denominator)


def to_digits(number: int) -> str:
    """An integer of any length in decimal digits."""
    return str(number) if number.bit_length() < _PLAIN_BITS else f"{Decimal(number):f}"


def from_digits(text: Any) -> int:
    """The integer of 0 or more that decimal digits represent; ValueError for anything else."""
    if not (isinstance(text, str) and text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r:.50} is not an integer of 0 or more in decimal digits")
    if len(text) > MOST_EXACT_DIGITS:
        raise ValueError(f"an integer of more than {MOST_EXACT_DIGITS:,} digits")
    return int(text) if len(text) <= _PLAIN_DIGITS else int(Decimal(text))


def all_from_digits(texts: Any) -> list[int]:
    """The same for a list of them; a million short ones at once."""
    if not isinstance(texts, list) or set(map(type, texts)) - {str}:
        raise ValueError("not a list of integers of 0 or more in decimal digits")
    joined = "".join(texts)
    if all(texts) and joined.isascii() and joined.isdigit() and max(map(len, texts)) <= _PLAIN_DIGITS:
        return list(map(int, texts))
    return list(map(from_digits, texts))


def all_to_digits(numbers: Iterable[int]) -> list[str]:
    """Integers of any length in decimal digits; a million short ones at once."""
    integers = list(numbers)
    return list(map(str if max(integers, default=0).bit_length() < _PLAIN_BITS else to_digits, integers))


def from_text(text: Any) -> Fraction:
    """The fraction of 0 or more that :func:`to_text` writes so; ValueError for others, "2/4" and "03" included."""
    whole, _, part = text.partition("/") if isinstance(text, str) else ("", "", "")
    divisor = from_digits(part) if part else 1
    fraction = Fraction(from_digits(whole), divisor) if divisor else None
    if fraction is None or to_text(fraction) != text:
        raise ValueError(f"{text!r:.50} is not a fraction of 0 or more in lowest terms")
    return fraction

"""Named coefficients with their covariance: errors, intervals and tests, and a table of them as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, check_level
from maskwell.core.display import Result, number_or_none, plain_numbers, require_pandas
from maskwell.core.phrases import HINT, Printed, listed, p_equals, p_text, shorten
from maskwell.errors import InputError
from maskwell.estimation.regression.likelihood_search import Profiles
from maskwell.estimation.share_estimate import two_sided_p
from maskwell.notes import Note

WIDTH = 98
NAMES = 40
LEVEL = 0.95


@dataclass(frozen=True)
class WaldTest(Result):
    """A test of combinations of coefficients: chi-squared or, with ``df_denominator``, F."""

    statistic: float
    df: int
    df_denominator: int | None
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        degrees = {"degrees_of_freedom": self.df, "denominator": self.df_denominator}
        return {"statistic": self.statistic, **degrees, "p_value": self.p_value}

    @property
    def law(self) -> str:
        """The distribution that the statistic has."""
        return f"chi2({self.df})" if self.df_denominator is None else f"F({self.df}, {self.df_denominator})"

    def __repr__(self) -> str:
        return f"WaldTest({self.law} = {Printed(self.statistic):.4f}, {p_equals(self.p_value)})"


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(Result):
    """Estimated coefficients."""

    LINES = "coefficients"

    terms: tuple[str, ...]  # Their names, p of them
    estimates: Real  # Shape (p,)
    covariance: Real  # Shape (p, p); NaN for coefficients without a finite estimate, which a flag names
    degrees_of_freedom: int | None  # Of the t distribution for intervals and tests; None for the normal distribution
    # Of each coefficient: -1 or 1 where the likelihood has no maximum but rises towards that infinity, NaN where any
    # value is as likely, else 0; None where all are finite. `estimates` then holds numbers close to the limit
    infinite: Real | None = field(default=None, kw_only=True)
    # Profiles of the likelihood, None where there are none
    profiles: Profiles | None = field(default=None, kw_only=True)
    # "wald" or "profile", the method of the intervals that was asked for; None for the one that suits
    asked: str | None = field(default=None, kw_only=True)
    # At most how far each estimate is off on average; None where they are consistent. Intervals and tests allow for it
    bias: Real | None = field(default=None, kw_only=True)

    @property
    def shown(self) -> Real:
        """The estimates with infinities, and NaN where any value is as likely."""
        if self.infinite is None:
            return self.estimates
        with np.errstate(invalid="ignore"):
            return np.where(self.infinite == 0, self.estimates, self.infinite * np.inf)

    @property
    def is_threshold(self) -> Array:
        """Which of them are thresholds of an ordinal model, shape (p,)."""
        return np.zeros(len(self.terms), dtype=bool)

    @property
    def interval_methods(self) -> list[str]:
        """The method: "wald" or "profile" for each coefficient."""
        return ["profile" if profile else "wald" for profile in self.by_profile]

    @property
    def by_profile(self) -> Array:
        """Which intervals are those of the profile: those asked for, or where Wald's have no meaning."""
        if self.profiles is None or self.asked == "wald":
            return np.zeros(len(self.terms), dtype=bool)
        return self.profiles.there if self.asked == "profile" else self.profiles.curved

    @property
    def standard_error(self) -> Real:
        """Square roots of the variances, NaN where the likelihood is ``flat``."""
        return self.errors()

    @property
    def z(self) -> Real:
        """Estimates over their standard errors."""
        return self.estimates / self.standard_error

    def flat(self, level: float = LEVEL) -> Array:
        """Which finite estimates have no standard error, because their profile interval has no end, shape (p,)."""
        reach = self._reach((1 + max(check_level(level, highest=1), LEVEL)) / 2)
        found = np.zeros(len(self.terms), dtype=bool)
        for j in np.flatnonzero(self.by_profile & np.isfinite(np.diag(self.covariance))):
            assert self.profiles is not None
            found[j] = np.isinf(self.profiles.ends(int(j), reach)).any()
        return found

    def errors(self, level: float = LEVEL) -> Real:
        """Standard errors beside intervals of this level: NaN where the likelihood is ``flat``."""
        return np.where(self.flat(level), np.nan, np.sqrt(np.diag(self.covariance)))

    def known_covariance(self, level: float = LEVEL) -> Real:
        """The covariance, NaN for coefficients whose likelihood is ``flat``."""
        flat = self.flat(level)
        return np.where(flat[:, None] | flat, np.nan, self.covariance)

    @property
    def p_values(self) -> Real:
        """Two-sided, for a coefficient of zero: by the likelihood ratio where intervals are those of the profile."""
        roots = self.z
        if self.bias is not None:
            roots = np.maximum(np.abs(self.estimates) - self.bias, 0) / self.standard_error
        for j in np.flatnonzero(self.by_profile):
            assert self.profiles is not None
            roots[j] = self.profiles.root(int(j), 0.0)
        return np.array([two_sided_p(one, self.degrees_of_freedom) for one in roots])

    def confidence_interval(self, level: float = 0.95) -> Real:
        """Wald intervals, and those of the profile ``by_profile``, shape (p, 2); an end may be infinite."""
        reach = self._reach((1 + check_level(level, highest=1)) / 2)
        half = reach * np.sqrt(np.diag(self.covariance)) + (0.0 if self.bias is None else self.bias)
        ends = np.column_stack([self.estimates - half, self.estimates + half])
        for j in np.flatnonzero(self.by_profile):
            assert self.profiles is not None
            ends[j] = self.profiles.ends(int(j), reach)
        return ends

    def _reach(self, probability: float) -> float:
        """The quantile that intervals take: of t where there are degrees of freedom, else of the normal."""
        if self.degrees_of_freedom is None:
            return NormalDist().inv_cdf(probability) if probability < 1 else math.inf
        from scipy.special import stdtrit

        return float(stdtrit(self.degrees_of_freedom, probability))

    def rows(self, level: float = 0.95, *, exponentiate: bool = False) -> list[dict[str, Any]]:
        """One dictionary for each coefficient; ``exponentiate`` gives odds ratios, but of thresholds."""
        values, errors, intervals = self.shown, self.errors(level), self.confidence_interval(level)
        tested = ~self.is_threshold
        if exponentiate:
            errors = np.where(tested, _exp(values) * errors, errors)
            values, intervals = (
                np.where(tested, _exp(values), values),
                np.where(tested[:, None], _exp(intervals), intervals),
            )
        p_values = np.where(tested, self.p_values, np.nan)
        columns = zip(self.terms, values, errors, intervals, p_values, self.interval_methods, strict=True)
        bounds = [{}] * len(self.terms) if self.bias is None else [{"bias_bound": one} for one in self.bias.tolist()]
        return [
            {
                "term": term,
                "estimate": number_or_none(value),
                "standard_error": number_or_none(error),
                "interval": [number_or_none(end) for end in interval],
                "p_value": number_or_none(p),
                "interval_method": method,
                "p_value_method": None if np.isnan(p) else "likelihood ratio" if method == "profile" else "wald",
                **bound,
            }
            for (term, value, error, interval, p, method), bound in zip(columns, bounds, strict=True)
        ]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "level": level,
            "coefficients": self.rows(level),
            "covariance": plain_numbers(self.known_covariance(level)),
            "degrees_of_freedom": self.degrees_of_freedom,
        }

    def to_frame(self, level: float = 0.95, *, exponentiate: bool = False) -> Any:
        """A pandas table with one row for each coefficient."""
        pandas = require_pandas()
        rows = self.rows(level, exponentiate=exponentiate)
        flat = [
            {**{k: v for k, v in row.items() if k != "interval"}, "low": row["interval"][0], "high": row["interval"][1]}
            for row in rows
        ]
        columns = ["term", "estimate", "standard_error", "low", "high", "p_value"]
        return pandas.DataFrame(flat, columns=columns).set_index("term")

    def wald_test(self, what: Sequence[str] | Real | str, value: float | Sequence[float] = 0.0) -> WaldTest:
        """Test that coefficients, or combinations of them, equal ``value``."""
        if self.bias is not None:
            raise InputError("no-test-of-biased-coefficients")
        if isinstance(what, str) or (len(what) and isinstance(what[0], str)):
            named = [what] if isinstance(what, str) else [str(term) for term in what]
            R = np.array([np.eye(len(self.terms))[self.place(term)] for term in named])
        else:
            R = np.atleast_2d(as_floats(what, "coefficients", finite=False))
            if R.shape[1] != len(self.terms):
                raise InputError("combinations-of-coefficients-there", shape=R.shape[1], terms_count=len(self.terms))
        away = R @ self.estimates - np.broadcast_to(as_floats(value, "value", finite=False), len(R))
        tested = (R != 0).any(axis=0)
        spread = R @ np.where(np.outer(tested, tested), self.known_covariance(), 0.0) @ R.T
        if not np.isfinite(spread).all():
            raise InputError("a-tested-coefficient-has-no-standard")
        if np.linalg.matrix_rank(spread) < len(R):
            raise InputError("the-tested-combinations-depend-on-each")
        from scipy import special

        statistic, q, df = float(away @ np.linalg.solve(spread, away)), len(R), self.degrees_of_freedom
        if df is None:
            return WaldTest(statistic, q, None, float(special.chdtrc(q, statistic)))
        return WaldTest(statistic / q, q, df, float(special.fdtrc(q, df, statistic / q)))

    def place(self, term: str) -> int:
        """The position of a term, or an error that names those there are."""
        if term not in self.terms:
            known = listed(self.terms, len(self.terms), HINT - len("terms: "))
            raise InputError("there-is-no-term", known=known, term=term)
        return self.terms.index(term)


def flat_notes(
    parts: Iterable[Coefficients | None], level: float, parameters: Iterable[Parameter] = ()
) -> tuple[str, ...]:
    """One note for all estimates without a standard error whose likelihood is flat."""
    known = [part for part in parts if part is not None]
    terms = [term for part in known for term, one in zip(part.terms, part.flat(level), strict=True) if one]
    named = [*terms, *(one.name for one in parameters if one.is_flat(level))]
    return (Note("the-likelihood-falls-so-little", terms=listed(named, len(named), 60)),) if named else ()


def _exp(values: Real) -> Real:
    with np.errstate(over="ignore"):
        return np.exp(values)


def name_width(parts: Iterable[Coefficients]) -> int:
    """How wide the names of the terms are in a table of these parts."""
    return min(NAMES, max((len(term) for part in parts for term in part.terms), default=0))


def coefficient_lines(part: Coefficients, level: float, width: int) -> list[str]:
    """A header and one line for each coefficient; no z or t where the p value is that of the likelihood ratio."""
    tail = (1 - level) / 2
    letter = "z" if part.degrees_of_freedom is None else "t"
    p_name = "p value" if part.by_profile.any() else f"P>|{letter}|"  # not all belong to z or t
    header = ["", "coef", "std err", letter, p_name, f"[{Printed(tail):.3g}", f"{Printed(1 - tail):.3g}]"]
    rows = zip(
        part.terms,
        part.shown,
        part.errors(level),
        np.where(part.by_profile, np.nan, part.estimates / part.errors(level)),
        part.p_values,
        part.confidence_interval(level),
        strict=True,
    )
    lines = [_line(header, width), "-" * WIDTH]
    for term, value, error, z, p, (low, high) in rows:
        cells = [_digits(value), _digits(error), f"{Printed(z):.3f}", p_text(p), _digits(low), _digits(high)]
        lines.append(_line([shorten(term, NAMES), *(_known(cell) for cell in cells)], width))
    return lines


def _known(cell: str) -> str:
    return "—" if cell in ("nan", "n/a") else cell


def interval_words(part: Coefficients, name: str = "profile likelihood") -> str:
    """The method of the intervals, by name where rows differ."""
    profile = [term for term, one in zip(part.terms, part.by_profile, strict=True) if one]
    if not profile:
        return "Wald"
    return name if len(profile) == len(part.terms) else f"Wald; {name} for {listed(profile, len(profile), 60)}"


def p_words(part: Coefficients) -> str:
    """The test that p values come from, by name where rows differ."""
    return interval_words(part, "likelihood ratio")


def _line(cells: list[str], width: int) -> str:
    numbers = "".join(f"{cell:>{(WIDTH - width) // 6}}" for cell in cells[1:])
    return f"{cells[0]:<{width}}{numbers}".rstrip()


def _digits(value: float) -> str:
    """Four decimals, or four digits of what is very small or large."""
    return f"{Printed(value):.4f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{Printed(value):.3e}"


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter besides the coefficients: the variance of a random intercept, the honesty of carriers."""

    name: str  # As it is printed
    estimate: float  # Its value; NaN where any is as likely
    standard_error: float | None  # None where it lies on its boundary
    ends: Callable[[float], tuple[float, float]]  # The interval at a level

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """By the profile of the likelihood."""
        low, high = self.ends(check_level(level, highest=1))
        return float(low), float(high)

    def is_flat(self, level: float = LEVEL) -> bool:
        """Whether there is a standard error that means nothing: the interval has no end."""
        ends = self.confidence_interval(max(check_level(level, highest=1), LEVEL))
        return self.standard_error is not None and any(map(math.isinf, ends))

    def row(self, level: float = 0.95) -> dict[str, Any]:
        """Plain values, for JSON."""
        error = None if self.is_flat(level) else self.standard_error
        return {
            "name": self.name,
            "estimate": number_or_none(self.estimate),
            "standard_error": None if error is None else number_or_none(error),
            "interval": [number_or_none(end) for end in self.confidence_interval(level)],
        }


def parameter_line(one: Parameter, level: float) -> str:
    """A parameter with its interval in one line."""
    low, high = map(_digits, one.confidence_interval(level))
    return f"{one.name}: {_known(_digits(one.estimate))} ({Printed(100 * level):g} % interval {low} to {high})"

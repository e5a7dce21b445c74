"""Do the reports fit the design? Goodness of fit, and the test for not following the instructions.

    X2 = sum (x_i - n lam_i)^2 / (n lam_i),     G2 = 2 sum x_i ln(x_i / (n lam_i)),     lam = P pi

at the most likely proportions: chi-square with ``m - k`` degrees of freedom inside the simplex. At the boundary half a
chi-square for two categories and two reports, else a parametric bootstrap, which serves sparse reports, too.
Source: derived and standard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, WholeNumber, as_whole, check_kind
from maskwell.core.display import Result
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.core.verdicts import above, at_least, below
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, ReportError
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.share_estimate import Sample
from maskwell.notes import Note

REPLICATES = 1000
NEEDS_SEED = "no p value: an estimate is at its boundary, where only a parametric bootstrap serves; give a seed"
SPARSE = "no p value: too few of some reports are expected, where only a parametric bootstrap serves; give a seed"
CHI_SQUARE = "chi-square"
HALF = "half chi-square at the boundary"
BOOTSTRAP = "parametric bootstrap"
EXACT = "none: the design can explain any such reports"


@dataclass(frozen=True, repr=False)
class GoodnessOfFit(Result):
    """How far the reports are from what the design can explain."""

    # The statistics X2 and G2
    pearson: float
    likelihood_ratio: float
    degrees_of_freedom: int  # `m - k` for one sample; 0 where every set of shares inside the simplex fits exactly
    # Chance of a statistic as large or larger if the design was followed; NaN where no law is known (see `flags`)
    p_pearson: float
    p_likelihood_ratio: float
    reference: str  # The law that the p values come from
    n: int  # Number of reports
    replicates: int = 0  # Of the bootstrap, 0 without one
    flags: tuple[str, ...] = ()  # What a reader should know, in words

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        values = {**vars(self), "flags": list(self.flags)}
        return {name: None if value != value else value for name, value in values.items()}  # NaN is no JSON

    def __repr__(self) -> str:
        degrees = f"df = {self.degrees_of_freedom}"
        statistics = f"X2 = {Printed(self.pearson):.4g}, G2 = {Printed(self.likelihood_ratio):.4g}, {degrees}"
        known = "no p value" if np.isnan(self.p_likelihood_ratio) else f"p = {Printed(self.p_likelihood_ratio):.4g}"
        first = f"Goodness of fit: {known} ({statistics}; {self.reference}; n = {self.n:,})"
        return "\n".join([first, *(f"  note: {flag}" for flag in self.flags)])


def goodness_of_fit(
    counts: Counts, design: Design, *, seed: int | None = None, replicates: int = REPLICATES
) -> GoodnessOfFit:
    """Test whether the reports of one sample can come from the design.

    Parameters
    ----------
    counts, design
        What was reported and how.
    seed, replicates
        For the parametric bootstrap, which is used where no closed law is known; without a seed there is none.

    >>> from maskwell.designs import Dense
    >>> forced = Dense.of([["11/12", "1/6"], ["1/12", "5/6"]])
    >>> fit = goodness_of_fit(Counts(np.array([60, 440]), 500, forced.fingerprint), forced)
    >>> round(fit.p_likelihood_ratio, 4)   # fewer yes than the dice alone command: instructions were not followed
    0.0017
    """
    values, n = Sample(counts, design).counts.values, counts.n
    as_whole(replicates, "replicates")
    check_kind(WholeNumber | None, seed=seed)
    if replicates < 1:
        raise ParameterError("replicates-replicates", replicates=replicates, replicates_shown=REPLICATES)
    if seed is not None and seed < 0:
        raise ParameterError("seed-seed", seed=seed)
    if design.reports_are_sets:
        raise ReportError("no-goodness-of-fit")
    top = maximise([design], [values])
    lam = design.apply(_whole(top.pi))
    pearson, ratio = _statistics(values, lam)
    df = _degrees(design)
    flags = (Note("one-sample-with-as-many-reports"),) if df == 0 else ()
    if df == 0 and ratio < _EXACTLY * n:
        return GoodnessOfFit(0.0, 0.0, 0, 1.0, 1.0, EXACT, n, flags=flags)
    if df == 0 and design.k == 2:
        return GoodnessOfFit(pearson, ratio, 0, _tail(pearson, 1) / 2, _tail(ratio, 1) / 2, HALF, n, flags=flags)
    at_boundary = bool(top.at_boundary.any())
    if not at_boundary and not _is_sparse(n * lam[lam > 0]):
        return GoodnessOfFit(pearson, ratio, df, _tail(pearson, df), _tail(ratio, df), CHI_SQUARE, n, flags=flags)
    if seed is None:
        reason = NEEDS_SEED if at_boundary else SPARSE
        return GoodnessOfFit(pearson, ratio, df, np.nan, np.nan, BOOTSTRAP, n, flags=(reason, *flags))
    generator, larger = np.random.default_rng(seed), np.ones(2)  # the observed statistics are among those drawn
    for _ in range(replicates):
        drawn = generator.multinomial(n, _whole(lam))
        refitted = design.apply(_whole(maximise([design], [drawn], gap=1e-8).pi))
        larger += at_least(np.array(_statistics(drawn, refitted)), np.array((pearson, ratio)))
    p_pearson, p_ratio = (larger / (replicates + 1)).tolist()
    return GoodnessOfFit(pearson, ratio, df, p_pearson, p_ratio, BOOTSTRAP, n, replicates, flags)


_EXACTLY = 1e-9  # of a report: below this, G2 is rounding


def _is_sparse(expected: Real) -> bool:
    """Whether too few reports are expected for the chi-square distribution. Source: Cochran's rule of thumb."""
    return below(float(expected.min()), 1) or above(float(below(expected, 5).mean()), 0.2)


def _statistics(x: Array, lam: Real) -> tuple[float, float]:
    """X2 and G2; reports without a chance do not occur and count nothing."""
    expected, seen = x.sum() * lam[lam > 0], x[lam > 0]
    logs = np.log(seen / expected, out=np.zeros(len(seen)), where=seen > 0)
    return float(((seen - expected) ** 2 / expected).sum()), max(2 * float(seen @ logs), 0.0)


def _degrees(design: Design) -> int:
    if design.m == design.k and design.identifiable:
        return 0
    P = design.matrix()
    return int((P > 0).any(axis=1).sum()) - int(np.linalg.matrix_rank(P))


def _whole(shares: Real) -> Real:
    return np.asarray(shares / shares.sum())


def _tail(statistic: float, df: int) -> float:
    """Chance of more than ``statistic`` under the chi-square distribution."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))

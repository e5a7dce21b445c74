"""Do the reports fit the design? Goodness of fit, and the test for not following the instructions.

    X2 = sum (x_i - n lam_i)^2 / (n lam_i),     G2 = 2 sum x_i ln(x_i / (n lam_i)),     lam = P pi

at the most likely proportions. With more reports than categories and an estimate inside the simplex both follow the
chi-square distribution with ``m - k`` degrees of freedom. At the boundary they follow a mixture: half a chi-square with
one degree for two categories and two reports, a parametric bootstrap else. The bootstrap also serves where reports are
too few for the chi-square distribution: some report is expected less than once, or more than a fifth of them less than
five times.

Source: derived and standard; the boundary test speaks where a report occurs less often than the design alone makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, WholeNumber, as_whole, check_kind, list_of
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
        return {name: None if value != value else value for name, value in self._fields().items()}  # NaN is no JSON

    def _fields(self) -> dict[str, Any]:
        return {**{f.name: getattr(self, f.name) for f in fields(self)}, "flags": list(self.flags)}

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
    check_kind(Counts, counts=counts)
    check_kind(Design, design=design)
    return goodness_of_samples([Sample(counts, design)], seed=seed, replicates=replicates)


def goodness_of_samples(
    samples: Sequence[Sample], *, seed: int | None = None, replicates: int = REPLICATES
) -> GoodnessOfFit:
    """Test whether several samples can come from their designs and one population; parameters as for one sample.

    The degrees of freedom are ``sum_g (m_g - 1) - (k - 1)``, or less where the designs leave categories together.
    """
    samples = list_of(Sample, samples, "samples")
    _check(samples, seed, replicates)
    designs, counts = [s.design for s in samples], [s.counts.values for s in samples]
    top = maximise(designs, counts)
    fitted = [design.apply(_whole(top.pi)) for design in designs]
    pearson, ratio = _statistics(counts, fitted)
    df = _degrees(designs)
    n = sum(sample.n for sample in samples)
    flags = (Note("one-sample-with-as-many-reports"),) if len(samples) == 1 and df == 0 else ()
    if df == 0 and ratio < _EXACTLY * n:
        return GoodnessOfFit(0.0, 0.0, 0, 1.0, 1.0, EXACT, n, flags=flags)
    if df == 0 and len(samples) == 1 and designs[0].k == 2:
        return GoodnessOfFit(pearson, ratio, 0, _tail(pearson, 1) / 2, _tail(ratio, 1) / 2, HALF, n, flags=flags)
    sparse = _is_sparse([s.n for s in samples], fitted)
    if not top.at_boundary.any() and not sparse:
        return GoodnessOfFit(pearson, ratio, df, _tail(pearson, df), _tail(ratio, df), CHI_SQUARE, n, flags=flags)
    if seed is None:
        reason = NEEDS_SEED if top.at_boundary.any() else SPARSE
        return GoodnessOfFit(pearson, ratio, df, np.nan, np.nan, BOOTSTRAP, n, flags=(reason, *flags))
    chances = _bootstrap(designs, [s.n for s in samples], fitted, (pearson, ratio), seed, replicates)
    return GoodnessOfFit(pearson, ratio, df, *chances, BOOTSTRAP, n, replicates, flags)


_EXACTLY = 1e-9  # of a report: below this, G2 is rounding


def _is_sparse(sizes: Sequence[int], fitted: Sequence[Real]) -> bool:
    """Whether so few reports are expected that the chi-square distribution would give false alarms.

    Source: standard, the rule of thumb of Cochran.
    """
    expected = np.concatenate([n * lam[lam > 0] for n, lam in zip(sizes, fitted, strict=True)])
    return below(float(expected.min()), 1) or above(float(below(expected, 5).mean()), 0.2)


def _statistics(counts: Sequence[Array], fitted: Sequence[Real]) -> tuple[float, float]:
    """X2 and G2 over all samples; reports without a chance do not occur and count nothing."""
    pearson = ratio = 0.0
    for x, lam in zip(counts, fitted, strict=True):
        possible = lam > 0
        expected = x.sum() * lam[possible]
        seen = x[possible]
        pearson += float(((seen - expected) ** 2 / expected).sum())
        logs = np.log(seen / expected, out=np.zeros(len(seen)), where=seen > 0)
        ratio += 2 * float(seen @ logs)
    return pearson, max(ratio, 0.0)


def _degrees(designs: Sequence[Design]) -> int:
    if len(designs) == 1 and designs[0].m == designs[0].k and designs[0].identifiable:
        return 0
    P = [design.matrix() for design in designs]
    possible = sum(int((matrix > 0).any(axis=1).sum()) - 1 for matrix in P)
    return possible - (int(np.linalg.matrix_rank(np.concatenate(P))) - 1)


def _bootstrap(
    designs: Sequence[Design],
    sizes: Sequence[int],
    fitted: Sequence[Real],
    observed: tuple[float, float],
    seed: int,
    replicates: int,
) -> tuple[float, float]:
    """Shares of ``replicates + 1`` fits, the observed one among them, whose statistics are as large."""
    generator = np.random.default_rng(seed)
    larger = np.ones(2)
    for _ in range(replicates):
        drawn = [generator.multinomial(n, _whole(lam)) for n, lam in zip(sizes, fitted, strict=True)]
        again = maximise(designs, drawn, gap=1e-8)
        refitted = [design.apply(_whole(again.pi)) for design in designs]
        larger += at_least(np.array(_statistics(drawn, refitted)), np.array(observed))
    pearson, ratio = (larger / (replicates + 1)).tolist()
    return pearson, ratio


def _whole(shares: Real) -> Real:
    return np.asarray(shares / shares.sum())


def _tail(statistic: float, df: int) -> float:
    """Chance of more than ``statistic`` under the chi-square distribution."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))


def _check(samples: Sequence[Sample], seed: int | None, replicates: int) -> None:
    as_whole(replicates, "replicates")
    check_kind(WholeNumber | None, seed=seed)
    if not samples:
        raise ParameterError("no-samples")
    if replicates < 1:
        raise ParameterError("replicates-replicates", replicates=replicates, replicates_shown=REPLICATES)
    if seed is not None and seed < 0:
        raise ParameterError("seed-seed", seed=seed)
    if any(sample.design.reports_are_sets for sample in samples):
        raise ReportError("no-goodness-of-fit")

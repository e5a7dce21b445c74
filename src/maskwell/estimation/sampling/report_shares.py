"""Estimates from the shares of the reports of each sample, where single rows have no recovery or need none.

Several samples that identify the shares only together, under a sampling plan:

    lam_g = sum_g w_i 1{report of i} / N_g,      theta = sum_g L_g lam_g,      sum_g L_g P_g = C

where ``N_g`` is the sum of the weights of sample g and C pi the identified shares. The variance is that of the sum
of ``w_i e_i`` under the plan, ``e_i = L_g (1{report of i} - lam_g) / N_g`` for a row i of sample g; plans that need a
randomization correction are refused. Source: derived; without a plan :mod:`maskwell.estimation.stacked_samples`.

Domains of a simple sample are estimated from plain counts. Totals are numbers of rows: with n_d of n rows in a domain

    Cov(n_d theta) = n / (n - 1) (n_d (n_d - 1) Cov(theta) + n_d (1 - n_d / n) theta theta')

because the size of a domain is a matter of chance, too. Source: standard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.documents import joint_fingerprint
from maskwell.core.phrases import option
from maskwell.core.report_data import Counts
from maskwell.core.row_sums import Cells
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError, TooLargeError
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.maximum_likelihood import estimate_by
from maskwell.estimation.sampling.recovery import Calibrated, CodedReading, RecoveredScores, Recovery
from maskwell.estimation.sampling.sample_stages import Scheme, Variance, lines_of_domains
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate, flags_of, with_domains
from maskwell.estimation.share_estimate import Estimate, Sample
from maskwell.estimation.stacked_samples import (
    STACK_LIMIT,
    Estimand,
    best_inverses,
    chance_of_stack,
    cheating_flags,
    estimand_of,
    estimate_samples,
)
from maskwell.estimation.summed_shares import covariance_of
from maskwell.notes import Note

TOLD = 1e-8  # how far sum L P may lie from C by rounding


@dataclass(frozen=True, eq=False)
class Together:
    """A sample whose rows used several designs that identify the shares only together."""

    # Sums of the rows, and the design of each label of `cells.sample`
    cells: Cells
    designs: tuple[Design, ...]
    variance: Variance | None  # How the variance follows from linearised sums; None where replicate weights tell it
    scheme: Scheme
    calibrated: Calibrated | None  # Where the weights were calibrated
    text: str  # The plan in words

    def __post_init__(self) -> None:
        if not all(design.has_entries_up_to(STACK_LIMIT) for design in self.designs):
            raise TooLargeError("designs-that-tell-the-shares-only")
        kept = self.variance is not None and bool(self.variance.kept.any())
        if kept or (self.scheme.replicates is not None and self.scheme.replicates.finite):
            method = "population" if self.cells.population.shape[1] else self.scheme.method
            instead = "merge lonely strata" if method == "stages" else f"leave {option(method)} out"
            raise ParameterError("no-randomization-correction-is-known", instead=instead)

    def estimate(self) -> SurveyEstimate:
        """Of the whole sample and of each domain."""
        cells, everything = self.cells, np.arange(len(self.cells))
        present = np.unique(cells.sample.codes)
        estimand = estimand_of([self.designs[code] for code in present])
        whole = self._of(everything, estimand)
        domains = {d: self._of(lines, estimand) for d, lines in lines_of_domains(cells).items()}
        return with_domains(whole, domains)

    def _of(self, lines: Array, estimand: Estimand) -> SurveyEstimate:
        shares = _Shares.of(self.cells, self.designs, lines)
        size = float(self.cells.weight[lines].sum())
        L, spare = best_inverses(shares.designs, shares.counts, estimand) if len(lines) else ([], False)
        made = sum((left @ d.matrix() for left, d in zip(L, shares.designs, strict=True)), np.zeros(estimand.C.shape))
        if np.abs(made - estimand.C).max() > TOLD:
            none, matrix = np.full(len(estimand.C), np.nan), np.full((len(estimand.C),) * 2, np.nan)
            flag = Note("the-samples-that-have-rows-here")
            return self._result(lines, estimand, (none, none), (matrix, matrix), size, (flag,))
        parts = [left @ lam for left, lam in zip(L, shares.lam, strict=True)]
        theta = np.asarray(sum(parts))
        v_share, v_total = self._variances(lines, shares, L, parts, size)
        chance = chance_of_stack(shares.designs, shares.counts, theta, np.diagonal(v_share), L)
        said = flags_of(theta, v_share, np.zeros(len(theta)), self.cells, size=size, base=size, chance=chance)
        flags = (*estimand.flags, *((Note("the-weights-of-the-samples-come"),) if spare else ()), *said)
        estimate = self._result(lines, estimand, (theta, size * theta), (v_share, v_total), size, flags)
        return replace(estimate, flags=(*flags, *cheating_flags(self.designs, estimate)))

    def _variances(
        self, lines: Array, shares: _Shares, L: Sequence[Real], parts: Sequence[Real], size: float
    ) -> tuple[Real, Real]:
        """Of the shares and of the totals ``size * theta``."""
        theta = np.asarray(sum(parts))
        if self.scheme.replicates is not None:
            thetas, sizes = shares.replicated(L, lines)
            totals = self.scheme.replicates.spread(thetas * sizes[:, None], size * theta, full=True)
            return self.scheme.replicates.spread(thetas, theta, full=True), totals
        tables = [((left - part[:, None]) / n).T for left, part, n in zip(L, parts, shares.sizes, strict=True)]
        return self._open(lines, shares, tables), self._open(lines, shares, [size * one + theta for one in tables])

    def _open(self, lines: Array, shares: _Shares, tables: Sequence[Real]) -> Real:
        """Variance of the weighted sum of what the tables, of shape (m, k), say of each report."""
        assert self.variance is not None
        k = tables[0].shape[1]
        by_code, readings = dict(zip(shares.codes.tolist(), tables, strict=True)), []
        for code, design in enumerate(self.designs):
            said = LeftInverse(by_code.get(code, np.zeros((design.m, k))).T, "linearised", design.fingerprint)
            readings.append(CodedReading(cast(CodedDesign, design), said))
        scores = RecoveredScores.of(Recovery(self.cells, tuple(readings)), lines, np.zeros(k))
        return self.variance.open(scores if self.calibrated is None else self.calibrated.residuals(scores))

    def _result(
        self,
        lines: Array,
        estimand: Estimand,
        values: tuple[Real, Real],
        covariances: tuple[Real, Real],
        size: float,
        flags: tuple[str, ...],
    ) -> SurveyEstimate:
        """From the shares and the totals with their covariances."""
        cells = self.cells
        degrees = None if self.variance is None else self.variance.degrees_of_freedom(lines)
        if self.scheme.replicates is not None:
            degrees = self.scheme.replicates.degrees_of_freedom(cells.weighting.replicates.shape[1], cells.stratum.size)
        return SurveyEstimate(
            categories=estimand.categories,
            pi_hat=values[0],
            variance=np.diagonal(covariances[0]).copy(),
            variance_parts=(np.full(len(values[0]), np.nan),) * 2,
            covariance=covariances[0],
            n=int(cells.n[lines].sum()),
            method="moments",
            fingerprint=joint_fingerprint([design.fingerprint for design in self.designs]),
            flags=flags,
            total=values[1],
            total_variance=np.diagonal(covariances[1]).copy(),
            total_covariance=covariances[1],
            population=size,
            degrees_of_freedom=degrees,
            plan_text=self.text,
        )


@dataclass(frozen=True, eq=False)
class _Shares:
    """Weighted shares of the reports of each sample that has rows among some lines."""

    cells: Cells
    codes: Array
    designs: tuple[Design, ...]
    lam: tuple[Real, ...]
    sizes: tuple[float, ...]
    # Shares times the number of equally weighted reports that would tell as much; only weighs the samples. Sums below
    # zero, which calibrated weights may have, weigh nothing
    counts: tuple[Real, ...]

    @classmethod
    def of(cls, cells: Cells, designs: Sequence[Design], lines: Array) -> _Shares:
        sample = cells.sample.codes[lines]
        codes = np.unique(sample[cells.weight[lines] != 0])
        used, lam, sizes, counts = [designs[code] for code in codes], [], [], []
        for code, design in zip(codes, used, strict=True):
            own = lines[sample == code]
            sums = np.bincount(cells.report[own], cells.weight[own], minlength=design.m).astype(np.float64)
            sizes.append(float(sums.sum()))
            lam.append(sums / sizes[-1])
            counts.append(np.maximum(sums, 0) * sums.sum() / float(cells.square[own].sum()))
        return cls(cells, codes, tuple(used), tuple(lam), tuple(sizes), tuple(counts))

    def replicated(self, L: Sequence[Real], lines: Array) -> tuple[Real, Real]:
        """Estimates (R, r) and sums of weights (R,) by replicate; L is kept: it does not matter to the first order."""
        weights = self.cells.weighting.replicates
        thetas = np.zeros((weights.shape[1], len(L[0])))
        for code, design, left in zip(self.codes, self.designs, L, strict=True):
            own = lines[self.cells.sample.codes[lines] == code]
            sums = np.zeros((design.m, weights.shape[1]))
            np.add.at(sums, self.cells.report[own], weights[own])
            size = sums.sum(axis=0)
            thetas += (left @ (sums / np.where(size > 0, size, np.nan))).T
        return thetas, weights[lines].sum(axis=0)


FEW = "too few rows in this domain for an estimate"
PLAN = "rows as in a simple random sample of a large population"


def estimate_simple(
    cells: Cells, designs: Sequence[Design], *, method: str = "moments", between: Sequence[Mapping[Any, float]] = ()
) -> SurveyEstimate:
    """Shares of the whole sample and of each domain, from counts."""
    whole = _estimate(_samples(cells, designs, np.arange(len(cells))), method)
    domains = {
        label: _with_totals(_domain(_samples(cells, designs, lines), method, whole), cells.rows)
        for label, lines in lines_of_domains(cells).items()
    }
    # domains of a simple sample are independent, given how many rows each has
    covariances = tuple(
        np.asarray(sum(factor**2 * covariance_of(domains[label]) for label, factor in factors.items()))
        for factors in between
    )
    return with_domains(_with_totals(whole, cells.rows), domains, between=covariances)


def _samples(cells: Cells, designs: Sequence[Design], lines: Array) -> list[Sample]:
    samples = []
    for code, design in enumerate(designs):
        own = lines[cells.sample.labels[cells.sample.codes[lines]] == code]
        values = np.zeros(design.m, dtype=np.int64)
        np.add.at(values, cells.report[own], cells.n[own])
        samples.append(Sample(Counts(values, int(values.sum()), design.fingerprint), design))
    return samples


def _estimate(samples: Sequence[Sample], method: str) -> Estimate:
    return estimate_samples(samples, method=method) if len(samples) > 1 else estimate_by(method, samples[0])


def _domain(samples: Sequence[Sample], method: str, whole: Estimate) -> Estimate:
    """Of one domain; not a number, with a flag, where its rows identify less than the whole sample."""
    held = [sample for sample in samples if sample.n]
    few = not held or min(sample.n for sample in held) < 2
    try:
        estimate = None if few else _estimate(held, method)
    except NotIdentifiableError:
        estimate = None
    if estimate is not None and list(estimate.categories) == list(whole.categories):
        return estimate
    flag = FEW if few else Note("the-samples-that-have-rows-here")
    none, n = np.full(len(whole.pi_hat), np.nan), sum(sample.n for sample in held)
    matrix = None if whole.covariance is None else np.full((len(none), len(none)), np.nan)
    return Estimate(whole.categories, none, none, (none, none), matrix, n, whole.method, whole.fingerprint, (flag,))


def _with_totals(estimate: Estimate, rows: int) -> SurveyEstimate:
    n, theta, covariance = estimate.n, estimate.pi_hat, estimate.covariance

    def of_total(V: Real, square: Real) -> Real:
        return np.asarray(rows / max(rows - 1, 1) * (n * (n - 1) * V + n * (1 - n / rows) * square))

    return SurveyEstimate(
        **{field.name: getattr(estimate, field.name) for field in fields(Estimate)},
        total=n * theta,
        total_variance=of_total(estimate.variance, theta**2),
        total_covariance=None if covariance is None else of_total(covariance, np.outer(theta, theta)),
        population=float(n),
        plan_text=f"{n:,} {PLAN}",
    )

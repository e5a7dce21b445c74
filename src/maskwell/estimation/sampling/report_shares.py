"""Estimates from the shares of the reports of each sample, where single rows have no recovery or need none.

Several samples that tell the shares only together, under a sampling plan:

    lam_g = sum_g w_i 1{report of i} / N_g,      theta = sum_g L_g lam_g,      sum_g L_g P_g = C

where ``N_g`` is the sum of the weights of sample g and C pi the shares that are told: all of them, or those of single
variables. The variance is that of the linearised sum of ``w_i e_i`` under the plan,

    e_i = L_g (1{report of i} - lam_g) / N_g      for a row i of sample g.

A single report has no recovery here, so that the randomization of a row cannot be estimated from it; plans whose
variance needs that correction are refused. Source: derived; without a plan it is
:mod:`maskwell.estimation.stacked_samples`.

Domains of a simple sample: without weights, strata, clusters or populations every domain is a sample of its own.
Whole and domains are estimated from plain counts, as files with these rows alone would be, by moments or by maximum
likelihood, and keep the intervals of plain counts. Totals are numbers of rows: with theta the shares and n_d of n rows,

    Cov(n_d theta) = n / (n - 1) (n_d (n_d - 1) Cov(theta) + n_d (1 - n_d / n) theta theta')

because the size of a domain is a matter of chance, too. Source: standard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import Cells
from maskwell.core.documents import joint_fingerprint
from maskwell.core.phrases import option
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError, TooLargeError
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood
from maskwell.estimation.moments import estimate_by_moments
from maskwell.estimation.sampling.recovery import Calibrated, LinearReading, Recovery, Scores
from maskwell.estimation.sampling.replicate_weights import ReplicateRule
from maskwell.estimation.sampling.sample_stages import Variance, lines_of_domains
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
NOT_TOLD = "the samples that have rows here do not tell the shares: there is no estimate"


@dataclass(frozen=True, eq=False)
class Together:
    """A sample whose rows used several designs that tell the shares only together."""

    # Sums of the rows, and the design of each label of `cells.sample`
    cells: Cells
    designs: tuple[Design, ...]
    # One of them: how the variance follows from linearised sums, or from replicate weights
    variance: Variance | None
    rule: ReplicateRule | None
    calibrated: Calibrated | None  # Where the weights were calibrated
    # The plan in words, and the name of its method
    text: str
    method: str = "stages"

    def __post_init__(self) -> None:
        if not all(design.has_entries_up_to(STACK_LIMIT) for design in self.designs):
            raise TooLargeError("designs-that-tell-the-shares-only")
        corrected = self.rule.finite if self.rule is not None else self.variance is None or self.variance.kept.any()
        if corrected:
            raise ParameterError("no-randomization-correction-is-known", instead=self._instead())

    def _instead(self) -> str:
        """How to describe the sample as drawn with replacement."""
        if self.cells.population.shape[1]:
            return f"leave {option('population')} out"
        return "merge lonely strata" if self.method == "stages" else f"leave {option(self.method)} out"

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
        if not _told(L, shares.designs, estimand.C):
            return self._nothing(lines, estimand, size)
        parts = [left @ lam for left, lam in zip(L, shares.lam, strict=True)]
        theta = np.asarray(sum(parts))
        v_share, v_total = self._variances(lines, shares, L, parts, size)
        estimate = self._result(lines, estimand, theta, v_share, size * theta, v_total, size)
        chance = chance_of_stack(shares.designs, shares.counts, theta, estimate.variance, L)
        said = flags_of(theta, v_share, np.zeros(len(theta)), self.cells, size=size, base=size, chance=chance)
        more = cheating_flags(self.designs, estimate)
        return replace(
            estimate,
            flags=(*estimand.flags, *((Note("the-weights-of-the-samples-come"),) if spare else ()), *said, *more),
        )

    def _variances(
        self, lines: Array, shares: _Shares, L: Sequence[Real], parts: Sequence[Real], size: float
    ) -> tuple[Real, Real]:
        """Of the shares and of the totals ``size * theta``."""
        theta = np.asarray(sum(parts))
        if self.rule is not None:
            thetas, sizes = shares.replicated(L, lines)
            totals = self.rule.spread(thetas * sizes[:, None], size * theta, full=True)
            return self.rule.spread(thetas, theta, full=True), totals
        tables = [((left - part[:, None]) / n).T for left, part, n in zip(L, parts, shares.sizes, strict=True)]
        return self._open(lines, shares, tables), self._open(lines, shares, [size * one + theta for one in tables])

    def _open(self, lines: Array, shares: _Shares, tables: Sequence[Real]) -> Real:
        """Variance of the weighted sum of what the tables say of each report."""
        assert self.variance is not None
        k = tables[0].shape[1]
        by_code = dict(zip(shares.codes.tolist(), tables, strict=True))
        readings = (LinearReading(d, by_code.get(c, np.zeros((d.m, k)))) for c, d in enumerate(self.designs))
        scores = Scores(Recovery(self.cells, tuple(readings)), lines, np.zeros(k))
        return self.variance.open(scores if self.calibrated is None else self.calibrated.residuals(scores))

    def _degrees_of_freedom(self, lines: Array) -> float | None:
        if self.rule is not None:
            return self.rule.degrees_of_freedom(self.cells.replicates.shape[1], self.cells.stratum.size)
        return None if self.variance is None else self.variance.degrees_of_freedom(lines)

    def _nothing(self, lines: Array, estimand: Estimand, size: float) -> SurveyEstimate:
        none = np.full(len(estimand.C), np.nan)
        matrix = np.full((len(none), len(none)), np.nan)
        return replace(
            self._result(lines, estimand, none, matrix, none, matrix, size),
            flags=(Note("the-samples-that-have-rows-here"),),
        )

    def _result(
        self, lines: Array, estimand: Estimand, theta: Real, v_share: Real, total: Real, v_total: Real, size: float
    ) -> SurveyEstimate:
        unknown, cells = np.full(len(theta), np.nan), self.cells
        return SurveyEstimate(
            categories=estimand.categories,
            pi_hat=theta,
            variance=np.diagonal(v_share).copy(),
            sampling_variance=unknown,
            randomization_variance=unknown,
            covariance=v_share,
            n=int(cells.n[lines].sum()),
            method="moments",
            fingerprint=joint_fingerprint([design.fingerprint for design in self.designs]),
            total=total,
            total_variance=np.diagonal(v_total).copy(),
            total_covariance=v_total,
            population=size,
            degrees_of_freedom=self._degrees_of_freedom(lines),
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
    counts: tuple[Real, ...]

    @classmethod
    def of(cls, cells: Cells, designs: Sequence[Design], lines: Array) -> _Shares:
        sample = cells.sample.codes[lines]
        codes = np.unique(sample[cells.weight[lines] != 0])
        sums, used, counts = [], [designs[code] for code in codes], []
        for code, design in zip(codes, used, strict=True):
            sample_lines = lines[sample == code]
            sums.append(
                np.bincount(cells.report[sample_lines], weights=cells.weight[sample_lines], minlength=design.m).astype(
                    np.float64
                )
            )
            counts.append(_effective(sums[-1], float(cells.square[sample_lines].sum())))
        sizes = tuple(float(one.sum()) for one in sums)
        lam = tuple(one / size for one, size in zip(sums, sizes, strict=True))
        return cls(cells, codes, tuple(used), lam, sizes, tuple(counts))

    def replicated(self, L: Sequence[Real], lines: Array) -> tuple[Real, Real]:
        """The estimates and sums of weights under each set of replicate weights, shapes (R, r) and (R,).

        L stays as it is: how much it would change does not matter to the first order.
        """
        weights = self.cells.replicates
        thetas = np.zeros((weights.shape[1], len(L[0])))
        for code, design, left in zip(self.codes, self.designs, L, strict=True):
            sample_lines = lines[self.cells.sample.codes[lines] == code]
            sums = np.zeros((design.m, weights.shape[1]))
            np.add.at(sums, self.cells.report[sample_lines], weights[sample_lines])
            size = sums.sum(axis=0)
            thetas += (left @ (sums / np.where(size > 0, size, np.nan))).T
        return thetas, weights[lines].sum(axis=0)


def _effective(sums: Real, square: float) -> Real:
    """Shares times the number of equally weighted reports that would tell as much; only weighs the samples.

    Sums below zero, which calibrated weights may have, weigh nothing.
    """
    return np.asarray(np.maximum(sums, 0) * sums.sum() / square)


def _told(L: Sequence[Real], designs: Sequence[Design], C: Real) -> bool:
    """Whether ``sum_g L_g P_g = C``: whether the samples at hand tell what is wanted."""
    made = sum((left @ d.matrix() for left, d in zip(L, designs, strict=True)), np.zeros(C.shape))
    return bool(np.abs(made - C).max() <= TOLD)


FEW = "too few rows in this domain: there is no estimate"
PLAN = "rows as in a simple random sample of a large population"


def estimate_simple(
    cells: Cells,
    designs: Sequence[Design],
    *,
    method: str = "moments",
    between: Sequence[Mapping[Any, float]] = (),
) -> SurveyEstimate:
    """Shares of the whole sample and of each domain, from counts."""
    if cells.weighted or cells.clusters or cells.population.shape[1] or cells.replicates.shape[1]:
        raise ParameterError("a-sampling-plan-for-an-estimate")
    whole = _estimate(_samples(cells, designs, np.arange(len(cells))), method)
    domains = {
        label: _with_totals(_domain(_samples(cells, designs, lines), method, whole), cells.rows)
        for label, lines in lines_of_domains(cells).items()
    }
    covariances = tuple(_between(domains, one) for one in between)
    return with_domains(_with_totals(whole, cells.rows), domains, between=covariances)


def _between(domains: Mapping[Any, SurveyEstimate], factors: Mapping[Any, float]) -> Real:
    """``sum_d f_d^2 Cov_d``: domains of a simple sample are independent, given how many rows each has."""
    return np.asarray(sum(factor**2 * covariance_of(domains[label]) for label, factor in factors.items()))


def _samples(cells: Cells, designs: Sequence[Design], lines: Array) -> list[Sample]:
    return [_sample(cells, code, design, lines) for code, design in enumerate(designs)]


def _sample(cells: Cells, code: int, design: Design, lines: Array) -> Sample:
    sample_lines = lines[cells.sample.labels[cells.sample.codes[lines]] == code]
    values = np.zeros(design.m, dtype=np.int64)
    np.add.at(values, cells.report[sample_lines], cells.n[sample_lines])
    return Sample(Counts(values, int(values.sum()), design.fingerprint), design)


def _estimate(samples: Sequence[Sample], method: str) -> Estimate:
    if len(samples) > 1:
        return estimate_samples(samples, method=method)
    alone = estimate_by_likelihood if method == "ml" else estimate_by_moments
    return alone(samples[0].counts, samples[0].design)


def _domain(samples: Sequence[Sample], method: str, whole: Estimate) -> Estimate:
    """Of one domain; not a number, with a flag, where its rows do not tell all that the whole sample tells."""
    held = [sample for sample in samples if sample.n]
    n = sum(sample.n for sample in held)
    if not held or min(sample.n for sample in held) < 2:
        return _nothing(whole, n, FEW)
    try:
        estimate = _estimate(held, method)
    except NotIdentifiableError:
        return _nothing(whole, n, NOT_TOLD)
    return estimate if list(estimate.categories) == list(whole.categories) else _nothing(whole, n, NOT_TOLD)


def _nothing(like: Estimate, n: int, flag: str) -> Estimate:
    none = np.full(len(like.pi_hat), np.nan)
    matrix = None if like.covariance is None else np.full((len(none), len(none)), np.nan)
    return Estimate(like.categories, none, none, none, none, matrix, n, like.method, like.fingerprint, (flag,))


def _with_totals(estimate: Estimate, rows: int) -> SurveyEstimate:
    n, theta = estimate.n, estimate.pi_hat
    field_values = {field.name: getattr(estimate, field.name) for field in fields(Estimate)}
    return SurveyEstimate(
        **field_values,
        total=n * theta,
        total_variance=_of_total(estimate.variance, theta**2, n, rows),
        total_covariance=None
        if estimate.covariance is None
        else _of_total(estimate.covariance, np.outer(theta, theta), n, rows),
        population=float(n),
        plan_text=f"{n:,} {PLAN}",
    )


def _of_total(covariance: Real, square: Real, n: int, rows: int) -> Real:
    return np.asarray(rows / max(rows - 1, 1) * (n * (n - 1) * covariance + n * (1 - n / rows) * square))

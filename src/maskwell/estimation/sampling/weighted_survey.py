"""Estimates from a sample: totals, shares and domains, with sampling and randomization separated.

    T = sum w_i U_i,      V(T) = V_open(U) + sum kept_i (U_i U_i' - D_{U_i})
with the variance V_open of the plan for open answers, and the part ``kept_i`` of the squared weight that it leaves out;
``sum w_i^2 (U_i U_i' - D_{U_i})`` is the randomization part. Residuals ``(U_i - share) / N`` take the place of U for
shares. Source: [Adeshiyan2011, Theorem 3.1, Theorem 3.2 corrected]; the short form is derived.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, RealNumber, as_array, as_list, as_real, check_kind
from maskwell.core.groups import Factor
from maskwell.core.phrases import VALUES, Printed, listed
from maskwell.core.report_data import Reports, split_sets
from maskwell.core.row_sums import Cells, products_of_replicates
from maskwell.designs.coded import CodedDesign, check_codes, codes_of, reports_of
from maskwell.designs.design import Design
from maskwell.errors import InputError, LabelError, ParameterError, ReportError, TooLargeError
from maskwell.estimation.binomial_counts import Part
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.outside_estimates import chance_given_truth
from maskwell.estimation.sampling.recovery import (
    Calibrated,
    LineScores,
    RecoveredScores,
    Recovery,
    readings_of,
)
from maskwell.estimation.sampling.replicate_weights import ReplicateRule, rank_of_replicates, replicate_totals
from maskwell.estimation.sampling.report_shares import Together
from maskwell.estimation.sampling.sample_stages import Scheme, Variance, lines_of_domains, variance_of, weighted_cells
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate, empty_domain, flags_of, plan_text, with_domains
from maskwell.estimation.share_estimate import diagonal


def _cells_of_design(reports: Any, design: Design, plan: Sampling, domains: Any) -> Cells:
    """The cells of rows that all used one design."""
    if not isinstance(design, CodedDesign):
        bits = reports_of(design, reports) if isinstance(reports, Reports) else split_sets(reports, design.k)
        design.tally(Reports(design.fingerprint, design.k, "bits", bits))  # refuses sets that it never reports
        if plan.joint_inclusion is not None:
            raise ReportError("set-reports-with-pairwise-probabilities")
        held = np.unpackbits(bits, axis=1, count=design.k, bitorder="little")
        return Cells.of_sets(held, domain=domains, **plan.columns(len(held)))
    found = (
        check_codes(reports_of(design, reports)) if isinstance(reports, Reports) else codes_of(design.outputs, reports)
    )
    codes = np.asarray(found, dtype=np.int64)
    return Cells.of(codes, domain=domains, **plan.columns(len(codes)))


def _cells_of_samples(
    reports: Any, design: Mapping[Any, Design], plan: Sampling, domains: Any, samples: Any
) -> tuple[Cells, list[Design]]:
    """The cells of rows of several samples, and the design that each sample used."""
    if samples is None:
        raise InputError("designs-and-no-samples", design_count=len(design))
    group = Factor.of(samples, "samples")
    labels = group.labels.tolist()
    used = designs_of(labels, design)
    unused = [label for label in design if label not in set(labels)]
    if unused:
        raise LabelError(
            "no-row-of-the-samples-which", unused=listed(map(repr, unused), len(unused), 40), samples=unused
        )
    codes = _codes_by_sample(used, reports, group)
    return Cells.of(codes, domain=domains, sample=group, **plan.columns(len(codes))), used


def designs_of(labels: Sequence[Any], designs: Mapping[Any, Design]) -> list[Design]:
    """The design of each sample."""
    missing = [label for label in labels if label not in designs]
    if missing:
        raise LabelError(
            "no-design-for-of-samples",
            missing_count=len(missing),
            labels_count=len(labels),
            values=listed(map(repr, missing), len(missing), VALUES),
            missing=missing,
        )
    return [designs[label] for label in labels]


def _codes_by_sample(designs: list[Design], reports: Any, group: Factor) -> Array:
    """The code of each report among those of the design that its row used."""
    coded = [one for one in designs if isinstance(one, CodedDesign)]
    if len(coded) < len(designs):
        raise ReportError("one-of-several-designs-reports-sets")
    if isinstance(reports, Reports):
        raise ReportError("one-column-of-reports-of-one")
    given = reports if hasattr(reports, "__array__") else as_list(reports, "reports")
    values = as_array(given, "reports").astype(object)
    if values.shape != group.codes.shape:
        raise InputError("samples-for-reports", group_count=len(group), values_count=len(values))
    codes = np.empty(len(values), dtype=np.int64)
    for place, one in enumerate(coded):
        in_sample = group.codes == place
        codes[in_sample] = codes_of(one.outputs, values[in_sample].tolist())
    return codes


_MOST_UNITS = 1e100


def estimate_survey(
    reports: Any,
    design: Design | Mapping[Any, Design],
    plan: Sampling,
    *,
    domains: Any = None,
    samples: Any = None,
    inverse: LeftInverse | None = None,
    denominator: float | None = None,
) -> SurveyEstimate:
    """Shares and totals of a population from the reports of a sample.

    Parameters
    ----------
    reports
        Reports as a design made them, or a column of report labels (0/1 texts for sets).
    design
        The design of all rows, or one design for each label of ``samples``. One need not identify the shares: then
        they come from all samples together.
    plan
        How the rows were drawn.
    domains
        A label for each row: the result has an estimate for each label too.
    samples
        A label for each row that says which of several designs it used.
    inverse
        Another left inverse than that of the design, such as optimal scores.
    denominator
        The known number of units in the population; shares are totals over this number. By default they are totals over
        the sum of the weights (Hajek ratios).

    Eight of twenty people drew a card of Liu and Chow's jar; no one was asked twice:

    >>> from maskwell.designs import Dense
    >>> jar = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
    >>> whole = estimate_survey([0, 1, 1, 2, 0, 1, 2, 1], jar, Sampling(population=20))
    >>> [round(float(x), 2) for x in (whole.total[1], whole.total_standard_error[1])]   # ten of them, give or take five
    [10.42, 5.46]
    """
    check_kind(Sampling, plan=plan)
    check_kind(Design | Mapping, design=design)
    check_kind(LeftInverse | None, inverse=inverse)
    check_kind(RealNumber | None, denominator=denominator)
    if isinstance(design, Mapping):
        cells, used = _cells_of_samples(reports, design, plan, domains, samples)
    elif samples is None:
        cells, used = _cells_of_design(reports, design, plan, domains), [design]
    else:
        raise InputError("samples-are-told-apart-but-there")
    scheme = plan.scheme
    if scheme.replicates is not None and scheme.replicates.rank is None and plan.replicates is not None:
        weights = None if plan.weights is None else as_array(plan.weights, "weights").astype(np.float64)
        replicates = as_array(plan.replicates, "replicate weights").astype(np.float64)
        rank = rank_of_replicates(products_of_replicates(replicates, weights))
        scheme = replace(scheme, replicates=replace(scheme.replicates, rank=rank))
    return _estimate(Recovery(cells, readings_of(used, inverse)), scheme, denominator)


def estimate_cells(
    cells: Cells,
    design: Design | Mapping[Any, Design],
    scheme: Scheme | None = None,
    *,
    denominator: float | None = None,
    between: Sequence[Mapping[Any, float]] = (),
) -> SurveyEstimate:
    """The same from sums counted elsewhere; ``between`` asks for covariances of sums of domains, with factors."""
    designs = designs_of(cells.sample.labels.tolist(), design) if isinstance(design, Mapping) else [design]
    return _estimate(Recovery(cells, readings_of(designs)), scheme or Scheme(), denominator, between)


@dataclass(frozen=True, eq=False)
class _Survey:
    """A sample ready to be asked about any domain."""

    recovery: Recovery
    scheme: Scheme
    variance: Variance | None
    calibrated: Calibrated | None
    text: str

    @classmethod
    def of(cls, recovery: Recovery, scheme: Scheme) -> _Survey:
        """After a look whether the cells hold what the scheme needs."""
        cells, first = recovery.cells, recovery.readings[0].design
        if cells.rows < 1:
            raise ReportError("there-are-no-reports")
        for design in (reading.design for reading in recovery.readings[1:]):
            if list(design.inputs.labels) != list(first.inputs.labels):
                raise ReportError("the-designs-ask-about-different-categories")
            if design.reports_are_sets != first.reports_are_sets:
                raise ReportError("some-designs-report-sets-and-some")
        if cells.sets != first.reports_are_sets:
            raise ReportError("these-cells-were-not-counted")
        scheme.check(cells)
        if scheme.replicates is not None:
            empty = np.flatnonzero(cells.weighting.replicates[cells.is_row].sum(axis=0) == 0)
            if len(empty):
                number = int(empty[0]) + 1
                raise ParameterError("replicate-has-the-weight-0", empty_number=number, replicates=empty.tolist())
        cells = weighted_cells(cells, scheme)
        recovery = recovery if cells is recovery.cells else replace(recovery, cells=cells)
        calibrated = Calibrated.of(recovery)
        g = np.ones(len(cells)) if calibrated is None else calibrated.g
        return cls(recovery, scheme, variance_of(cells, scheme, g), calibrated, plan_text(cells, scheme))

    @property
    def cells(self) -> Cells:
        """What is kept of the rows."""
        return self.recovery.cells

    def totals(self, lines: Array, a: Real) -> Real:
        """``sum a U`` over the lines."""
        scores = RecoveredScores.of(self.recovery, lines, np.zeros(self.recovery.k))
        return np.asarray(scores.sums(a, np.zeros(len(self.cells), dtype=np.int64), 1)[0])

    def randomization(self, lines: Array, a: Real) -> Real:
        """``sum a (U U' - D_U)`` over the lines, or its diagonal."""
        squares = RecoveredScores.of(self.recovery, lines, np.zeros(self.recovery.k)).squares(a)
        total = self.totals(lines, a)
        return squares - (np.diag(total) if squares.ndim == 2 else total)

    def variances_of(self, variance: Variance, lines: Array, *centres: Real) -> list[Real]:
        """Of ``sum w (U - centre)`` over the lines for each centre, with the randomization correction."""
        correction = self.randomization(lines, variance.kept)
        scores = [RecoveredScores.of(self.recovery, lines, centre) for centre in centres]
        residuals = scores if self.calibrated is None else map(self.calibrated.residuals, scores)
        return [variance.open(one) + correction for one in residuals]


def _estimate(
    recovery: Recovery, scheme: Scheme, denominator: float | None, between: Sequence[Mapping[Any, float]] = ()
) -> SurveyEstimate:
    survey = _Survey.of(recovery, scheme)
    cells = survey.cells
    if denominator is not None:
        denominator = as_real(denominator, "denominator")
        if not 1 / _MOST_UNITS <= denominator <= _MOST_UNITS:  # its square must be a number, too
            said = f"denominator = {Printed(denominator):g} is out of range"
            raise ParameterError(said, hint="give the number of units in the population")
        denominator = math.ldexp(denominator, -cells.weighting.exponent)
    if not all(reading.design.identifiable for reading in recovery.readings):
        if between:
            raise ParameterError("differences-between-groups-whose-samples-tell")
        if denominator is not None:
            raise ParameterError("a-denominator-for-samples-that-tell", denominator=denominator)
        designs = tuple(reading.design for reading in recovery.readings)
        parts = (cells, designs, survey.variance, scheme, survey.calibrated, survey.text)
        return Together(*parts).estimate().times_power(cells.weighting.exponent)
    whole, lines_of = _one(survey, np.arange(len(cells)), denominator), lines_of_domains(cells)
    domains = {d: _one(survey, lines, None) for d, lines in lines_of.items()}
    covariances = tuple(_between(survey, {d: (lines_of[d], f) for d, f in one.items()}, domains) for one in between)
    return with_domains(whole, domains, between=covariances).times_power(cells.weighting.exponent)


def _between(survey: _Survey, terms: Mapping[Any, tuple[Array, float]], domains: Mapping[Any, SurveyEstimate]) -> Real:
    """The covariance of ``sum_d f_d share_d`` from scores ``f_d (U_i - share_d) / N_d`` of the rows of the domains."""
    if not survey.recovery.full or survey.calibrated is not None:
        raise TooLargeError("covariances-between-groups-were-left-out")
    if survey.scheme.replicates is not None:
        return _replicates_between(survey, survey.scheme.replicates, terms)
    assert survey.variance is not None
    cells, k = survey.cells, survey.recovery.k
    factor, centres = np.zeros(len(cells)), np.zeros((len(cells), k))
    correction = np.zeros((k, k))
    for label, (lines, f) in terms.items():
        factor[lines], centres[lines] = f / domains[label].population, domains[label].pi_hat
        correction += (f / domains[label].population) ** 2 * survey.randomization(lines, survey.variance.kept)

    def of_lines(lines: Array) -> Real:
        return survey.recovery.centred(lines, centres[lines]) * factor[lines, None]

    return survey.variance.open(LineScores(np.flatnonzero(factor), k, of_lines)) + correction


def _replicates_between(survey: _Survey, rule: ReplicateRule, terms: Mapping[Any, tuple[Array, float]]) -> Real:
    cells, k = survey.cells, survey.recovery.k
    whole, made = np.zeros(k), np.zeros((cells.weighting.replicates.shape[1], k))
    correction = np.zeros((k, k))
    for lines, f in terms.values():
        (totals, sizes), size = replicate_totals(survey.recovery, lines), float(cells.weight[lines].sum())
        whole += f * survey.totals(lines, cells.weight) / size
        made += f * totals / np.where(sizes > 0, sizes, np.nan)[:, None]
        correction += (f / size) ** 2 * survey.randomization(lines, cells.weight) if rule.finite else 0
    return rule.spread(made, whole, full=True) + correction


def _one(survey: _Survey, lines: Array, denominator: float | None) -> SurveyEstimate:
    cells, recovery = survey.cells, survey.recovery
    row_lines = lines[cells.is_row[lines]]
    size = float(cells.weight[row_lines].sum())
    if not len(row_lines) or size == 0:
        return empty_domain(survey.recovery, survey.text)
    total = survey.totals(lines, cells.weight)
    base = size if denominator is None else float(denominator)
    share = total / base
    v_total, v_share, df = _variances(survey, lines, total, size, denominator)
    randomization = diagonal(survey.randomization(lines, cells.square)) / base**2
    variance = diagonal(v_share)
    squares = np.bincount(cells.sample.codes[row_lines], cells.square[row_lines], minlength=len(recovery.readings))
    shares = zip(recovery.readings, squares, strict=True)
    used = tuple(Part(r.design, float(one / squares.sum()), r.inverse) for r, one in shares if one > 0)
    return SurveyEstimate(
        categories=recovery.readings[0].design.inputs.labels,
        pi_hat=share,
        variance=variance,
        variance_parts=(variance - randomization, randomization),
        covariance=v_share if v_share.ndim == 2 else None,
        n=int(cells.n[row_lines].sum()),
        method="moments",
        fingerprint=recovery.fingerprint,
        flags=flags_of(
            share,
            v_share,
            randomization,
            cells,
            size=size,
            base=base,
            chance=chance_given_truth(total / size, recovery.recovered(row_lines)),
        ),
        total=total,
        total_variance=diagonal(v_total),
        total_covariance=v_total if v_total.ndim == 2 else None,
        population=base,
        degrees_of_freedom=df,
        plan_text=survey.text,
        used=used if denominator is None else (),
        kish=size**2 / float(cells.square[row_lines].sum()),
        simple_covariance=_simple(survey, lines, total / size, size),
    )


FULL_EFFECTS = 200  # with more categories than this only the design effects of single categories are worked out


def _simple(survey: _Survey, lines: Array, share: Real, size: float) -> Real | None:
    """``sum w (U - share)(U - share)' / sum w / (n - 1)``: the covariance if the rows were a simple random sample."""
    recovery, cells = survey.recovery, survey.cells
    n = int(cells.n[lines[cells.is_row[lines]]].sum())
    if n < 2:
        return None
    parts, k = recovery.by_sample(cells.weight, lines), recovery.k
    if k <= FULL_EFFECTS and recovery.full:
        squares = sum((r.squares(a, share) for r, a in parts), np.zeros((k, k)))
    else:
        squares = sum((r.squares_diagonal(a, share) for r, a in parts), np.zeros(k))
    return np.asarray(squares / (size * (n - 1)))


def _variances(
    survey: _Survey, lines: Array, total: Real, size: float, denominator: float | None
) -> tuple[Real, Real, float | None]:
    """Of the totals and of the shares, and the degrees of freedom."""
    if survey.scheme.replicates is not None:
        return _replicate_variances(survey, survey.scheme.replicates, lines, total, size, denominator)
    variance, zero = survey.variance, np.zeros(survey.recovery.k)
    assert variance is not None
    df = variance.degrees_of_freedom(lines)
    if denominator is not None:
        (v_total,) = survey.variances_of(variance, lines, zero)
        return v_total, v_total / denominator**2, df
    v_total, v_sum = survey.variances_of(variance, lines, zero, total / size)
    return v_total, v_sum / size**2, df


def _replicate_variances(
    survey: _Survey, rule: ReplicateRule, lines: Array, total: Real, size: float, denominator: float | None
) -> tuple[Real, Real, float | None]:
    cells, full = survey.cells, survey.recovery.full
    totals, sizes = replicate_totals(survey.recovery, lines)
    v_total = rule.spread(totals, total, full=full)
    if denominator is None:
        shares = totals / np.where(sizes > 0, sizes, np.nan)[:, None]
        v_share, base = rule.spread(shares, total / size, full=full), size
    else:
        v_share, base = v_total / denominator**2, denominator
    if rule.finite:
        added = survey.randomization(lines, cells.weight)
        v_total, v_share = v_total + added, v_share + added / base**2
    return v_total, v_share, rule.degrees_of_freedom(cells.weighting.replicates.shape[1], cells.stratum.size)

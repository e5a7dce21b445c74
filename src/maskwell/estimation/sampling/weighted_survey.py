"""Estimates from a sample: totals, shares and domains, with sampling and randomization told apart.

    T = sum w_i U_i,      V(T) = V_open(U) + sum kept_i (U_i U_i' - D_{U_i})

``V_open`` is the variance estimate that the sampling plan would have for open answers, with the recovery U in place of
the answer; ``kept_i`` is the part of the squared weight that it leaves out: w_i for draws without replacement with
weights 1 / pi_i, nothing for draws with replacement. ``sum w_i^2 (U_i U_i' - D_{U_i})`` is the randomization part of
the variance under any plan. Shares are ratios: residuals ``(U_i - share) / N`` take the place of U in V_open.

Source: [Adeshiyan2011, Theorem 3.1, Theorem 3.2 corrected]; the short form is derived.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, RealNumber, as_array, as_list, as_mapping, as_real, check_kind
from maskwell.core.cells import Cells, products_of_replicates
from maskwell.core.groups import Factor
from maskwell.core.phrases import VALUES, Printed, listed
from maskwell.core.report_data import Reports, split_sets
from maskwell.designs.coded import CodedDesign, check_codes, codes_of, reports_of
from maskwell.designs.design import Design
from maskwell.errors import InputError, LabelError, ParameterError, ReportError, TooLargeError
from maskwell.estimation.binomial_counts import Part
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.outside_estimates import chance_given_truth
from maskwell.estimation.sampling.recovery import (
    Calibrated,
    Reading,
    Recovery,
    Scores,
    WeightedScores,
    diagonal,
    reading_of,
    readings_of,
)
from maskwell.estimation.sampling.replicate_weights import ReplicateTotals, rank_of_replicates
from maskwell.estimation.sampling.report_shares import Together
from maskwell.estimation.sampling.sample_stages import (
    MultistageVariance,
    Scheme,
    Variance,
    lines_of_domains,
    stages_of,
    weight_factor,
)
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.estimation.sampling.survey_estimate import (
    SurveyEstimate,
    empty_domain,
    flags_of,
    plan_text,
    with_domains,
)
from maskwell.estimation.sampling.unequal_chances import HajekDevilleVariance, PairwiseVariance, PoissonVariance

Designs = Design | Mapping[Any, Design]

_MOST_UNITS = 1e100


def estimate_survey(
    reports: Any,
    design: Designs,
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
        The design of all rows, or one design for each label of ``samples``. One alone need not tell the shares: then
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

    Examples
    --------
    Eight of twenty people drew a card of Liu and Chow's jar; no one was asked twice:

    >>> from maskwell.designs import Dense
    >>> jar = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
    >>> whole = estimate_survey([0, 1, 1, 2, 0, 1, 2, 1], jar, Sampling(population=20))
    >>> [round(float(x), 2) for x in (whole.total[1], whole.total_standard_error[1])]   # ten of them, give or take five
    [10.42, 5.46]
    """
    check_kind(Sampling, plan=plan)
    check_kind(LeftInverse | None, inverse=inverse)
    check_kind(RealNumber | None, denominator=denominator)
    cells, readings = cells_of_rows(reports, design, plan, domains=domains, samples=samples, inverse=inverse)
    return _estimate(Recovery(cells, readings), _scheme(plan), denominator)


def _scheme(plan: Sampling) -> Scheme:
    """That of a plan whose values have been checked, with the rank of its replicate weights."""
    scheme = plan.scheme
    if scheme.replicates is None or scheme.replicates.rank is not None or plan.replicates is None:
        return scheme
    weights = None if plan.weights is None else as_array(plan.weights, "weights").astype(np.float64)
    replicates = as_array(plan.replicates, "replicate weights").astype(np.float64)
    rank = rank_of_replicates(products_of_replicates(replicates, weights))
    return replace(scheme, replicates=replace(scheme.replicates, rank=rank))


def estimate_cells(
    cells: Cells,
    design: Designs,
    scheme: Scheme | None = None,
    *,
    inverse: LeftInverse | None = None,
    denominator: float | None = None,
    between: Sequence[Mapping[Any, float]] = (),
) -> SurveyEstimate:
    """The same from sums that were counted elsewhere, such as in a file; ``design`` by the labels of the samples.

    ``between`` asks for the covariance of sums of the shares of domains, with a factor for each domain.

    >>> from maskwell.designs import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    >>> half = Cells.of([0, 1], count=[60, 90], weight=[2.0, 2.0])
    >>> estimate_cells(half + half, warner).pi_hat.round(4).tolist()
    [0.25, 0.75]
    """
    check_kind(Cells, cells=cells)
    check_kind(Scheme | None, scheme=scheme)
    check_kind(LeftInverse | None, inverse=inverse)
    check_kind(RealNumber | None, denominator=denominator)
    between = [as_mapping(one, "between") for one in as_list(between, "between")]
    labels = cells.sample.labels.tolist()
    if isinstance(design, Mapping):
        designs = _designs_of(labels, design)
    elif len(labels) > 1:
        raise InputError("one-design-for-samples", labels_count=len(labels))
    else:
        designs = [design]
    readings = readings_of(designs, inverse)
    return _estimate(Recovery(cells, readings), scheme or Scheme(), denominator, between)


@dataclass(frozen=True, eq=False)
class _Survey:
    """A sample ready to be asked about any domain."""

    recovery: Recovery
    scheme: Scheme
    variance: Variance | None
    calibrated: Calibrated | None
    text: str

    @property
    def cells(self) -> Cells:
        return self.recovery.cells

    def totals(self, lines: Array, a: Real) -> Real:
        """``sum a U`` over the lines."""
        one = np.zeros(len(self.cells), dtype=np.int64)
        return np.asarray(Scores(self.recovery, lines, np.zeros(self.recovery.k)).sums(a, one, 1)[0])

    def randomization(self, lines: Array, a: Real) -> Real:
        """``sum a (U U' - D_U)`` over the lines, or its diagonal."""
        squares = Scores(self.recovery, lines, np.zeros(self.recovery.k)).squares(a)
        total = self.totals(lines, a)
        return squares - (np.diag(total) if squares.ndim == 2 else total)

    def variances_of(self, lines: Array, *centres: Real) -> list[Real]:
        """Of ``sum w (U - centre)`` over the lines for each centre, with the randomization correction."""
        assert self.variance is not None
        correction = self.randomization(lines, self.variance.kept)
        return [self.variance.open(self._scores(lines, centre)) + correction for centre in centres]

    def _scores(self, lines: Array, centre: Real) -> Scores:
        scores = Scores(self.recovery, lines, centre)
        return scores if self.calibrated is None else self.calibrated.residuals(scores)


def _estimate(
    recovery: Recovery, scheme: Scheme, denominator: float | None, between: Sequence[Mapping[Any, float]] = ()
) -> SurveyEstimate:
    survey = _survey(recovery, scheme)
    cells = survey.cells
    if denominator is not None:
        denominator = as_real(denominator, "denominator")
        if not 1 / _MOST_UNITS <= denominator <= _MOST_UNITS:  # its square must be a number, too
            said = f"denominator = {Printed(denominator):g} is out of range"
            raise ParameterError(said, hint="give the number of units in the population")
        denominator = math.ldexp(denominator, -cells.exponent)
    if not all(reading.design.identifiable for reading in recovery.readings):
        _check_not_between(between)
        return _together(survey, denominator).times_power(cells.exponent)
    whole, lines_of = _one(survey, np.arange(len(cells)), denominator), lines_of_domains(cells)
    domains = {d: _one(survey, lines, None) for d, lines in lines_of.items()}
    covariances = tuple(_between(survey, {d: (lines_of[d], f) for d, f in one.items()}, domains) for one in between)
    return with_domains(whole, domains, between=covariances).times_power(cells.exponent)


def _check_not_between(between: Sequence[Mapping[Any, float]]) -> None:
    if between:
        raise ParameterError("differences-between-groups-whose-samples-tell")


def _between(survey: _Survey, terms: Mapping[Any, tuple[Array, float]], domains: Mapping[Any, SurveyEstimate]) -> Real:
    """The covariance of ``sum_d f_d share_d``: linearised, one score for each row of any of these domains.

    e_i = f_d (U_i - share_d) / N_d     for a row i of domain d
    """
    if not survey.recovery.full or survey.calibrated is not None:
        raise TooLargeError("covariances-between-groups-were-left-out")
    if survey.variance is None:
        return _replicates_between(survey, terms)
    cells, k = survey.cells, survey.recovery.k
    factor, centres = np.zeros(len(cells)), np.zeros((len(cells), k))
    correction = np.zeros((k, k))
    for label, (lines, f) in terms.items():
        factor[lines], centres[lines] = f / domains[label].population, domains[label].pi_hat
        correction += (f / domains[label].population) ** 2 * survey.randomization(lines, survey.variance.kept)
    lines = np.flatnonzero(factor)
    return (
        survey.variance.open(WeightedScores(survey.recovery, lines, np.zeros(k), centres=centres, factors=factor))
        + correction
    )


def _replicates_between(survey: _Survey, terms: Mapping[Any, tuple[Array, float]]) -> Real:
    rule, cells = survey.scheme.replicates, survey.cells
    assert rule is not None
    k = survey.recovery.k
    whole, made = np.zeros(k), np.zeros((cells.replicates.shape[1], k))
    correction = np.zeros((k, k))
    for lines, f in terms.values():
        replicated, size = ReplicateTotals.of(survey.recovery, lines), float(cells.weight[lines].sum())
        whole += f * survey.totals(lines, cells.weight) / size
        made += f * replicated.totals / np.where(replicated.sizes > 0, replicated.sizes, np.nan)[:, None]
        correction += (f / size) ** 2 * survey.randomization(lines, cells.weight) if rule.finite else 0
    return rule.spread(made, whole, full=True) + correction


def _together(survey: _Survey, denominator: float | None) -> SurveyEstimate:
    """Of samples that tell the shares only together."""
    if denominator is not None:
        raise ParameterError("a-denominator-for-samples-that-tell", denominator=denominator)
    designs = tuple(reading.design for reading in survey.recovery.readings)
    parts = (survey.cells, designs, survey.variance, survey.scheme.replicates, survey.calibrated, survey.text)
    return Together(*parts, method=survey.scheme.method).estimate()


def _survey(recovery: Recovery, scheme: Scheme) -> _Survey:
    cells = recovery.cells
    if cells.rows < 1:
        raise ReportError("there-are-no-reports")
    _check_designs(recovery)
    scheme.check(cells)
    if scheme.replicates is not None:
        _check_replicates(cells)
    if not cells.weighted and cells.population.shape[1]:
        cells = _weighted(cells, weight_factor(cells))
    if scheme.method == "pps":
        (stage,) = stages_of(cells, with_replacement=True)
        cells = _weighted(cells, 1 / stage.drawn[stage.parent.of_line])
    if cells is not recovery.cells:
        recovery = replace(recovery, cells=cells)
    calibrated = Calibrated.of(recovery)
    g = np.ones(len(cells)) if calibrated is None else calibrated.g
    return _Survey(recovery, scheme, variance_of(cells, scheme, g), calibrated, plan_text(cells, scheme))


def variance_of(cells: Cells, scheme: Scheme, g: Real) -> Variance | None:
    """The variance of a scheme, ``None`` where replicate weights tell it; ``g`` are the factors of calibration."""
    if scheme.method == "replicates":
        return None
    if scheme.method == "poisson":
        return PoissonVariance.of(cells, g)
    if scheme.method == "hajek-deville":
        return HajekDevilleVariance.of(cells, g, scheme.lonely)
    if scheme.joint is not None:
        return PairwiseVariance(cells, scheme.joint, scheme.method, g)
    return MultistageVariance.of(cells, with_replacement=scheme.method != "stages", lonely=scheme.lonely)


def _weighted(cells: Cells, factor: Real) -> Cells:
    return replace(cells, weight=cells.weight * factor, square=cells.square * factor**2)


def _check_replicates(cells: Cells) -> None:
    empty = np.flatnonzero(cells.replicates[cells.is_row].sum(axis=0) == 0)
    if len(empty):
        raise ParameterError("replicate-has-the-weight-0", empty_number=int(empty[0]) + 1, replicates=empty.tolist())


def _check_designs(recovery: Recovery) -> None:
    first = recovery.readings[0].design
    for reading in recovery.readings[1:]:
        if list(reading.design.inputs.labels) != list(first.inputs.labels):
            raise ReportError("the-designs-ask-about-different-categories")
        if reading.design.reports_are_sets != first.reports_are_sets:
            raise ReportError("some-designs-report-sets-and-some")
    if recovery.cells.sets != first.reports_are_sets:
        raise ReportError("these-cells-were-not-counted")


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
    return SurveyEstimate(
        categories=recovery.readings[0].design.inputs.labels,
        pi_hat=share,
        variance=variance,
        sampling_variance=variance - randomization,
        randomization_variance=randomization,
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
        used=_used(recovery, row_lines) if denominator is None else (),
        kish=size**2 / float(cells.square[row_lines].sum()),
        simple_covariance=_simple(survey, lines, total / size, size),
    )


FULL_EFFECTS = 200
"""With more categories than this only the design effects of single categories are worked out."""


def _simple(survey: _Survey, lines: Array, share: Real, size: float) -> Real | None:
    """``sum w (U - share)(U - share)' / sum w / (n - 1)``: the covariance if the rows were a simple random sample."""
    recovery, cells = survey.recovery, survey.cells
    n = int(cells.n[lines[cells.is_row[lines]]].sum())
    if n < 2:
        return None
    parts = recovery.by_sample(cells.weight, lines)
    if recovery.k <= FULL_EFFECTS and recovery.full:
        squares = sum((r.squares(a, share) for r, a in parts), np.zeros((recovery.k,) * 2))
    else:
        squares = sum((r.squares_diagonal(a, share) for r, a in parts), np.zeros(recovery.k))
    return np.asarray(squares / (size * (n - 1)))


def _used(recovery: Recovery, lines: Array) -> tuple[Part, ...]:
    """The designs of some rows, each with its share of the squared weights."""
    cells = recovery.cells
    squares = np.bincount(cells.sample.codes[lines], cells.square[lines], minlength=len(recovery.readings))
    return tuple(
        Part(reading.design, float(square / squares.sum()), getattr(reading, "inverse", None))
        for reading, square in zip(recovery.readings, squares, strict=True)
        if square > 0
    )


def _variances(
    survey: _Survey, lines: Array, total: Real, size: float, denominator: float | None
) -> tuple[Real, Real, float | None]:
    """Of the totals and of the shares, and the degrees of freedom."""
    if survey.variance is None:
        return _replicate_variances(survey, lines, total, size, denominator)
    zero, df = np.zeros(survey.recovery.k), survey.variance.degrees_of_freedom(lines)
    if denominator is not None:
        (v_total,) = survey.variances_of(lines, zero)
        return v_total, v_total / denominator**2, df
    v_total, v_sum = survey.variances_of(lines, zero, total / size)
    return v_total, v_sum / size**2, df


def _replicate_variances(
    survey: _Survey, lines: Array, total: Real, size: float, denominator: float | None
) -> tuple[Real, Real, float | None]:
    rule, cells, full = survey.scheme.replicates, survey.cells, survey.recovery.full
    assert rule is not None
    count = cells.replicates.shape[1]
    made = ReplicateTotals.of(survey.recovery, lines)
    v_total = rule.spread(made.totals, total, full=full)
    if denominator is None:
        shares = made.totals / np.where(made.sizes > 0, made.sizes, np.nan)[:, None]
        v_share, base = rule.spread(shares, total / size, full=full), size
    else:
        v_share, base = v_total / denominator**2, denominator
    if rule.finite:
        added = survey.randomization(lines, cells.weight)
        v_total, v_share = v_total + added, v_share + added / base**2
    return v_total, v_share, rule.degrees_of_freedom(count, cells.stratum.size)


# ---- rows into cells


def cells_of_rows(
    reports: Any,
    design: Design | Mapping[Any, Design],
    plan: Sampling,
    *,
    domains: Any = None,
    samples: Any = None,
    inverse: LeftInverse | None = None,
) -> tuple[Cells, tuple[Reading, ...]]:
    """The cells of the rows of a sample, and how the reports of each of its samples are read."""
    if not isinstance(design, Mapping):
        if samples is not None:
            raise InputError("samples-are-told-apart-but-there")
        reading = reading_of(design, inverse)
        return _grouped(design, reports, plan, domain=domains), (reading,)
    if samples is None:
        raise InputError("designs-and-no-samples", design_count=len(design))
    group = Factor.of(samples, "samples")
    labels = group.labels.tolist()
    used = _designs_of(labels, design)
    unused = [label for label in design if label not in set(labels)]
    if unused:
        raise LabelError(
            "no-row-of-the-samples-which", unused=listed(map(repr, unused), len(unused), 40), samples=unused
        )
    readings = readings_of(used, inverse)
    codes = _codes_by_sample(used, reports, group)
    return Cells.of(codes, domain=domains, sample=group, **plan.columns(len(codes))), readings


def _designs_of(labels: Sequence[Any], designs: Mapping[Any, Design]) -> list[Design]:
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


def _grouped(design: Design, reports: Any, plan: Sampling, *, domain: Any) -> Cells:
    if isinstance(design, CodedDesign):
        codes = _codes(design, reports)
        return Cells.of(codes, domain=domain, **plan.columns(len(codes)))
    held = _held(design, reports)
    if plan.joint_inclusion is not None:
        raise ReportError("set-reports-with-pairwise-probabilities")
    return Cells.of_sets(held, domain=domain, **plan.columns(len(held)))


def _codes(design: CodedDesign, reports: Any) -> Array:
    if isinstance(reports, Reports):
        return np.asarray(check_codes(reports_of(design, reports)), dtype=np.int64)
    return np.asarray(codes_of(design.outputs, reports), dtype=np.int64)


def _held(design: Design, reports: Any) -> Array:
    bits = reports_of(design, reports) if isinstance(reports, Reports) else split_sets(reports, design.k)
    design.tally(Reports(design.fingerprint, design.k, "bits", bits))  # refuses sets that the design never reports
    return np.unpackbits(bits, axis=1, count=design.k, bitorder="little")


def _codes_by_sample(designs: list[Design], reports: Any, group: Factor) -> Array:
    """The code of each report among those of the design that its row used."""
    coded = [one for one in designs if isinstance(one, CodedDesign)]
    if len(coded) < len(designs):
        raise ReportError("one-of-several-designs-reports-sets")
    if isinstance(reports, Reports):
        raise ReportError("one-column-of-reports-of-one")
    values = as_array(reports if hasattr(reports, "__array__") else as_list(reports, "reports"), "reports").astype(
        object
    )
    if values.shape != group.codes.shape:
        raise InputError("samples-for-reports", group_count=len(group), values_count=len(values))
    codes = np.empty(len(values), dtype=np.int64)
    for place, one in enumerate(coded):
        in_sample = group.codes == place
        codes[in_sample] = codes_of(one.outputs, values[in_sample].tolist())
    return codes

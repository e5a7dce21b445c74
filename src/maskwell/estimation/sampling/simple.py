"""Domains of a simple sample: without weights, strata, clusters or populations every domain is a sample of its own.

Whole and domains are estimated from plain counts, as files with these rows alone would be, by moments or by maximum
likelihood, and keep the intervals of plain counts. Totals are numbers of rows: with theta the shares and n_d of n rows,

    Cov(n_d theta) = n / (n - 1) (n_d (n_d - 1) Cov(theta) + n_d (1 - n_d / n) theta theta')

because the size of a domain is a matter of chance, too. Source: standard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cells import Cells
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.estimation.likelihood import estimate_by_likelihood
from maskwell.estimation.moments import estimate_by_moments
from maskwell.estimation.result import Estimate
from maskwell.estimation.samples import Sample
from maskwell.estimation.sampling.domains import lines_of_domains
from maskwell.estimation.sampling.result import SurveyEstimate
from maskwell.estimation.sampling.several import NOT_TOLD
from maskwell.estimation.several import estimate_samples

FEW = "too few rows in this domain: there is no estimate"
PLAN = "rows as in a simple random sample of a large population"


def estimate_simple(cells: Cells, designs: Sequence[Design], *, method: str = "moments") -> SurveyEstimate:
    """Shares of the whole sample and of each domain, from counts.

    Parameters
    ----------
    cells
        Counted rows without any plan; the labels of ``cells.sample`` number the designs.
    designs
        The design of each sample.
    method
        ``moments`` or ``ml``.

    >>> from maskwell.designs.dense import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    >>> cells = Cells.of([0, 1, 0, 1], count=[60, 90, 40, 110], domain=["f", "f", "m", "m"])
    >>> found = estimate_simple(cells, [warner])
    >>> [round(float(one.pi_hat[0]), 3) for one in (found, *found.domains.values())]   # all, women, men
    [0.083, 0.25, -0.083]
    """
    if cells.weighted or cells.clusters or cells.population.shape[1] or cells.replicates.shape[1]:
        raise ParameterError("a sampling plan for an estimate from counts", hint="use estimate_cells")
    whole = _estimate(_samples(cells, designs, np.arange(len(cells))), method)
    domains = {
        label: _with_totals(_domain(_samples(cells, designs, own), method, whole), cells.rows)
        for label, own in lines_of_domains(cells).items()
    }
    return replace(_with_totals(whole, cells.rows), domains=domains)


def _samples(cells: Cells, designs: Sequence[Design], lines: Array) -> list[Sample]:
    return [_sample(cells, code, design, lines) for code, design in enumerate(designs)]


def _sample(cells: Cells, code: int, design: Design, lines: Array) -> Sample:
    own = lines[cells.sample.labels[cells.sample.codes[lines]] == code]
    values = np.zeros(design.m, dtype=np.int64)
    np.add.at(values, cells.report[own], cells.n[own])
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
        found = _estimate(held, method)
    except NotIdentifiableError:
        return _nothing(whole, n, NOT_TOLD)
    return found if list(found.categories) == list(whole.categories) else _nothing(whole, n, NOT_TOLD)


def _nothing(like: Estimate, n: int, flag: str) -> Estimate:
    none = np.full(len(like.pi_hat), np.nan)
    matrix = None if like.covariance is None else np.full((len(none), len(none)), np.nan)
    return Estimate(like.categories, none, none, none, none, matrix, n, like.method, like.fingerprint, (flag,))


def _with_totals(found: Estimate, rows: int) -> SurveyEstimate:
    n, theta = found.n, found.pi_hat
    given = {field.name: getattr(found, field.name) for field in fields(Estimate)}
    return SurveyEstimate(
        **given,
        total=n * theta,
        total_variance=_of_total(found.variance, theta**2, n, rows),
        total_covariance=None
        if found.covariance is None
        else _of_total(found.covariance, np.outer(theta, theta), n, rows),
        population=float(n),
        plan_text=f"{n:,} {PLAN}",
    )


def _of_total(covariance: Real, square: Real, n: int, rows: int) -> Real:
    return np.asarray(rows / max(rows - 1, 1) * (n * (n - 1) * covariance + n * (1 - n / rows) * square))

"""Estimates by maximum likelihood: always proportions, with the raw moment estimate kept beside them.

    n Cov = (P' D^-1 P)^-1 - pi pi',      D = diag(P pi)

is the inverse of the Fisher information at the fitted shares. At 0 or 1 no standard error exists: profile intervals
serve there. Source: [Adeshiyan2011, section 3.3.1 and eq. (3.4)], corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Array, Real
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import ReportError
from maskwell.estimation.information import UnitCovariance, unit_covariance
from maskwell.estimation.maximising.maximum import GAP, Maximum, maximise
from maskwell.estimation.moments import estimate_by_moments
from maskwell.estimation.result import Estimate
from maskwell.estimation.samples import Sample

__all__ = ["Maximum", "estimate_by_likelihood", "maximise"]


def estimate_by_likelihood(counts: Counts, design: Design) -> Estimate:
    """The proportions under which the reports are most likely; never outside [0, 1].

    For as many reports as categories it is the moment estimate wherever that lies in the simplex, and with two
    categories the moment estimate cut to [0, 1]; in general, cutting and rescaling does not give it.

    >>> from maskwell.designs.dense import Dense
    >>> P = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
    >>> found = estimate_by_likelihood(Counts(np.array([5, 60, 35]), 100, P.fingerprint), P)
    >>> found.pi_hat.round(4).tolist(), found.moments.round(4).tolist()   # the raw estimate was below zero
    ([0.0, 0.6416, 0.3584], [-0.1181, 0.7014, 0.4167])
    """
    check_kind(Counts, counts=counts)
    check_kind(Design, design=design)
    raw = estimate_by_moments(counts, design)
    if design.reports_are_sets:
        raise _no_sets(design)
    kept = tuple(flag for flag in raw.flags if "outside [0, 1]" in flag or "boundary test" in flag)
    found = likelihood_of([Sample(counts, design)], raw.pi_hat)
    return replace(found, flags=(*found.flags, *(f"moments: {flag}" for flag in kept)))


def likelihood_of(samples: Sequence[Sample], moments: Real | None) -> Estimate:
    """The estimate of one or several samples that share their proportions; ``moments`` is kept beside it."""
    designs, counts = [s.design for s in samples], [s.counts.values for s in samples]
    for sample in samples:
        if sample.design.reports_are_sets:
            raise _no_sets(sample.design)
    top = maximise(designs, counts)
    n = sum(sample.n for sample in samples)
    spread = unit_covariance([d for d in designs if isinstance(d, CodedDesign)], [s.n / n for s in samples], top.pi)
    return _estimate(samples, top, spread, moments)


def _estimate(samples: Sequence[Sample], top: Maximum, spread: UnitCovariance, moments: Real | None) -> Estimate:
    n = sum(sample.n for sample in samples)
    variance = np.where(top.at_boundary, np.nan, spread.variance / n)
    sampling = np.where(top.at_boundary, np.nan, top.pi * (1 - top.pi) / n)
    return Estimate(
        categories=samples[0].design.inputs.labels,
        pi_hat=top.pi,
        variance=variance,
        sampling_variance=sampling,
        randomization_variance=variance - sampling,
        covariance=None if spread.covariance is None else _without(spread.covariance / n, top.at_boundary),
        n=n,
        method="ml",
        fingerprint=samples[0].design.fingerprint,
        flags=(*_flags(top), *spread.flags),
        samples=tuple(samples),
        moments=moments,
    )


def _without(covariance: Real, at_boundary: Array) -> Real:
    covariance[at_boundary] = np.nan
    covariance[:, at_boundary] = np.nan
    return covariance


def _flags(top: Maximum) -> tuple[str, ...]:
    flags = []
    edges = int(top.at_boundary.sum())
    if edges:
        flags.append(
            f"{edges} of {len(top.pi)} shares are 0 or 1, where the likelihood has no standard error: "
            "use profile intervals"
        )
    if not top.unique:
        flags.append(
            "other shares may be as likely: the reports that were seen do not tell all categories apart; collect more "
            "reports or group rare categories"
        )
    if top.gap > GAP:
        flags.append(
            f"the search ended early: the log-likelihood of a report can still rise by {Printed(top.gap):.1e} at most"
        )
    return tuple(flags)


def _no_sets(design: Design) -> ReportError:
    return ReportError(
        f"no maximum likelihood from the tally of a {design.kind} design: it counts categories, not whole sets",
        hint="use moments (--method moments); with few categories, count every possible set and call maximise",
        design=design,
    )

"""Estimates by maximum likelihood: always proportions, with the raw moment estimate kept beside them.

    n Cov = (P' D^-1 P)^-1 - pi pi',      D = diag(P pi),      the inverse of the Fisher information
No standard error exists at 0 or 1. Source: [Adeshiyan2011, section 3.3.1 and eq. (3.4)], corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, ReportError
from maskwell.estimation.maximisation.maximum import GAP, Maximum, maximise
from maskwell.estimation.moments import estimate_by_moments
from maskwell.estimation.outside_estimates import Flag
from maskwell.estimation.share_estimate import COVARIANCE_LIMIT, Estimate, Sample, covariances_left_out
from maskwell.notes import Note

WRITTEN_LIMIT = 10**7


def fisher_information(design: Design, pi: Real | None = None) -> Real:
    """Information of one report about the first k - 1 proportions; infinite where an absent report would reveal all."""
    P = design.matrix()
    lam = P @ (design.uniform_prior() if pi is None else design.check_distribution(pi))
    contrast = P[:, :-1] - P[:, -1:]
    occurs = lam > 0
    information = contrast[occurs].T @ (contrast[occurs] / lam[occurs, None])
    decisive = (contrast[~occurs] != 0).any(axis=0)
    information[decisive, decisive] = np.inf
    return np.asarray(information)


def mutual_information(design: Design, pi: Real | None = None) -> float:
    """Mutual information of truth and report, in nats: ``sum_ij pi_j P[i, j] ln(P[i, j] / lam[i])``."""
    prior = design.uniform_prior() if pi is None else design.check_distribution(pi)
    P = design.matrix()
    lam = P @ prior
    ratio = P[lam > 0] / lam[lam > 0, None]
    logs = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
    return float(max(0.0, (P[lam > 0] * prior * logs).sum()))


@dataclass(frozen=True, eq=False)
class UnitCovariance:
    """``n Cov`` of the most likely proportions: its diagonal, all of it where small, and what must be said of it."""

    variance: Real
    covariance: Real | None
    flags: tuple[str, ...] = ()


def unit_covariance(designs: Sequence[CodedDesign], weights: Sequence[float], pi: Real) -> UnitCovariance:
    """``n Cov`` of the most likely proportions: ``M^-1 - pi pi'`` with ``M = sum_g w_g P_g' diag(P_g pi)^-1 P_g``."""
    k = len(pi)
    if len(designs) == 1 and designs[0].m == k and designs[0].identifiable:
        design, lam = designs[0], designs[0].forward(pi)
        covariance = design.second_moment(lam) - np.outer(pi, pi) if k <= COVARIANCE_LIMIT else None
        return UnitCovariance(design.second_moment_diagonal(lam) - pi**2, covariance, covariances_left_out(k))
    if all(design.contrast_scale() for design in designs):
        return _of_contrasts(designs, weights, pi)
    if k <= COVARIANCE_LIMIT and all(design.has_entries_up_to(WRITTEN_LIMIT) for design in designs):
        return _of_rows(designs, weights, pi)
    return _of_moments(designs, weights, pi)


def _of_contrasts(designs: Sequence[CodedDesign], weights: Sequence[float], pi: Real) -> UnitCovariance:
    """``diag(v) - v v' / sum v`` with ``1 / v = sum_g w_g p_g^2 / lam_g``: contrasts see only the diagonal of M."""
    with np.errstate(divide="ignore"):
        curve = sum(
            w * float(d.contrast_scale() or 0) ** 2 / d.forward(pi) for d, w in zip(designs, weights, strict=True)
        )
    v = 1 / np.asarray(curve)
    covariance = np.diag(v) - np.outer(v, v) / v.sum() if len(pi) <= COVARIANCE_LIMIT else None
    return UnitCovariance(v - v**2 / v.sum(), covariance, covariances_left_out(len(pi)))


def _of_rows(designs: Sequence[CodedDesign], weights: Sequence[float], pi: Real) -> UnitCovariance:
    P = np.concatenate([design.matrix() * w for design, w in zip(designs, weights, strict=True)])
    lam = P @ pi
    certain = (P[lam <= 0] > 0).any(axis=0)  # a report that does not occur rules these out: nothing is left to vary
    scaled = P[lam > 0][:, ~certain] / np.sqrt(lam[lam > 0])[:, None]
    corner = np.asarray(np.linalg.qr(scaled, mode="r"))
    if np.abs(np.diagonal(corner)).min() <= 1e-12 * np.abs(corner).max():
        return UnitCovariance(np.full(len(pi), np.nan), None, ("no standard errors: the information is singular",))
    half = np.linalg.solve(corner, np.eye(len(corner)))
    covariance = np.zeros((len(pi), len(pi)))
    covariance[np.ix_(~certain, ~certain)] = half @ half.T
    covariance -= np.outer(pi, pi)
    return UnitCovariance(np.diagonal(covariance).copy(), covariance)


def _of_moments(designs: Sequence[CodedDesign], weights: Sequence[float], pi: Real) -> UnitCovariance:
    """Too large to write out: the variance of the pooled moment estimates, which the likelihood does not exceed."""
    usable = [(d, w) for d, w in zip(designs, weights, strict=True) if d.identifiable and w > 0]
    if not usable:
        return UnitCovariance(np.full(len(pi), np.nan), None, ("no standard errors: too large to work out",))
    precision = sum(w / d.share_variance(pi) for d, w in usable)
    flag = Note("standard-errors-are-those-of-moment")
    return UnitCovariance(1 / np.asarray(precision), None, (flag, *covariances_left_out(len(pi))))


def estimate_by_likelihood(counts: Counts, design: Design) -> Estimate:
    """The proportions under which the reports are most likely; never outside [0, 1]."""
    raw = estimate_by_moments(counts, design)
    estimate = likelihood_of([Sample(counts, design)], raw.pi_hat)
    about_fit = ("misfit", "outside", "boundary")
    kept = (flag for flag in raw.flags if isinstance(flag, Flag) and flag.kind in about_fit)
    return replace(estimate, flags=(*estimate.flags, *(flag.after("moments: ") for flag in kept)))


def likelihood_of(samples: Sequence[Sample], moments: Real | None) -> Estimate:
    """The estimate of one or several samples that share their proportions; ``moments`` is kept beside it."""
    for design in (sample.design for sample in samples):
        if design.reports_are_sets:
            raise ReportError("no-maximum-likelihood-from-the-tally", kind=design.kind, design=design)
    designs, n = [cast(CodedDesign, sample.design) for sample in samples], sum(sample.n for sample in samples)
    top = maximise(designs, [sample.counts.values for sample in samples])
    spread = unit_covariance(designs, [sample.n / n for sample in samples], top.pi)
    variance = np.where(top.at_boundary, np.nan, spread.variance / n)
    sampling = np.where(top.at_boundary, np.nan, top.pi * (1 - top.pi) / n)
    covariance = None
    if spread.covariance is not None:
        covariance = spread.covariance / n
        covariance[top.at_boundary] = covariance[:, top.at_boundary] = np.nan
    return Estimate(
        categories=designs[0].inputs.labels,
        pi_hat=top.pi,
        variance=variance,
        variance_parts=(sampling, variance - sampling),
        covariance=covariance,
        n=n,
        method="ml",
        fingerprint=designs[0].fingerprint,
        flags=(*_flags(top), *spread.flags),
        basis=tuple(samples),
        moments=moments,
    )


def _flags(top: Maximum) -> list[str]:
    flags: list[str] = []
    edges = int(top.at_boundary.sum())
    if edges:
        flags.append(Note("of-shares-are-0-or-1", edges=edges, pi_count=len(top.pi)))
    if not top.unique:
        flags.append(Note("other-shares-may-be-as-likely"))
    if top.gap > GAP:
        flags.append(Note("the-search-ended-early-the-log", gap=Printed(top.gap)))
    return flags


METHODS = ("moments", "ml")


def estimate_by(method: str, sample: Sample) -> Estimate:
    """By moments, or by maximum likelihood."""
    if method not in METHODS:
        raise ParameterError("method-method", methods=", ".join(METHODS), method=method)
    if method == "ml":
        return estimate_by_likelihood(sample.counts, sample.design)
    return estimate_by_moments(sample.counts, sample.design, inverse=sample.inverse)

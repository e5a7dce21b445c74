"""Several samples of one population, each with a design of its own, in one estimate.

    pi_hat = sum_g L_g lam_hat_g,     Cov = sum_g L_g (D_lam_g - lam_g lam_g') L_g' / n_g
by least squares with weights ``n_g / lam_gi`` at the most likely proportions. What the samples do not distinguish is
summed over. Samples too large to stack, each identifiable, are pooled. Source: derived; gives the estimates of
Greenberg et al. (1969) and of Abul-Ela, Greenberg and Horvitz (1967), in [Adeshiyan2011, sections 2.1 and 3.1].
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind, list_of
from maskwell.core.documents import joint_fingerprint
from maskwell.core.phrases import Printed
from maskwell.core.verdicts import is_inside, is_outside
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError, ReportError
from maskwell.estimation.binomial_counts import Part, at_zero, conditional_shares, linear_variance, smoothed
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.maximum_likelihood import METHODS, estimate_by, likelihood_of
from maskwell.estimation.moments import estimate_by_moments, sampling_part
from maskwell.estimation.outside_estimates import Recovered, chance_given_truth, chance_of_farthest, flags_of_moments
from maskwell.estimation.share_estimate import Estimate, Sample
from maskwell.notes import Note

TOLERANCE = 1e-12
_OUTSIDE = 1e-8  # how far a sum may lie from what the reports depend on, as a part of its length


@dataclass(frozen=True, eq=False)
class Estimand:
    """Sums ``C pi`` of the proportions that can be estimated."""

    C: Real  # Shape (r, k): the identity, or a row of 0 and 1 for each sum
    categories: tuple[Hashable, ...]  # Names of the rows: the categories, or pairs (variable, category)
    rank: int  # Of the stacked matrices
    flags: tuple[str, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether every category can be distinguished."""
        return bool(self.rank == self.C.shape[1])


def estimand_of(designs: Sequence[Design]) -> Estimand:
    """Every category if the stacked matrices have full rank, else the variables of the tuples that they identify."""
    labels = designs[0].inputs.labels
    _, values, directions = np.linalg.svd(np.concatenate([design.matrix() for design in designs]))
    rank = int((values > TOLERANCE * values[0]).sum())
    if rank == len(labels):
        return Estimand(np.eye(rank), tuple(labels), rank)
    named = designs[0].provenance.get("variables", ())
    told = {
        name: rows
        for name, rows in _sums(labels, tuple(map(str, named))).items()
        if all(np.abs(directions[rank:] @ row).max() <= _OUTSIDE * np.linalg.norm(row) for row in rows.values())
    }
    if not told:
        raise NotIdentifiableError(
            "shares-cannot-be-estimated-the-samples", rank=rank, labels_count=len(labels), null_direction=directions[-1]
        )
    names = tuple(name for variable in told.values() for name in variable)
    C = np.array([row for variable in told.values() for row in variable.values()])
    *first, last = told
    flag = Note("the-samples-tell-each", told=f"{', '.join(first)} and {last}" if first else last)
    return Estimand(C, names, rank, (flag,))


def _sums(labels: Sequence[Hashable], names: Sequence[str]) -> dict[str, dict[tuple[str, Hashable], Real]]:
    """For each variable of tuples its categories, named (variable, category), as rows of 0 and 1 over the tuples."""
    tuples = [label for label in labels if isinstance(label, tuple)]
    if len(tuples) < len(labels) or len({len(label) for label in tuples}) != 1:
        return {}
    answers = list(zip(*tuples, strict=True))
    variables = [names[v] if v < len(names) else f"variable {v + 1}" for v in range(len(answers))]
    return {
        name: {(name, a): np.array([float(one == a) for one in given]) for a in dict.fromkeys(given)}
        for name, given in zip(variables, answers, strict=True)
    }


def pool(estimates: Sequence[Estimate], samples: Sequence[Sample]) -> Estimate:
    """``sum_g w_g pi_hat_g`` with weights that do not depend on the reports: exactly unbiased. Derived."""
    weights = pooled_weights(samples)
    pi_hat = np.asarray(sum(w * one.pi_hat for w, one in zip(weights, estimates, strict=True)))
    variance = np.asarray(sum(w**2 * one.variance for w, one in zip(weights, estimates, strict=True)))
    covariances = [one.covariance for one in estimates if one.covariance is not None]
    full = len(covariances) == len(estimates)
    n = sum(sample.n for sample in samples)
    sampling = sampling_part(pi_hat, variance, n)
    recovered = [Recovered(s.design, w**2 / s.n, w / s.n) for w, s in zip(weights.tolist(), samples, strict=True)]
    chance = chance_given_truth(pi_hat, recovered)
    return Estimate(
        categories=estimates[0].categories,
        pi_hat=pi_hat,
        variance=variance,
        variance_parts=(sampling, variance - sampling),
        covariance=np.asarray(sum(w**2 * V for w, V in zip(weights, covariances, strict=True))) if full else None,
        n=n,
        method="moments",
        fingerprint=estimates[0].fingerprint,
        flags=(
            Note("the-estimates-of-the-samples"),
            *flags_of_moments(pi_hat, variance, sampling, full=full, chance=chance),
        ),
        basis=tuple(samples),
    )


def pooled_weights(samples: Sequence[Sample]) -> Real:
    """``w_g`` of :func:`pool`, which do not depend on the reports."""
    precision = np.array([s.n / (s.design.added_variance() + 1 - 1 / s.design.k) for s in samples])
    return np.asarray(precision / precision.sum())


STACK_LIMIT = 4 * 10**6  # entries of a stack that is written out; larger identifiable samples are pooled


def estimate_samples(samples: Sequence[Sample], *, method: str = "moments") -> Estimate:
    """Proportions from several samples that asked about the same categories, each with its own design.

    Parameters
    ----------
    samples
        Counts and design of each; one alone need not be identifiable.
    method
        ``moments`` (weighted least squares) or ``ml``.

    >>> from maskwell import Categories
    >>> from maskwell.designs import Dense
    >>> pairs = Categories.of([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")])   # own, unrelated
    >>> designs = [Dense.of([[1, p, 1 - p, 0], [0, 1 - p, p, 1]], pairs) for p in (0.75, 0.25)]
    >>> samples = [Sample.of([200, 400], designs[0]), Sample.of([140, 260], designs[1])]
    >>> estimate = estimate_samples(samples)
    >>> [(c, round(float(p), 3)) for c, p in zip(estimate.categories, estimate.pi_hat)][:2]   # one in three
    [(('variable 1', 'yes'), 0.325), (('variable 1', 'no'), 0.675)]
    """
    samples = list_of(Sample, samples, "samples")
    check_kind(str, method=method)
    if method not in METHODS:
        raise ParameterError("method-method", methods=", ".join(METHODS), method=method)
    if not samples:
        raise ParameterError("no-samples")
    for number, sample in enumerate(samples, start=1):
        if sample.n < 2:
            raise ReportError("sample-has-reports-a-standard-error", g_number=number, n=sample.n)
    designs = [sample.design for sample in samples]
    if any(list(design.inputs.labels) != list(designs[0].inputs.labels) for design in designs[1:]):
        raise ParameterError("the-samples-ask-about-different-categories")
    if len(samples) == 1 and designs[0].identifiable:
        return estimate_by(method, samples[0])
    if any(design.reports_are_sets for design in designs) or not _fits(samples):
        pooled = pool([estimate_by_moments(sample.counts, sample.design) for sample in samples], samples)
        estimate = pooled if method == "moments" else likelihood_of(samples, pooled.pi_hat)
        return replace(estimate, fingerprint=joint_fingerprint([design.fingerprint for design in designs]))
    estimand = estimand_of(designs)
    estimate = _by_moments(samples, estimand)
    if method == "ml":
        estimate = _by_likelihood(samples, estimand, estimate)
    return replace(estimate, flags=(*estimand.flags, *estimate.flags, *cheating_flags(designs, estimate)))


def _fits(samples: Sequence[Sample]) -> bool:
    return all(sample.design.has_entries_up_to(STACK_LIMIT) for sample in samples)


def _by_moments(samples: Sequence[Sample], estimand: Estimand) -> Estimate:
    n = np.array([sample.n for sample in samples])
    designs, counts = [sample.design for sample in samples], [sample.counts.values for sample in samples]
    share = [sample.counts.share() for sample in samples]
    L, spare = best_inverses(designs, counts, estimand)
    theta = sum((left @ s for left, s in zip(L, share, strict=True)), np.zeros(len(estimand.C)))
    covariance = _covariance(L, share, n - 1)  # with n - 1 unbiased for given L
    variance = np.diagonal(covariance).copy()
    sampling = sampling_part(theta, variance, int(n.sum()))
    chance = chance_of_stack(designs, counts, theta, variance, L)
    return Estimate(
        categories=estimand.categories,
        pi_hat=theta,
        variance=variance,
        variance_parts=(sampling, variance - sampling),
        covariance=covariance,
        n=int(n.sum()),
        method="moments",
        fingerprint=joint_fingerprint([one.design.fingerprint for one in samples]),
        flags=(
            *((Note("the-weights-of-the-samples-come"),) if spare else ()),
            *flags_of_moments(theta, variance, sampling, full=True, n=int(n.sum()), chance=chance),
        ),
        basis=tuple(samples),
    )


def best_inverses(designs: Sequence[Design], counts: Sequence[Array], estimand: Estimand) -> tuple[list[Real], bool]:
    """``L_g`` of each sample, and whether the reports were asked for the weights; ``counts`` need not be whole."""
    spare = sum(len(one) - 1 for one in counts) > estimand.rank - 1
    guess = _guess(designs, counts) if spare else designs[0].uniform_prior()
    n = np.array([float(one.sum()) for one in counts])
    return _left_inverses([design.matrix() for design in designs], n, estimand.C, guess), spare


def _guess(designs: Sequence[Design], counts: Sequence[Array]) -> Real:
    """The most likely proportions, with one report more for every category so that no weight is infinite."""
    n = sum(float(one.sum()) for one in counts)
    return np.asarray((n * maximise(designs, counts).pi + 1) / (n + designs[0].k))


def _left_inverses(P: Sequence[Real], n: Real, C: Real, guess: Real) -> list[Real]:
    """``L_g`` with ``sum_g L_g P_g = C``, best at the guess."""
    scale = []
    for matrix, size in zip(P, n, strict=True):
        lam = matrix @ guess
        scale.append(np.sqrt(np.divide(size, lam, out=np.zeros(len(lam)), where=lam > 0)))
    stacked = np.concatenate([matrix * s[:, None] for matrix, s in zip(P, scale, strict=True)])
    L = C @ np.linalg.pinv(stacked, rcond=1e-12) * np.concatenate(scale)
    return np.split(L, np.cumsum([len(matrix) for matrix in P])[:-1], axis=1)


def _covariance(L: Sequence[Real], lam: Sequence[Real], n: Array) -> Real:
    """``sum_g L_g (D_g - lam_g lam_g') L_g' / n_g`` of shares of reports lam_g."""
    parts = zip(L, lam, n, strict=True)
    return np.asarray(sum(((left * s) @ left.T - np.outer(left @ s, left @ s)) / size for left, s, size in parts))


def chance_of_stack(
    designs: Sequence[Design], counts: Sequence[Array], theta: Real, variance: Real, L: Sequence[Real]
) -> float:
    """The chance of the farthest estimate outside [0, 1]; errors are those at the most likely shares, or larger."""
    if not is_outside(theta).any():
        return 1.0
    n, pi = np.array([float(one.sum()) for one in counts]), maximise(designs, counts).pi
    fitted = np.diagonal(_covariance(L, [design.matrix() @ pi for design in designs], n))
    steps = np.max([np.abs(left).max(axis=1) / size for left, size in zip(L, n, strict=True)], axis=0)
    return chance_of_farthest(theta, variance, np.sqrt(np.fmax(np.fmax(fitted, variance), 0)), steps)


def variance_along(samples: Sequence[Sample], raw: Real) -> tuple[Real, Real, float | Real]:
    """v0, v1 and kappa of ``n Var = (1 - t) v0 + t v1 + kappa t (1 - t)``, ``kappa = sum_g (n / n_g) d_g^2``. Derived.

    n counts all reports, and d_g is the difference that the share t makes to the part of sample g.
    """
    n = sum(sample.n for sample in samples)
    if any(s.design.reports_are_sets for s in samples) or not _fits(samples):
        near, weights = smoothed(raw, n), pooled_weights(samples)
        parts = [Part(s.design, w**2 * n / s.n) for w, s in zip(weights, samples, strict=True)]
        v1, kappa = np.asarray(sum(p.weight * p.variance_of_truth() for p in parts)), sum(p.weight for p in parts)
        return at_zero(np.asarray(sum(p.weight * p.variance(near) for p in parts)), v1, near, kappa), v1, kappa
    designs, counts = [sample.design for sample in samples], [sample.counts.values for sample in samples]
    estimand = estimand_of(designs)
    L, _ = best_inverses(designs, counts, estimand)
    near = smoothed(raw, n) if estimand.everything else _guess(designs, counts)
    inside, outside = conditional_shares(estimand.C, near)
    used = [(s.design, left, n / s.n) for s, left in zip(samples, L, strict=True)]
    at_ends = (sum(f * linear_variance(d, left, shares) for d, left, f in used) for shares in (outside, inside))
    v0, v1 = map(np.asarray, at_ends)
    differences = (f * (left @ d.matrix() * (inside - outside)).sum(axis=1) ** 2 for d, left, f in used)
    return v0, v1, np.asarray(sum(differences))


def _by_likelihood(samples: Sequence[Sample], estimand: Estimand, raw: Estimate) -> Estimate:
    if estimand.everything:
        return replace(likelihood_of(samples, raw.pi_hat), fingerprint=raw.fingerprint)
    top = maximise([s.design for s in samples], [s.counts.values for s in samples])
    theta = estimand.C @ top.pi
    n = np.array([s.n for s in samples])
    matrices = [s.design.matrix() for s in samples]
    L = _left_inverses(matrices, n, estimand.C, top.pi)
    fitted = _covariance(L, [matrix @ top.pi for matrix in matrices], n)
    edge = ~is_inside(theta)
    fitted[edge] = fitted[:, edge] = np.nan
    variance, sampling = np.diagonal(fitted).copy(), np.where(edge, np.nan, theta * (1 - theta) / n.sum())
    return replace(
        raw,
        pi_hat=theta,
        variance=variance,
        variance_parts=(sampling, variance - sampling),
        covariance=fitted,
        method="ml",
        flags=(Note("a-share-is-0-or-1"),) if edge.any() else (),
        moments=raw.pi_hat,
    )


def cheating_flags(designs: Sequence[Design], found: Estimate) -> tuple[str, ...]:
    """What can be said of the whole share when some say no against the rules."""
    if any(design.provenance.get("family") != "cheating-detection" for design in designs):
        return ()
    honest_yes, _, always_no = found.pi_hat.tolist()
    low, high = Printed(honest_yes), Printed(honest_yes + always_no)
    return (Note("the-share-of-the-first-category", low=low, high=high),)

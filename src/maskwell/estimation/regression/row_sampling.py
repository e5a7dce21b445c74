"""How the rows of a regression were sampled, and the variance of a total of their scores under that sampling.

    V = sum_h (1 - f_h) n_h / (n_h - 1) sum_c (t_hc - mean_h)(t_hc - mean_h)'
with sums ``t_hc`` of ``w_i s_i`` in cluster c of stratum h, of whose units the fraction ``f_h`` was sampled. Without a
finite population the differences between draws hold the randomization already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, check_kind, check_weights
from maskwell.core.groups import Factor
from maskwell.core.phrases import VALUES, Printed, listed
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression.model_matrix import blocks
from maskwell.estimation.sampling.sample_stages import lonely_hint
from maskwell.estimation.sampling.sampling_description import Sampling

LONELY = ("error", "certainty", "centre")
VARIANCES = ("observed", "expected", "sandwich")


@dataclass(frozen=True, eq=False)
class RowSampling:
    """Sampling of n rows."""

    n: int  # Number of rows
    weights: Real | None = None  # Shape (n,), or None when all count alike
    stratum: Array | None = None  # Number of the stratum of each row, or None when there is one
    # Number of the first-stage cluster of each row, or None when every row is its own. Clusters are nested: the same
    # label in two strata means two clusters
    cluster: Array | None = None
    cluster_stratum: Array | None = None  # The stratum of each cluster
    # Sampling fraction of each stratum, zeros when the population is infinite or drawn with replacement
    fraction: Real | None = None
    strata_labels: tuple[Any, ...] = ("all",)  # Names of the strata
    lonely: str = "error"  # What to do with a stratum of one cluster
    # For calibrated weights: the values they were calibrated with and, in the last column, their factors g
    auxiliary: Real | None = None

    @classmethod
    def of(
        cls,
        n: int,
        *,
        weights: Any = None,
        strata: Any = None,
        clusters: Any = None,
        population: Any = None,
        lonely: str = "error",
        auxiliary: Any = None,
    ) -> RowSampling:
        """Check and number what was given; a ``population`` means draws without replacement, with their weights."""
        check_kind(str, lonely=lonely)
        if lonely not in LONELY:
            raise ParameterError("lonely-lonely", lonely_shown=", ".join(LONELY), lonely=lonely)
        stratum, labels = (None, ("all",)) if strata is None else _numbered(strata, n, "strata")
        cluster, parent = None, None
        if clusters is not None:
            cluster, _ = _numbered(clusters, n, "clusters")
            cluster, parent = _nested(cluster, stratum)
        checked = None if weights is None else scale_free(check_weights(weights, n))
        known = None if auxiliary is None else np.asarray(auxiliary, dtype=np.float64)
        made = cls(n, checked, stratum, cluster, parent, None, tuple(labels), lonely, known)
        if population is None:
            return made
        fraction = made._fractions(population)
        if checked is None and np.ptp(fraction) > 0:  # strata were not drawn alike: weights follow
            checked = scale_free(1 / fraction[made.row_strata()])
        return replace(made, weights=checked, fraction=fraction)

    @classmethod
    def from_plan(cls, plan: Sampling | None, n: int) -> RowSampling:
        """What a sampling plan says, as far as a regression takes it into account; a simple sample without one."""
        if plan is None:
            return cls(n)
        check_kind(Sampling, plan=plan)
        beyond = {
            "replicate weights": plan.replicates,
            "pairwise inclusion probabilities": plan.joint_inclusion,
            "independent draws": plan.poisson or None,
            "several stages of a finite population": plan.population[1:] or None,
        }
        unknown = next((name for name, value in beyond.items() if value is not None), None)
        if unknown is not None:
            raise ParameterError("a-regression-does-not-take-into", unknown=unknown)
        weights = plan.weights
        if plan.inclusion is not None or plan.draw_probabilities is not None:
            chance = plan.inclusion if plan.inclusion is not None else plan.draw_probabilities
            weights = 1 / np.asarray(chance, dtype=np.float64)
        return cls.of(
            n,
            weights=weights,
            strata=plan.strata,
            clusters=plan.clusters[0] if plan.clusters else None,
            population=plan.population[0] if plan.population else None,
            lonely=plan.lonely,
            auxiliary=plan.auxiliary,
        )

    @classmethod
    def from_columns(cls, n: int, plan: Mapping[str, Any], *, lonely: str = "error") -> RowSampling:
        """From what was read about the sampling of n rows; later stages add nothing."""
        clusters, population = plan.get("clusters", []), plan.get("population", [])
        if population and len(clusters) > 1:
            raise InputError("a-finite-population-with-clusters")
        return cls.of(
            n,
            weights=plan.get("weight"),
            strata=plan.get("stratum"),
            clusters=clusters[0] if clusters else None,
            population=population[0] if population else None,
            lonely=lonely,
            auxiliary=plan.get("auxiliary"),
        )

    @property
    def is_simple(self) -> bool:
        """Whether the rows are an ordinary sample, so that the information alone gives the variance."""
        return self.weights is None and self.stratum is None and self.cluster is None and self.fraction is None

    @property
    def units(self) -> Array:
        """Number of first-stage units in each stratum."""
        parents = self.stratum if self.cluster is None else self.cluster_stratum
        total = self.n if self.cluster is None else len(np.asarray(self.cluster_stratum))
        if parents is None:
            return np.array([total])
        return np.bincount(parents, minlength=len(self.strata_labels))

    @property
    def degrees_of_freedom(self) -> int | None:
        """Clusters less strata; None without clusters, where the normal distribution does."""
        return None if self.cluster is None else int(self.units.sum() - len(self.strata_labels))

    def in_words(self) -> str:
        """What is taken into account."""
        units, strata = int(self.units.sum()), len(self.strata_labels)
        kind = "weights" if self.auxiliary is None else "calibrated weights"
        parts = [kind] if self.weights is not None else []
        parts += [f"{strata:,} strata"] if self.stratum is not None else []
        parts += [f"{units:,} clusters"] if self.cluster is not None else []
        parts += ["finite population"] if self.fraction is not None else []
        return ", ".join(parts)

    def factors(self) -> Real:
        """``(1 - f_h) n_h / (n_h - 1)`` of each stratum; strata of one unit as ``lonely`` says."""
        units = self.units
        open_ = 1.0 - (np.zeros(len(units)) if self.fraction is None else self.fraction)
        alone = (units == 1) & (open_ > 0)
        if alone.any() and self.lonely == "error":
            raise self._alone(np.flatnonzero(alone))
        single = 1.0 if self.lonely == "centre" else 0.0
        return open_ * np.where(units > 1, units / np.maximum(units - 1, 1), single)

    def left_out(self) -> Real:
        """The share of the randomization of each stratum that differences between draws do not show."""
        fraction = np.zeros(len(self.units)) if self.fraction is None else self.fraction
        return np.where((self.units == 1) & (self.lonely == "certainty"), 1.0, fraction)

    def sandwich_words(self) -> str:
        """The name of a variance that takes it into account."""
        return f"sandwich ({self.in_words()})" if self.in_words() else "sandwich"

    def row_strata(self) -> Array:
        """Number of the stratum of each row, also where there is one."""
        return np.zeros(self.n, dtype=np.intp) if self.stratum is None else self.stratum

    def variance_of_total(self, scores: Real) -> Real:
        """Variance of the sum of weighted scores (n, p); calibrated weights leave ``w_i (s_i - B' x_i)``. Standard."""
        if self.auxiliary is not None and self.weights is not None:
            x, base = self.auxiliary[:, :-1], self.weights / self.auxiliary[:, -1]
            slope = np.linalg.lstsq((x.T * base) @ x, x.T @ (scores / self.auxiliary[:, -1:]), rcond=None)[0]
            scores = scores - (x * self.weights[:, None]) @ slope
        if self.cluster is None:
            return self.variance_by_rows(((where, scores[where]) for where in blocks(len(scores))), scores.shape[1])
        return self.variance_by_clusters(enumerate(scores.T), scores.shape[1])

    def variance_by_rows(self, scores: Iterable[tuple[slice, Real]], p: int) -> Real:
        """The same from blocks of rows; every row is a draw of its own: nothing is kept but sums by stratum."""
        factor = self.factors()
        squares, sums = np.zeros((p, p)), np.zeros((len(factor), p))
        for where, block in scores:
            stratum = np.zeros(len(block), dtype=np.intp) if self.stratum is None else self.stratum[where]
            squares += (block * factor[stratum, None]).T @ block
            for j in range(p):
                sums[:, j] += np.bincount(stratum, block[:, j], minlength=len(factor))
        return squares - self._centres(sums, factor)

    def variance_by_clusters(self, columns: Iterable[tuple[int, Real]], p: int) -> Real:
        """The same from columns with their places; sums by cluster first, a column of the scores at a time."""
        parents = np.asarray(self.cluster_stratum)
        totals = np.zeros((len(parents), p))
        for place, column in columns:
            totals[:, place] += np.bincount(np.asarray(self.cluster), column, minlength=len(parents))
        factor = self.factors()
        sums = np.zeros((len(factor), p))
        np.add.at(sums, parents, totals)
        return np.asarray((totals * factor[parents, None]).T @ totals - self._centres(sums, factor))

    def _centres(self, sums: Real, factor: Real) -> Real:
        """``sum_h factor_h n_h mean_h mean_h'``; a stratum of one unit is measured from the mean of all units."""
        units = self.units
        alone = units == 1
        mean = sums / np.maximum(units, 1)[:, None]
        taken = (mean * (factor * units)[:, None])[~alone].T @ mean[~alone]
        grand = sums.sum(axis=0) / units.sum()
        for h in np.flatnonzero(alone & (factor > 0)):
            away = sums[h] - grand
            taken += factor[h] * (np.outer(sums[h], sums[h]) - np.outer(away, away))
        return np.asarray(taken)

    def _alone(self, strata: Array) -> InputError:
        what = "row" if self.cluster is None else "cluster"
        return InputError(
            "of-strata-have-a-single",
            hint=lonely_hint(),
            strata_count=len(strata),
            strata_labels_count=len(self.strata_labels),
            what=what,
            values=listed((str(self.strata_labels[h]) for h in strata), len(strata), VALUES),
            strata=[self.strata_labels[h] for h in strata],
        )

    def _fractions(self, population: Any) -> Real:
        strata, units = len(self.strata_labels), self.units
        column = as_floats(population, "population", finite=False)
        if column.ndim == 0 and strata > 1:
            raise InputError("one-population-size-for-strata", strata=strata)
        sizes = np.full(strata, float(column)) if column.ndim == 0 else self._per_stratum(column)
        if not (np.isfinite(sizes).all() and (sizes >= units).all()):
            h = int(np.argmin(np.where(np.isfinite(sizes), sizes - units, -np.inf)))
            one = f"a population of {Printed(sizes[h]):g} for {units[h]:,} sampled units"
            raise InputError(
                one if column.ndim == 0 else f"stratum {h + 1} of {strata:,} has fewer units than were sampled",
                hint="the population of a stratum holds at least the sampled units",
                values=f"{self.strata_labels[h]}: {units[h]:,} sampled units, a population of {sizes[h]:g}",
                stratum=self.strata_labels[h],
            )
        return np.asarray(units / sizes)

    def _per_stratum(self, column: Real) -> Real:
        if column.shape != (self.n,):
            raise _wrong_length("population", column.shape, self.n)
        stratum = self.row_strata()
        sizes = np.zeros(len(self.strata_labels))
        sizes[stratum] = column
        if (sizes[stratum] != column).any():
            h = int(stratum[np.flatnonzero(sizes[stratum] != column)[0]])
            raise InputError(
                "stratum-of-has-several-population-sizes",
                h_number=h + 1,
                strata_labels_count=len(self.strata_labels),
                values=str(self.strata_labels[h]),
            )
        return sizes


def scale_free(weights: Real) -> Real:
    """Weights with mean one: their unit does not matter to a regression."""
    largest = weights / weights.max()
    return np.asarray(largest / largest.mean())


def kind_of_variance(variance: str | None, sampled: RowSampling) -> str:
    """What the covariance rests on: what was asked for, or what the sampling calls for."""
    if variance is None:
        return "observed" if sampled.is_simple else "sandwich"
    check_kind(str, variance=variance)
    if variance not in VARIANCES:
        raise ParameterError("variance-variance", variances=", ".join(VARIANCES), variance=variance)
    if variance != "sandwich" and (sampled.cluster is not None or sampled.fraction is not None):
        raise ParameterError("variance-forgets-clusters-and-population", variance=variance)
    return variance


def why_incomparable(sampled: RowSampling) -> str:
    """Why models must not be compared by their log-likelihoods under such a sampling, empty where they may be."""
    if sampled.weights is not None:
        return "the log-likelihood counts rows by their weights: compare models by Wald tests, not by it or AIC"
    if not sampled.is_simple:
        return "the log-likelihood takes rows for independent draws: compare models by Wald tests, not by it or AIC"
    return ""


def _numbered(labels: Any, n: int, name: str) -> tuple[Array, tuple[Any, ...]]:
    factor = labels if isinstance(labels, Factor) else Factor.of(labels, name)
    if len(factor) != n:
        raise _wrong_length(name, factor.codes.shape, n)
    used, codes = np.unique(factor.codes, return_inverse=True)
    return codes.reshape(-1), tuple(factor.labels[used].tolist())


def _nested(cluster: Array, stratum: Array | None) -> tuple[Array, Array | None]:
    """Clusters numbered within strata, and the stratum of each."""
    if stratum is None:
        return cluster, None if not len(cluster) else np.zeros(int(cluster.max()) + 1, dtype=np.intp)
    pairs = stratum.astype(np.int64) * (int(cluster.max(initial=0)) + 1) + cluster
    distinct, codes = np.unique(pairs, return_inverse=True)
    return codes.reshape(-1), distinct // (int(cluster.max(initial=0)) + 1)


def _wrong_length(name: str, shape: tuple[int, ...], n: int) -> InputError:
    return InputError("has-shape-for-rows", name=name, n=n, shape=shape)

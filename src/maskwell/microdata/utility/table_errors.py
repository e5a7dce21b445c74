"""How wrong tables of a released file are that randomization does not keep: exact, from matrices and true counts.

A record of the cell r of the columns that matter is released with the value a with probability t_ra, whatever it has in
columns that stay as they are. With N_rb its true counts beside a value b of these, and n records,

    bias_ab = (sum_r t_ra N_rb - N_ab) / n,     variance_ab = sum_r t_ra (1 - t_ra) N_rb / n^2

with weights in place of counts, and their squares in the variance. Derived; docs/theory/after-release.md.

Files that are drawn again until they keep a limit have another law. For a share X and the event A that it is kept, of
probability q, |E(X | A) - E(X)| = |Cov(X, 1_A)| / q is at most sd(X) sqrt((1 - q) / q) by the inequality of Cauchy and
Schwarz, and Var(X | A) is at most Var(X) / q. Derived.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.groups import distinct_rows, joint_keys
from maskwell.core.verdicts import at_least
from maskwell.engines.cell_counts import part_of
from maskwell.errors import TooLargeError
from maskwell.microdata.stages.stage import RandomizedColumns, Stage, TableFlow, acting, is_kept, needed_columns

MOST_TRANSITIONS = 2 * 10**7
LADDER = (1, 2, 5)
UNSURE = 0.05  # how often the share of drawn files that keep a limit is taken to be larger than it is
LEAST_RECORDS = 2  # no step is smaller than what so many records contribute to a share


@dataclass(frozen=True)
class TableError:
    """At most how far a share of a table is off on average, and how much randomization makes it vary."""

    bias: float  # of the share, and with weights of that in sums of squared weights, on which standard errors rest
    error: float  # the standard error that it adds, at most
    least: float  # what a record contributes to a share
    own: float = 0.0  # the bias of the share alone

    def among_kept(self, share: float) -> TableError:
        """Of files that keep a limit, where at least this share of all drawn files does."""
        bias = self.bias + self.error * math.sqrt((1 - share) / share)
        return replace(self, bias=bias, error=self.error / math.sqrt(share))

    def stated(self) -> dict[str, float]:
        """Both rounded up to 1, 2 or 5 times a power of ten, never below what two records contribute."""
        least = LEAST_RECORDS * self.least
        return {"bias": stepped_up(max(self.bias, least)), "error": stepped_up(max(self.error, least))}


def least_kept_share(draws: int) -> float:
    """At least the probability that a drawn file keeps a limit, if it took so many draws: right with 95 %.

    With the share q no more draws are needed with the probability ``1 - (1 - q) ** draws``; of the bound this is 5 %.
    Source: derived.

    >>> [round(least_kept_share(draws), 4) for draws in (1, 2, 20)]
    [0.05, 0.0253, 0.0026]
    """
    return -math.expm1(math.log1p(-UNSURE) / draws)


def stepped_up(value: float) -> float:
    """The smallest of 0.001, 0.002, 0.005, 0.01 and so on that is not below a positive value; 1 at most.

    >>> [stepped_up(x) for x in (0.0007, 0.001, 0.0011, 0.03, 0.6)]
    [0.001, 0.001, 0.002, 0.05, 1.0]
    """
    power = math.floor(math.log10(value))
    steps = (float(f"{first}e{exponent}") for exponent in (power, power + 1) for first in LADDER)
    return min(1.0, next(step for step in steps if at_least(step, value)))


@dataclass
class TableErrors:
    """The errors of the tables of a release; what leads from true cells to released ones is computed once."""

    stages: Sequence[Stage]
    paths: dict[tuple[tuple[str, ...], tuple[str, ...]], Any] = field(default_factory=dict)

    def measured(self, columns: Sequence[str], counted: Sequence[CellTable]) -> Mapping[str, TableError] | None:
        """Of records, and of weights where there are some, as far as they are not kept; None where nobody can say."""
        steps, weighted = acting(self.stages, columns), counted[0].weights is not None
        kept = {steps[0].invariance} if is_kept(self.stages, columns) else set[str]()
        kinds = [kind for kind in ("counts", "weights") if kind not in kept and (kind == "counts" or weighted)]
        needed = needed_columns(self.stages, columns)
        if any(stage.unit is not None for stage in steps) or not any({*needed} <= {*one.columns} for one in counted):
            return None
        if not kinds:
            return {}
        table = part_of(needed, counted)
        try:
            return dict(self._measured(columns, table, kinds))
        except TooLargeError:
            return None

    def _measured(
        self, columns: Sequence[str], table: CellTable, kinds: Sequence[str]
    ) -> Iterator[tuple[str, TableError]]:
        from scipy.sparse import coo_array, csr_array

        moved = {name for stage in acting(self.stages, columns) for name in stage.moved}
        randomized = tuple(name for name in columns if name in moved)
        still = [table.codes[:, table.place(name)] for name in columns if name not in moved]
        closure = needed_columns(self.stages, randomized)
        base, of_cell = distinct_rows([table.codes[:, table.place(name)] for name in closure], len(table))
        T, X = self._path(table, closure, randomized, base)
        groups, beside = distinct_rows(still, len(table))
        shape = (len(base), max(1, len(groups)))
        swapped = any(stage.exchanges for stage in acting(self.stages, columns))

        def beside_of(values: Real) -> Any:
            return csr_array(coo_array((values, (of_cell, beside)), shape=shape))

        for kind in kinds:
            sums = [table.counts] if kind == "counts" else [table.weights, table.squares]
            mass, squares = (np.asarray(one, dtype=np.float64) for one in (sums[0], sums[-1]))
            total = float(mass.sum())
            own, of_squares = (_largest((T - X).T @ beside_of(one)) / float(one.sum()) for one in (mass, squares))
            changes = 2 * abs(T - X) if swapped else T - T.multiply(T)  # two records change at once
            error = math.sqrt(_largest(csr_array(changes).T @ beside_of(squares))) / total
            least = float((squares[mass > 0] / mass[mass > 0]).max()) / total
            yield kind, TableError(max(own, of_squares), error, least, own)

    def _path(self, table: CellTable, closure: tuple[str, ...], randomized: tuple[str, ...], base: Array) -> Any:
        """The probability of each released value for each true cell, and the true values, as sparse matrices."""
        from scipy.sparse import coo_array, csr_array

        if (closure, randomized) not in self.paths:
            levels = {name: [*table.levels[table.place(name)]] for name in closure}
            codes = {name: base[:, i].astype(np.int64) for i, name in enumerate(closure)}
            flow = TableFlow(codes, levels, np.ones(len(base)), np.arange(len(base)))
            after = flow.after(self.stages, randomized, _check)
            sizes = [len(after.labels[name]) for name in randomized]
            to, own = (
                joint_keys([one[name] for name in randomized], sizes, len(one[randomized[0]]))
                for one in (after.codes, codes)
            )
            known, places = np.unique(np.concatenate([to, own]), return_inverse=True)
            shape = (len(base), len(known))
            T = csr_array(coo_array((after.mass, (after.origin, places[: len(to)])), shape=shape))
            X = csr_array(coo_array((np.ones(len(base)), (np.arange(len(base)), places[len(to) :])), shape=shape))
            self.paths[closure, randomized] = T, X
        return self.paths[closure, randomized]


def _check(stage: RandomizedColumns, state: Array) -> None:
    if stage.transition_count(state) > MOST_TRANSITIONS:
        raise TooLargeError("the-matrices-of-these-columns", most_transitions=MOST_TRANSITIONS)


def _largest(values: Any) -> float:
    return float(abs(values).max()) if values.nnz else 0.0

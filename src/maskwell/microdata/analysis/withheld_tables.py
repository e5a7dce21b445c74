"""Tests and odds ratios of a table of released values whose matrices are withheld.

Variances double at most, and biases have bounds. With shares p of the released table, margins p_r and p_c, and b_rc at
most the bias of ``p_rc - p_r p_c``, the statistic is

    max(0, sqrt(X2) - sqrt(n sum b_rc^2 / (p_r p_c)))^2 / (2 - 1/n)

with Pearson's X2, whose root is a distance. A log odds ratio has a bias of at most ``b sum_4 1 / p``, to first order.
Derived; docs/theory/after-release.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.categories import Categories
from maskwell.designs.design import Design
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError
from maskwell.estimation.direct_estimate import DirectEstimate, Released, estimate_changed, estimate_unknown
from maskwell.estimation.joint.independence import IndependenceTest
from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.joint.odds import OddsRatio
from maskwell.estimation.joint.variables import Layout, Names
from maskwell.estimation.share_estimate import Estimate
from maskwell.microdata.analysis.release_estimates import Analysis
from maskwell.microdata.folder.receipt import Receipt
from maskwell.microdata.plans.plan_entries import by_text, typed
from maskwell.microdata.stages.stage import is_kept
from maskwell.notes import Note

Pair = tuple[Hashable, Hashable]


@dataclass(frozen=True, eq=False, repr=False)
class BoundedOddsRatio(OddsRatio):
    """An odds ratio whose logarithm has at most this bias."""

    bias: float = 0.0

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the odds ratio: Wald's on the log scale, and the bias."""
        low, high = super().confidence_interval(level)
        return low * math.exp(-self.bias), high * math.exp(self.bias)


@dataclass(frozen=True, eq=False, repr=False)
class WithheldTable(Table):
    """Shares of a released table of two variables; each margin is off by at most its bound on average."""

    HAS_CONDITIONALS: ClassVar[bool] = False
    margins: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, analysis: Analysis, receipt: Receipt) -> WithheldTable | None:
        """From the shares of two columns, of the records; None for other tables."""
        found, names = analysis.estimate, analysis.route.columns
        if len(names) != 2 or not isinstance(found, DirectEstimate) or receipt.weights is not None:
            return None
        levels = [
            _with_unused(dict.fromkeys(cell[i] for cell in found.categories), receipt.categories.get(name, ()))  # type: ignore[index]
            for i, name in enumerate(names)
        ]
        if min(map(len, levels)) < 2 or any(group.each != "record" for group in analysis.route.groups):
            return None
        cells = [*product(*levels)]
        places = [{cell: i for i, cell in enumerate(cells)}[cell] for cell in found.categories]  # type: ignore[index]
        bias = 0.0 if found.bias is None else float(found.bias.max())

        def spread(values: Real, other: float) -> Real:
            out = np.full(len(cells), other)
            out[places] = values
            return out

        whole = replace(
            found,
            categories=cells,
            pi_hat=spread(found.pi_hat, 0.0),
            variance=spread(found.variance, 0.0),
            variance_parts=tuple(spread(part, 0.0) for part in found.variance_parts),  # type: ignore[arg-type]
            covariance=None,
            effective=spread(found.effective, found.n / (2 - 1 / found.n)),
            bias=None if found.bias is None else spread(found.bias, bias),
        )
        kept = [is_kept(receipt.groups, (name,)) for name in names]
        sizes = (len(levels[1]), len(levels[0]))
        margins = tuple(0.0 if one else min(1.0, bias * size) for one, size in zip(kept, sizes, strict=True))
        designs: dict[Names, Design] = {
            name: Uniform.of(1, Categories.of(own)) for name, own in zip(names, levels, strict=True)
        }
        return cls(whole, Layout.of(designs), margins=(margins[0], margins[1]))

    @property
    def most(self) -> float:
        """At most the bias of any cell."""
        return 0.0 if self.estimate.bias is None else float(self.estimate.bias.max())

    def margin(self, name: str) -> Estimate:
        """Shares of one variable, with bounds of their errors that hold for every matrix."""
        place = self.names.index(name) if name in self.names else self._refused()
        counts = np.rint(self.pi_hat.sum(axis=1 - place) * self.n)
        data, labels = Released.of(counts.astype(np.int64)), self.labels[place]
        if not self.margins[place]:
            return estimate_unknown(data, categories=labels)
        return estimate_changed(data, changed=1.0, bias=self.margins[place], categories=labels)

    def collapse_to(self, *names: str) -> Table:
        """The table itself; a part of it has no table."""
        return self if names == self.names else self._refused()

    def independence(
        self, *names: str, method: str | None = None, seed: int | None = None, replicates: int = 999
    ) -> IndependenceTest:
        """Pearson's test, with twice the usual variances and the bound of the bias: p-values are upper bounds."""
        if method not in (None, "pearson") or {*names} - {*self.names} or len(names) == 1:
            raise ParameterError("no-table-of-a-released-file")
        p, n = self.pi_hat, self.n
        df = (p.shape[0] - 1) * (p.shape[1] - 1)  # with categories that no released record has, as a true one may
        p = p[p.sum(axis=1) > 0][:, p.sum(axis=0) > 0]
        r, c = p.sum(axis=1)[:, None], p.sum(axis=0)[None, :]
        most = self.most + r * self.margins[1] + c * self.margins[0]
        distance, off = (math.sqrt(n * float((x**2 / (r * c)).sum())) for x in (p - r * c, most))
        statistic = max(0.0, distance - off) ** 2 / (2 - 1 / n)
        flags = (Note("released-test-is-an-upper-bound"),)
        return IndependenceTest.by_chi_square(self.names, "pearson", statistic, df, n, flags=flags)

    def odds_ratio(self, rows: Pair | None = None, columns: Pair | None = None) -> OddsRatio:
        """Odds ratio of two categories of each variable, with an interval that allows for randomization."""
        asked = [*zip((rows, columns), self.labels, strict=True)]
        if any(pair is None and len(own) != 2 for pair, own in asked):
            raise ParameterError("odds-ratio-of-a-released-table")
        (a, b), (c, d) = pairs = [(own[0], own[1]) if pair is None else pair for pair, own in asked]
        inputs = [variable.inputs for variable in self.layout.variables]
        p = self.pi_hat[np.ix_([inputs[0].code(x) for x in (a, b)], [inputs[1].code(x) for x in (c, d)])]
        made: dict[str, Any] = {"names": self.names, "rows": pairs[0], "columns": pairs[1], "estimate": self.estimate}
        if (p <= 0).any():
            flags = (Note("released-odds-of-an-empty-cell"),)
            return BoundedOddsRatio(
                **made, log_odds_ratio=math.nan, standard_error=math.nan, method="none", flags=flags
            )
        error = math.sqrt((2 - 1 / self.n) * float((1 / p).sum()) / self.n)
        value, bias = math.log(p[0, 0] * p[1, 1] / (p[0, 1] * p[1, 0])), self.most * float((1 / p).sum())
        flags = (Note("released-odds-allow-for-a-bias"),)
        return BoundedOddsRatio(
            **made, log_odds_ratio=value, standard_error=error, method="moments", flags=flags, bias=bias
        )

    def odds_ratios(self) -> tuple[OddsRatio, ...]:
        """Odds ratios of every category against the last."""
        rows, columns = self.labels
        return tuple(self.odds_ratio((a, rows[-1]), (b, columns[-1])) for a in rows[:-1] for b in columns[:-1])

    def _refused(self, *args: Any, **options: Any) -> Any:
        raise ParameterError("no-table-of-a-released-file")

    conditional = difference = _refused


def _with_unused(occurring: Iterable[Hashable], listed: Sequence[str]) -> list[Hashable]:
    """The categories that occur, and those that the receipt lists for the column and no released record has."""
    own = [*occurring]
    known = by_text(own)
    wanted = [known[text] if text in known else typed(text, own) for text in listed]
    return [*wanted, *(label for label in own if label not in wanted)]


def withheld_table(tables: Sequence[Analysis], receipt: Receipt) -> WithheldTable:
    """The table of one analysis; ParameterError where there is none."""
    table = WithheldTable.of(tables[0], receipt) if len(tables) == 1 else None
    if table is None:
        raise ParameterError("no-table-of-a-released-file")
    return table

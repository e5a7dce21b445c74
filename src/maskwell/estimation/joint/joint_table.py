"""Table: estimated shares of all combinations of several variables, ``Pi_hat = Lam_hat x_1 L_1 x_2 L_2 ...``.

L_t is the left inverse of a design, the identity for what was asked directly. Source: [Adeshiyan2011, Example 3.2].
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from maskwell.core.arguments import Array, Real, as_array, check_kind
from maskwell.core.categories import Categories
from maskwell.core.display import Inside, Result, data_frame
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError, ReportError
from maskwell.estimation.joint.conditionals import Conditional, Difference, conditional_of, difference_of
from maskwell.estimation.joint.independence import IndependenceTest, independence_of
from maskwell.estimation.joint.odds import OddsRatio, TableLikelihood, odds_ratio_of, odds_ratios_of
from maskwell.estimation.joint.variables import Layout, Names
from maskwell.estimation.maximum_likelihood import estimate_by
from maskwell.estimation.share_estimate import Estimate, Sample
from maskwell.estimation.summed_shares import collapsed

SHOWN_ROWS = 12
SHOWN_COLUMNS = 6


@dataclass(frozen=True, eq=False, repr=False)
class Table(Result):
    """Estimated shares of all combinations of several variables.

    Attributes
    ----------
    estimate
        The cells as one list, the first variable slowest, with their covariance, method, n and flags.
    layout
        The variables, their categories and the devices that randomize them.
    """

    LINES = "estimates"
    HAS_CONDITIONALS: ClassVar[bool] = True  # whether shares within categories are known with their errors

    estimate: Estimate
    layout: Layout

    names = Inside[tuple[str, ...]]("layout.names", "Names of the variables, in the order of the axes.")
    shape = Inside[tuple[int, ...]]("layout.shape", "Number of categories of each variable.")

    @property
    def labels(self) -> tuple[Sequence[Hashable], ...]:
        """Categories of each variable."""
        return tuple(v.inputs.labels for v in self.layout.variables)

    n = Inside[int]("estimate.n", "Number of reports.")
    flags = Inside[tuple[str, ...]]("estimate.flags", "What a reader should know, in words.")

    @property
    def pi_hat(self) -> Real:
        """Estimated shares, one axis for each variable. They sum to one and may lie outside [0, 1]."""
        return self.estimate.pi_hat.reshape(self.shape)

    @property
    def standard_error(self) -> Real:
        """Standard errors of the shares, in the same shape."""
        return self.estimate.standard_error.reshape(self.shape)

    def confidence_interval(self, level: float = 0.95, method: str | None = None) -> Real:
        """Intervals of the shares, in the same shape with two ends as the last axis."""
        return self.estimate.confidence_interval(level, method).reshape(*self.shape, 2)

    @property
    def observed(self) -> Array | None:
        """Counted reports, one axis for each variable; None where the estimate does not rest on plain counts."""
        if len(self.estimate.samples) != 1:
            return None
        return self.estimate.samples[0].counts.values.reshape(self.layout.report_shape)

    def cell(self, **categories: Hashable) -> tuple[float, float]:
        """Share and standard error of one combination: ``table.cell(smokes="yes", drinks="no")``."""
        if set(self.names) != set(categories):
            raise ParameterError("a-cell-needs-a-category", names=", ".join(self.names), name=self.names[0])
        where = tuple(v.inputs.code(categories[v.name]) for v in self.layout.variables)
        return float(self.pi_hat[where]), float(self.standard_error[where])

    def margin(self, name: str) -> Estimate:
        """Shares of one variable: the estimate that its own reports give; for moments, the sums of cells exactly."""
        return collapsed(self.estimate, self.layout, [name])[0]

    def collapse_to(self, *names: str) -> Table:
        """The table of some of the variables, in the order given."""
        if not names:
            raise ParameterError("no-variable-was-named", names=", ".join(self.names))
        return Table(*collapsed(self.estimate, self.layout, names))

    def conditional(self, *, given: str | Sequence[str]) -> Conditional:
        """Shares of the other variables within each category of the given ones, with delta-method errors."""
        return conditional_of(self.estimate, self.layout, [given] if isinstance(given, str) else list(given))

    def difference(self, of: Mapping[str, Hashable], *, given: str, between: tuple[Hashable, Hashable]) -> Difference:
        """How much more frequent something is in one category of ``given`` than in another.

        ``table.difference({"smokes": "yes"}, given="sex", between=("m", "f"))``
        """
        return difference_of(self.estimate, self.layout, of, given, between)

    def odds_ratio(
        self, rows: tuple[Hashable, Hashable] | None = None, columns: tuple[Hashable, Hashable] | None = None
    ) -> OddsRatio:
        """Odds ratio of a two by two table, or of two categories of each variable of a larger one."""
        return odds_ratio_of(self.estimate, self.layout, rows, columns, self._likelihood)

    def odds_ratios(self) -> tuple[OddsRatio, ...]:
        """Odds ratios of every category against the last, for a table of two variables.

        In tables of more than 36 cells those without a standard error have no interval: :meth:`odds_ratio` makes it.
        """
        return odds_ratios_of(self.estimate, self.layout, self._likelihood)

    @cached_property
    def _likelihood(self) -> TableLikelihood | None:
        """None where the estimate does not rest on plain counts."""
        samples = self.estimate.samples
        return TableLikelihood(samples[0].design, samples[0].counts.values) if len(samples) == 1 else None

    def independence(
        self, *names: str, method: str | None = None, seed: int | None = None, replicates: int = 999
    ) -> IndependenceTest:
        """Test that these variables (all of them by default) are independent of each other.

        Parameters
        ----------
        method
            ``pearson``, ``observed-likelihood-ratio``, ``likelihood-ratio``, ``wald``, ``rao-scott`` or ``bootstrap``;
            by default the one that fits: docs/theory/tables.md says which.
        seed, replicates
            For ``bootstrap``: where its draws start, and how many tables are drawn.
        """
        part = self.collapse_to(*names) if names else self
        return independence_of(part.estimate, part.layout, method, seed, replicates)

    def to_dict(self, level: float = 0.95, interval: str | None = None) -> dict[str, Any]:
        """Everything as plain values, for JSON: as for one variable, each category the list of its labels."""
        return {"variables": list(self.names), "shape": list(self.shape), **self.estimate.to_dict(level, interval)}

    def to_frame(self, level: float = 0.95) -> Any:
        """A pandas table: one row for each cell, indexed by the labels of the variables."""
        low, high = self.estimate.confidence_interval(level).T
        columns = {"estimate": self.estimate.pi_hat, "standard_error": self.estimate.standard_error}
        labels = dict(zip(self.names, self.labels, strict=True))
        return data_frame({**columns, "low": low, "high": high}, labels=labels)

    def __repr__(self) -> str:
        lines = [
            f"Table of {' x '.join(self.names)} by {self.estimate.method} from n = {self.n:,} reports "
            "(shares, standard errors in brackets)"
        ]
        return "\n".join([*lines, *_grid(self), *(f"  note: {flag}" for flag in self.flags)])


def _grid(table: Table) -> list[str]:
    """Rows for the combinations of all but the last variable, columns for the last; the first of them where many."""
    labels, columns = table.labels, min(SHOWN_COLUMNS, table.shape[-1])
    shares, errors = (x.reshape(-1, table.shape[-1]) for x in (table.pi_hat, table.standard_error))
    header = ["", *(str(label) for label in labels[-1][:columns])]
    lines = [header]
    for row, of in zip(range(min(SHOWN_ROWS, len(shares))), product(*labels[:-1]), strict=False):
        cells = [f"{Printed(shares[row, j]):.4f} ({Printed(errors[row, j]):.4f})" for j in range(columns)]
        lines.append([", ".join(map(str, of)), *cells])
    widths = [max(len(line[i]) for line in lines) for i in range(columns + 1)]
    shown = [
        "  " + "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    ]
    hidden = shares.size - (len(lines) - 1) * columns
    return shown + ([f"  ... and {hidden:,} more cells"] if hidden else [])


def cross_tabulate_counts(counts: Any, designs: Mapping[Names, Design | None], *, method: str = "moments") -> Table:
    """The table of several variables from counts of their reports; :func:`maskwell.tabulate` makes it from columns.

    Parameters
    ----------
    counts
        Counts of reports, with one axis for each variable, in the order of ``designs``.
    designs
        The design of each variable; ``None`` for a variable that was asked directly, with the categories 0, 1, 2, ...
        A tuple of names denotes variables that share one device: its design has tuples as categories and reports,
        and tests of independence then know that the reports are not independent.
    method
        ``moments`` (unbiased) or ``ml`` (most likely; never outside [0, 1]).

    >>> from maskwell.designs import Dense
    >>> warner = Dense.of([["0.8", "0.2"], ["0.2", "0.8"]], Categories.of(["yes", "no"]))
    >>> table = cross_tabulate_counts([[60, 140], [100, 200]], {"smokes": warner, "drinks": warner})
    >>> table.pi_hat.round(3).tolist()   # a third smokes, a fifth drinks, few do both
    [[0.044, 0.289], [0.156, 0.511]]
    """
    check_kind(str, method=method)
    try:
        values = as_array(counts, "counts")
    except ValueError as error:
        raise ReportError("rows-of-counts-of-different-lengths") from error
    if not isinstance(designs, Mapping):
        raise ParameterError("designs-must-name-a-design", name=type(designs).__name__)
    axis, all_designs = 0, {}
    for key, design in designs.items():
        size = values.shape[axis] if axis < values.ndim else 2
        all_designs[key] = Uniform.of(1, Categories.numbered(size)) if design is None else design  # tells the truth
        axis += len(key) if isinstance(key, tuple) else 1
    layout = Layout.of(all_designs)
    if values.shape != layout.report_shape:
        raise ReportError(
            "counts-of-shape-the-reports",
            shape=values.shape,
            names=", ".join(layout.names),
            report_shape=layout.report_shape,
        )
    return Table(estimate_by(method, Sample.of(values.ravel(), layout.design)), layout)

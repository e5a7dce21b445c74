"""What a released file is still good for, before and after it is made: from tables of both files to a UtilityReport."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.cells import CellTable
from maskwell.core.display import Result
from maskwell.core.documents import json_form
from maskwell.core.phrases import listed
from maskwell.core.verdicts import above
from maskwell.errors import ParameterError, TooLargeError
from maskwell.microdata.risk.arrivals import arrivals_of
from maskwell.microdata.stages.stage import Stage, acting, expected_table, is_kept, needed_columns
from maskwell.microdata.utility import utility_measures as measures
from maskwell.microdata.utility.propensity import PropensityScore, hellinger_distance
from maskwell.microdata.utility.utility_measures import expected_variation
from maskwell.notes import Note

DOUBLED = 2  # variances of shares that grow by more are flagged

NAMED, APART = 40, 160  # letters for the columns of one stage, and for those of all stages in one sentence


@dataclass(frozen=True, eq=False, kw_only=True)
class VariableUtility:
    """What a release does to one variable."""

    name: str  # name, invariance: the column, and what its matrix keeps on average
    invariance: str
    # expected_changed, realised_changed: share of the records with another value: expected, and in the released file
    # where that is known
    expected_changed: float
    realised_changed: float | None
    # categories, before, after: labels, and their shares in the file and in the released file (``None`` before there
    # is one), shape (k,)
    categories: tuple[Hashable, ...]
    before: Real
    after: Real | None
    distance: measures.TableDistance | None  # of these shares
    # expected_variation, most_variation: total variation that is to be expected, and a bound on its expectation;
    # ``None`` where it cannot be told
    expected_variation: float | None
    most_variation: float | None
    inflation: measures.Inflation | None  # of the variances of its shares; ``None`` where it cannot be told

    @property
    def changed_most(self) -> Hashable | None:
        """The category whose share changed most."""
        return None if self.distance is None else self.categories[self.distance.changed_most]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        inflation = self.inflation
        return {
            "invariance": self.invariance,
            "expected_changed": self.expected_changed,
            "realised_changed": self.realised_changed,
            "expected_total_variation": self.expected_variation,
            "most_total_variation": self.most_variation,
            **({} if self.distance is None else self.distance.to_dict()),
            "changed_most": self.changed_most,
            **(dict.fromkeys(("vif", "n_eff", "vif_by_category")) if inflation is None else inflation.to_dict()),
        }


@dataclass(frozen=True, eq=False)
class UtilityReport(Result):
    """What a release does to variables, to pairs of them, and to regressions.

    Attributes
    ----------
    variables
        By name: the randomized and the linked ones.
    pairs
        Associations of all pairs of columns that were counted together and of which one is randomized.
    regressions
        Fitted to both files.
    propensity
        How well a model distinguishes both files; ``None`` before the draw.
    flags
        What a reader should know, in words.
    """

    LINES = "variables"

    variables: Mapping[str, VariableUtility]
    pairs: tuple[measures.Association, ...] = ()
    regressions: tuple[measures.RegressionComparison, ...] = ()
    propensity: PropensityScore | None = None
    flags: tuple[str, ...] = ()

    @property
    def worst_inflation(self) -> float | None:
        """The largest factor by which the variance of a share grows; None where it is not known for some variable."""
        inflations = [one.inflation for one in self.variables.values()]
        return None if not inflations or None in inflations else max(one.worst for one in inflations if one is not None)

    def with_regressions(self, regressions: Iterable[measures.RegressionComparison]) -> UtilityReport:
        """The same with regressions that were fitted to both files."""
        added = tuple(regressions)
        flags = tuple(dict.fromkeys([*self.flags, *(flag for one in added for flag in one.flags)]))
        return replace(self, regressions=(*self.regressions, *added), flags=flags)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        content = {
            "variables": {name: one.to_dict() for name, one in self.variables.items()},
            "pairs": [pair.to_dict() for pair in self.pairs],
            "regressions": [one.to_dict() for one in self.regressions],
            "propensity": None if self.propensity is None else self.propensity.to_dict(),
            "flags": list(self.flags),
        }
        return dict(json_form(content))


def assess_utility(
    before: Iterable[CellTable],
    after: Iterable[CellTable] | None = None,
    stages: Sequence[Stage] = (),
    *,
    changed: Mapping[str, float] | None = None,
) -> UtilityReport:
    """What stages do to the variables of a file and to pairs of them, before and after the draw."""
    tables, released = [*before], None if after is None else [*after]
    names = {name: stage for stage in stages for name in stage.moved}
    variables = {
        name: _variable(name, stage, stages, tables, released, (changed or {}).get(name))
        for name, stage in names.items()
    }
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for pair in (pair for table in tables for pair in combinations(table.columns, 2)):
        if {*pair} & names.keys():
            pairs.setdefault(frozenset(pair), pair)
    associations = tuple(_pair(pair, tables, released, stages) for pair in pairs.values())
    return UtilityReport(variables, associations, flags=tuple(_flags(variables, associations, stages)))


def _variable(
    name: str,
    stage: Stage,
    stages: Sequence[Stage],
    tables: Sequence[CellTable],
    released: Sequence[CellTable] | None,
    realised: float | None,
) -> VariableUtility:
    table = _covering(tables, [name])
    if table is None:
        raise ParameterError("no-table-of-the-file", name=name)
    after = None if released is None else _covering(released, [name])
    first, second = _counted(table.project([name])), {} if after is None else _counted(after.project([name]))
    labels = tuple(dict.fromkeys([*first, *second]))
    a, b = (np.array([counts.get(label, 0) for label in labels], dtype=np.float64) for counts in (first, second))
    inflation = measures.inflation_of(stage, name) if name in stage.variables else None
    inflation = None if inflation is None else _shifted(inflation, name, stage, stages, tables)
    usual, most = (None, None) if inflation is None else expected_variation(inflation.shift, inflation.added)
    expected = expected_share(stages, tables, [name])
    if expected is None:
        expected = stage.expected_changed(name if name in stage.variables else None)
    return VariableUtility(
        name=name,
        invariance=stage.invariance,
        expected_changed=expected,
        realised_changed=realised,
        categories=labels,
        before=a / max(a.sum(), 1),
        after=None if after is None else b / max(b.sum(), 1),
        distance=None if after is None or not a.any() or not b.any() else measures.table_distance(a, b),
        expected_variation=usual,
        most_variation=most,
        inflation=inflation,
    )


def _shifted(
    inflation: measures.Inflation, name: str, stage: Stage, stages: Sequence[Stage], tables: Sequence[CellTable]
) -> measures.Inflation:
    """The inflation with the shift of all stages together: an earlier one may move what this one works within."""
    whole = _covering(tables, needed_columns(stages, [name]))
    if whole is None or stage.invariance == "weights" or len(acting(stages, [name])) < 2 or not whole.n:
        return inflation
    before, after = _counted(whole.project([name])), _counted(expected_table(stages, whole, [name]))
    shift = np.array([after.get(label, 0.0) - before.get(label, 0.0) for label in inflation.categories]) / whole.n
    return replace(inflation, shift=shift)


def _counted(table: CellTable) -> dict[Hashable, float]:
    return {label[0]: float(n) for label, n in zip(table.labels(), table.counts, strict=True)}


def _pair(
    pair: tuple[str, str], tables: Sequence[CellTable], released: Sequence[CellTable] | None, stages: Sequence[Stage]
) -> measures.Association:
    own, after = _covering(tables, pair), None if released is None else _covering(released, pair)
    before = None if own is None else _association(own.project(pair))
    if is_kept(stages, pair) and not any(stage.invariance == "weights" for stage in stages):
        expected = before  # what is expected of the counts is the counts themselves
    else:
        whole = _covering(tables, needed_columns(stages, pair))
        expected = None if whole is None else _association(expected_table(stages, whole, pair))
    if after is None:
        return measures.Association(pair, before, expected)
    far = (
        None if own is None or not own.n or not after.n else hellinger_distance(own.project(pair), after.project(pair))
    )
    return measures.Association(pair, before, expected, _association(after.project(pair)), far)


def _association(table: CellTable) -> float | None:
    try:
        return measures.cramers_v(table.grid()) if len(table) else None
    except TooLargeError:
        return None


def _covering(tables: Iterable[CellTable], columns: Sequence[str]) -> CellTable | None:
    fits = [table for table in tables if {*columns} <= {*table.columns}]
    return min(fits, key=len, default=None)


def _flags(
    variables: Mapping[str, VariableUtility], pairs: Sequence[measures.Association], stages: Sequence[Stage]
) -> Iterator[str]:
    weak = [f"{a} and {b}" for a, b in (pair.columns for pair in pairs if pair.weakened)]
    large = [name for name, one in variables.items() if one.inflation and above(one.inflation.worst, DOUBLED)]
    if weak:
        yield Note("associations-are-weakened", part=measures.WEAKENED, pairs=listed(weak, len(weak), 80))
    if large:
        yield Note("variances-more-than-double", variables=listed(large, len(large), 80))
    # stages that do not know of each other: each margin is kept, their joint table is not
    apart = [
        (a, b)
        for a, b in combinations(range(len(stages)), 2)
        if not {*stages[a].variables} & {*stages[b].columns} and not {*stages[b].variables} & {*stages[a].columns}
    ]
    if apart:
        names = [listed(stage.variables, len(stage.variables), NAMED) for stage in stages]
        names = [f"[{name}]" if len(stage.variables) > 1 else name for name, stage in zip(names, stages, strict=True)]
        concerned = sorted({place for pair in apart for place in pair})
        all_apart = len(apart) == len(concerned) * (len(concerned) - 1) // 2  # then they are listed once
        said = [names[one] for one in concerned] if all_apart else [f"{names[a]} from {names[b]}" for a, b in apart]
        yield Note("columns-randomized-apart", columns=listed(said, len(said), APART))


def expected_share(stages: Sequence[Stage], tables: Iterable[CellTable], columns: Sequence[str]) -> float | None:
    """``1 - sum_c N_c Pr(kept; c) / n``, c cells of the smallest table that shows how columns move; or None."""
    needed = {*needed_columns(stages, columns)}
    fits = [table for table in tables if needed <= {*table.columns} and table.n]
    table = min(fits, key=len, default=None)
    if table is None:
        return None
    moving = acting(stages, columns)
    if not moving:
        return 0.0
    if len(moving) == 1 and {*columns} <= {*moving[0].variables} and len(columns) in (1, len(moving[0].variables)):
        share = moving[0].expected_changed(columns[0] if len(columns) == 1 else None)
        return share * float(moving[0].counts.sum()) / table.n
    try:
        arrivals = arrivals_of(stages, table, columns)
    except TooLargeError:
        return None
    return max(0.0, 1 - float((arrivals.counts * arrivals.kept).sum()) / table.n)

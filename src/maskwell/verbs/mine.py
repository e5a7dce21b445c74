"""``mine``: frequent itemsets and rules from randomized baskets, with standard errors."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwell.core.arguments import Real, as_real, as_whole, check_kind, check_option
from maskwell.core.display import Inside, Result, data_frame, entries
from maskwell.core.exact import OPEN_SHARE, as_fraction, check_range, to_float
from maskwell.designs.basket_bits import ItemBits, item_bits
from maskwell.designs.design import Design
from maskwell.designs.wire import read_design
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError
from maskwell.estimation.itemset_mining import Mined, mine_itemsets
from maskwell.estimation.itemset_supports import (
    MOST_ITEMS,
    BasketSampling,
    Itemset,
    ReportedBaskets,
    Rule,
    SampledBaskets,
)
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.reports.report import Report
from maskwell.reports.text.mining_report import mining_report
from maskwell.verbs.inputs import Designs, assignments_of, check_progress
from maskwell.verbs.sampled_rows import SampledRows, check_by_rows, check_no_reports

if TYPE_CHECKING:
    from maskwell.engines.assignments import Assignment
    from maskwell.engines.row_sources import Progress
    from maskwell.reports.pictures.canvas import Picture


@dataclass(frozen=True, eq=False, repr=False)
class MinedBaskets(Result):
    """What was found in randomized baskets.

    Attributes
    ----------
    baskets
        The reports; any itemset and any rule can be asked of them.
    bits
        The design, item by item.
    rows, dropped
        Rows that were read, and those left out because a value was missing.
    """

    mined: Mined
    baskets: ReportedBaskets
    bits: ItemBits
    min_support: float
    min_confidence: float
    max_items: int
    slack: float
    rows: int
    dropped: int

    itemsets = Inside[tuple[Itemset, ...]]("mined.itemsets", "Sets that enough baskets hold, by size, then by support.")
    rules = Inside[tuple[Rule, ...]]("mined.rules", "Rules among them, by confidence.")
    n = Inside[int]("baskets.n", "Number of baskets.")
    flags = Inside[tuple[str, ...]]("mined.flags", "What a reader should know, in words.")

    @property
    def sampling(self) -> str:
        """What the standard errors take into account, in words; empty for a simple random sample."""
        return self.baskets.sampling.in_words() if isinstance(self.baskets, SampledBaskets) else ""

    def support(self, items: Iterable[Hashable]) -> Itemset:
        """The support of any set of items, found or not, with its standard error."""
        return self.baskets.support(items)

    def confidence(self, given: Iterable[Hashable], then: Iterable[Hashable]) -> Rule:
        """The confidence of any rule, with its standard error."""
        return self.baskets.confidence(given, then)

    def pair_supports(self) -> tuple[Real, Real]:
        """Supports of all pairs of items, and their standard errors, in the order of the items; shape (M, M)."""
        return self.baskets.pair_supports()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, as ``maskwell mine --json`` gives it."""
        return {
            **entries(self, "n rows dropped"),
            "items": len(self.bits),
            **self.bits.both_parities(),
            **entries(self, "min_support min_confidence max_items"),
            "margin": self.slack,
            "itemsets": [one.to_dict() for one in self.itemsets],
            "rules": [one.to_dict() for one in self.rules],
            "searched": list(self.mined.searched),
            "near": self.mined.near,
            "undefined_rules": self.mined.undefined,
            "flags": list(self.flags),
            **({"sampling": self.sampling} if self.sampling else {}),
        }

    def to_frame(self) -> Any:
        """A pandas table of the itemsets, a line for each."""
        columns = {
            "items": [one.items for one in self.itemsets],
            "support": [one.support for one in self.itemsets],
            "standard_error": [one.standard_error for one in self.itemsets],
        }
        return data_frame(columns)

    def to_report(self, design: str = "design.json") -> Report:
        """What it says to people; ``design`` names the design file, for the hint at the end."""
        report = mining_report(self.mined, self.bits, self.n, self.min_support, self.slack, design)
        if self.sampling:
            report = report.with_line(f"The sampling is taken into account: {self.sampling}.")
        if self.dropped:
            were = "was" if self.dropped == 1 else "were"
            report = report.with_line(f"note: {self.dropped:,} of {self.rows:,} rows had no basket and {were} left out")
        return report

    def plot(self, **options: Any) -> Picture:
        """The itemsets with their supports, intervals and the threshold; ``options`` as for all pictures."""
        from maskwell.reports.pictures.canvas import styled
        from maskwell.reports.pictures.forest_plot import plot_itemsets

        return styled(plot_itemsets, self.itemsets, min_support=self.min_support, n=self.n, **options)

    def __repr__(self) -> str:
        return "\n".join(self.to_report())


def mine(
    data: Any,
    design: Design | str | os.PathLike[str] | Designs,
    sampling: Sampling | None = None,
    *,
    min_support: Any = 0.05,
    min_confidence: Any = 0.5,
    max_items: int = 4,
    slack: Any = 2,
    missing: str = "error",
    progress: Progress | None = None,
) -> MinedBaskets:
    """Find frequent itemsets and rules in randomized baskets, as ``maskwell mine`` does.

    Parameters
    ----------
    data
        A table or a file as in :func:`maskwell.estimate`, with a column of 1 or 0 for each item or one column of
        baskets: lists of items, texts with blanks between items, or reports of ``randomize``; or a list of baskets.
    design
        The design for baskets (``design("bits", ...)``), or its file. The columns are those that are called as its
        items, or the column "items"; others are named: ``{"bought": design}``, ``{"first,second": design}``.
    sampling, progress
        As in :func:`maskwell.estimate`. Every set that is searched then reads all baskets, which takes longer.
    min_support, min_confidence
        The minimum support of a frequent set (a share of baskets), and the minimum confidence of a rule.
    max_items
        The size of the largest sets that are looked for, from 1 to 12.
    slack
        A set that is estimated below ``min_support`` is searched further as long as it is within so many standard
        errors of it.
    missing
        Rows without a value: ``"error"``, or ``"drop"`` them. An empty basket is a basket like others.

    >>> import maskwell as mw
    >>> design = mw.design("bits", items=["bread", "milk"], p="0.9")
    >>> reports = [["bread", "milk"]] * 50 + [["milk"]] * 25 + [["bread"]] * 10 + [[]] * 15
    >>> [(one.items, round(one.support, 4)) for one in mine(reports, design, min_support=0.4).itemsets]
    [(('milk',), 0.8125), (('bread',), 0.625), (('bread', 'milk'), 0.5859)]
    """
    from maskwell.engines.basket_reader import read_baskets

    sought = {
        "min_support": to_float(check_range(as_fraction(min_support, "min_support"), "min_support", OPEN_SHARE)),
        "min_confidence": to_float(check_range(as_fraction(min_confidence, "min_confidence"), "min_confidence")),
        "slack": as_real(slack, "slack", low=0, high=100),
    }
    largest = as_whole(max_items, "max_items", low=1, high=MOST_ITEMS)
    check_option("missing", missing, ("error", "drop"))
    check_progress(progress)
    rows = Rows.of({"items": data} if isinstance(data, list | tuple) else data)
    assignment = _assignment(rows, design)
    bits = item_bits(assignment.design)
    check_kind(Sampling | None, sampling=sampling)
    sampled = None if not sampling else SampledRows.of(rows, sampling)
    if sampled is not None:
        check_by_rows(sampled.sampling, "mine")
        check_no_reports(sampled.columns(), assignment.columns)
        rows = sampled.rows
    roles = None if sampled is None else sampled.columns()
    read = read_baskets(rows, assignment, roles, missing=missing, progress=progress)
    names = bits.names if assignment.baskets is not None else assignment.columns
    baskets = ReportedBaskets.of(read.bits, bits, names)
    if sampled is not None:
        plan, rule = read.plan, None
        if "replicates" in plan:
            rule = sampled.rule_of_rows(plan.get("weight"), plan["replicates"], plan.get("stratum"))
        drawn = BasketSampling.of(len(read.bits), plan, lonely=sampled.sampling.lonely, rule=rule)
        baskets = SampledBaskets(baskets, drawn)
    mined = mine_itemsets(baskets, max_items=min(largest, len(bits)), **sought)
    return MinedBaskets(mined, baskets, bits, max_items=largest, rows=read.rows, dropped=read.dropped, **sought)


def _assignment(rows: Rows, design: Any) -> Assignment:
    """The design and its columns, which are looked for where nobody names them."""
    from maskwell.engines.assignments import Assignment
    from maskwell.engines.basket_reader import basket_columns

    if isinstance(design, Design | str | os.PathLike):
        read = read_design(design)
        return Assignment(basket_columns(rows, item_bits(read)), read)
    assigned = assignments_of(design)
    if len(assigned) != 1 or assigned[0].when:
        some = "a design for some rows only" if len(assigned) == 1 else f"{len(assigned) or 'no'} designs"
        raise ParameterError("all-baskets-share-one", some=some)
    item_bits(assigned[0].design)
    return assigned[0]


def design_of(text: str) -> tuple[Mapping[str, str] | str, str]:
    """What was typed after ``--design``, as :func:`mine` takes it, and the design file in it."""
    columns, sign, path = text.rpartition("=")
    if not sign or os.path.isfile(text):  # noqa: PTH113 (nothing but a look)
        return text, text
    return {columns: path}, path

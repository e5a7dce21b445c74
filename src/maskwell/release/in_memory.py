"""Release a table that is in memory: the released rows in the same kind of table, and what was done."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.randomness import SECURE, RandomSource, check_source
from maskwell.engines.cell_counts import count_rows
from maskwell.engines.releasing import release_batches
from maskwell.engines.row_sources import MemoryRows
from maskwell.release.assessing import assess_tables, judged, released_tables, with_side_channels
from maskwell.release.carrying_out import row_plan
from maskwell.release.folder.publishing import check_randomness
from maskwell.release.folder.receipt import Receipt, receipt_from_dict
from maskwell.release.folder.receipt_making import dumps, internal_receipt, public_receipt
from maskwell.release.keeping import check_kept, drawn_until_kept
from maskwell.release.plans.plan import ReleasePlan
from maskwell.release.released import Release
from maskwell.release.row_order import telling_order
from maskwell.release.side_channels import check_side_channels, dependence_counter, side_channels
from maskwell.release.stages.counting import tables_of


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable:
    """Released rows, and the release they came from.

    Attributes
    ----------
    data
        In the kind of table that was given.
    release
        Matrices, risk and utility. It holds the counts of the true table, and is not to be published.
    """

    data: Any
    release: Release

    def receipt(self, *, internal: bool = False) -> Receipt:
        """What users need for a valid analysis, for :func:`estimate_released`; the ``internal`` one tells everything.

        Raises
        ------
        PublishError
            A matrix that the plan wants published would give the counts of the table away.
        """
        check_kind(Flag, internal=internal)
        content = internal_receipt(self.release) if internal else public_receipt(self.release)
        return receipt_from_dict(json.loads(dumps(content)))

    def __repr__(self) -> str:
        return f"ReleasedTable: .data has {self.release.rows:,} records; .release: {self.release!r}"


def release_table(data: Any, plan: ReleasePlan, *, random: RandomSource | None = None) -> ReleasedTable:
    """Carry out a plan on a table of pandas, polars or Arrow, or on a dictionary of columns.

    Parameters
    ----------
    data
        The true table.
    plan
        What is to be done.
    random
        Where the draws come from: the operating system's generator by default. A seed only for a demonstration.

    >>> from maskwell.release.plans.protection import Protection
    >>> people = {"sex": ["f", "f", "m", "m", "m"], "region": ["north", "south", "north", "south", "south"]}
    >>> plan = ReleasePlan.of([Protection.of(["sex"], "method1", within=["region"], theta="1/2")])
    >>> released = release_table(people, plan)
    >>> sorted(released.data["region"])   # nobody moves to another region
    ['north', 'north', 'south', 'south', 'south']
    >>> released
    ReleasedTable: .data has 5 records; .release: Release of 5 records: sex randomized (method1)
    >>> released.receipt().groups[0].within
    ('region',)
    """
    check_kind(ReleasePlan, plan=plan)
    source = SECURE if random is None else random
    check_source(source)
    check_randomness(private=source.private, demonstration=plan.demonstration)
    rows = MemoryRows(data)
    plan.check(rows.schema.names)
    wanted = tables_of(plan)
    beside = dependence_counter(plan, rows.schema.names)
    counted = count_rows(rows, "the table", wanted, weights=plan.weights, beside=beside)
    release = replace(assess_tables(dict(zip(wanted, counted, strict=True)), plan), private=source.private)
    found = side_channels(plan, beside.facts())
    check_side_channels(found)
    release = with_side_channels(
        release, found, lambda columns: count_rows(rows, "the table", [columns], weights=plan.weights)[0]
    )
    check_kept(release)
    given: list[Any] = []

    def draw() -> Release:
        batches, schema, done = release_batches(rows, "the table", row_plan(release, source, None))
        given[:] = [rows.like_given(batches, schema)]
        warnings = (*release.warnings, *telling_order(release, done.breaks))
        tables = released_tables(release, done)
        return judged(replace(release, released_tables=tables, changed=done.changed, warnings=warnings))

    drawn = drawn_until_kept(draw, repeatable=False)
    return ReleasedTable(given[0], drawn)

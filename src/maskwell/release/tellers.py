"""What stays in a released file and could undo its protection: weights and columns that tell the randomized ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from maskwell.core.cell_table import CellTable
from maskwell.core.phrases import listed
from maskwell.engines.base import Source
from maskwell.engines.cell_counting import MOST_WEIGHTS
from maskwell.engines.dependence import Dependence, dependences, first_rows, naming_columns
from maskwell.release.plans.plan import ReleasePlan
from maskwell.release.stages.counting import Tables, weight_tables

SHOWN = 60


def telling_weights(plan: ReleasePlan, tables: Tables) -> Iterator[str]:
    """Weights that occur with one category only, and so undo its protection. Source: derived."""
    found = {columns[0]: tables[columns] for columns in weight_tables(plan)}
    if any(table.sizes[1] >= MOST_WEIGHTS for table in found.values()):
        yield (
            f"there are {MOST_WEIGHTS:,} or more different weights ({plan.weights}): a weight that few records have"
            " tells them apart, whatever is randomized; round the weights"
        )
        return
    alone = {name: _alone(table) for name, table in found.items()}
    named = [f"{name} ({records:,} records)" for name, records in alone.items() if records]
    if named:
        shown = listed(named, len(named), SHOWN)
        yield f"some weights ({plan.weights}) occur with one category only and tell it: {shown}; round the weights"


def _alone(table: CellTable) -> int:
    """Records whose weight, the second column, only one label of the first has."""
    if table.sizes[0] < 2:
        return 0
    several = np.bincount(table.codes[:, 1], minlength=table.sizes[1]) > 1
    return int(table.counts[~several[table.codes[:, 1]]].sum())


def telling_columns(plan: ReleasePlan, source: Source) -> Iterator[str]:
    """Columns that are published as they are and tell a randomized one, or show which of its values were changed."""
    moved = [*dict.fromkeys(plan.randomized)]
    inside = {name for protection in plan.protections for name in protection.within}
    silent = {*moved, *plan.drop, *inside, plan.weights, plan.id}
    names = source.schema.names
    others = [name for name in names if name not in silent and names.count(name) == 1]
    batch = first_rows(source)
    if batch is None:
        return
    if naming := naming_columns(batch, others):
        shown = listed(naming, len(naming), SHOWN)
        yield f"texts that are different for every record may name people, and are published: {shown}; drop them"
    found = dependences(batch, moved, others)
    told = [one for one in found if one.told in moved]
    showing = [one for one in found if one.teller in moved and Dependence(one.told, one.teller) not in told]
    if told:
        yield (
            f"columns that stay as they are tell randomized ones: {_pairs(told)}; randomize them together, group them,"
            " or drop them"
        )
    if showing:
        yield (
            f"columns that stay as they are show which records changed: {_pairs(showing)}; name them in linked,"
            " or drop them"
        )


def _pairs(found: Sequence[Dependence]) -> str:
    return listed((f"{one.teller} tells {one.told}" for one in found), len(found), SHOWN)

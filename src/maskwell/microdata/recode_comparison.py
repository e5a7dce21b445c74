"""Coarsen or randomize? What each recode of a plan saves: the same plan without it, beside the plan itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.engines.rows import Rows
from maskwell.errors import MaskwellError
from maskwell.microdata.assessment import assess_counts
from maskwell.microdata.needed_tables import closure, count_records, tables_of
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.true_file import TrueFile, column_fits, prepared


@dataclass(frozen=True, kw_only=True)
class RecodeEffect:
    """A file with some columns recoded, and its release under the bound of the plan.

    Attributes
    ----------
    left_out
        Columns that are not recoded here although the plan recodes them; none in the plan itself.
    categories
        Of the columns left out: how many they have, and how many the plan makes of them.
    alone
        Records that are alone with their keys before anything is randomized.
    risk_before, risk
        The greatest chance of a correct match, before and after the randomization; NaN where there is none.
    changed
        Share of the records that are expected to change in at least one column; NaN where no release is possible.
    lifted
        Numbers of the rules that are left out here, because they name new categories of the columns left out.
    note
        Why no release is possible.
    """

    left_out: tuple[str, ...]
    categories: tuple[tuple[int, int], ...] = ()
    alone: int = 0
    risk_before: float = math.nan
    risk: float = math.nan
    changed: float = math.nan
    lifted: tuple[int, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        numbers = {key: None if isinstance(x, float) and math.isnan(x) else x for key, x in asdict(self).items()}
        pairs = [list(pair) for pair in self.categories]
        return {**numbers, "left_out": list(self.left_out), "categories": pairs, "lifted": list(self.lifted)}


def recode_effects(
    records: Rows, release: AnyRelease, progress: Callable[[int, float | None], None] | None = None
) -> list[RecodeEffect]:
    """What the recodes of a plan save: the plan, the plan without each of them, and without all.

    Only recodes of columns that tell the risk count: keys, and columns that say how these are randomized. The file is
    counted once more for each. A rule that names new categories of a column cannot be kept where the column is left as
    it is, and is left out there.

    Parameters
    ----------
    records
        The path of the file, or the table, as it is: not recoded.
    release
        The plan as it was assessed on these records.
    progress
        Told how far it is.
    """
    check_kind(AnyRelease, release=release)
    check_kind(Callable | None, progress=progress)
    variants = [*_variants(release.plan)]
    if not variants:
        return []
    effects = [_effect(release, ())]
    for done, left_out in enumerate(variants, 1):
        effects.append(_tried(records, release, left_out))
        if progress is not None:
            progress(release.rows, done / len(variants))
    return effects


def _variants(plan: ReleasePlan) -> Iterator[tuple[str, ...]]:
    """Recodes that may be left out: each alone, and all."""
    columns = tuple(column for column in plan.recodes if column in closure(plan, plan.keys))
    yield from ((column,) for column in columns)
    if len(columns) > 1:
        yield columns


def _tried(records: Rows, release: AnyRelease, left_out: tuple[str, ...]) -> RecodeEffect:
    asked = release.plan.as_typed or release.plan
    lifted = tuple(n for n, rule in enumerate(asked.rules, 1) if any(map(rule.labels().get, left_out)))
    tried = RecodeEffect(left_out=left_out, categories=_categories(release, left_out), lifted=lifted)
    try:
        rows, plan = prepared(records, _without(asked, left_out, lifted))
        tables = count_records(rows, plan, tables_of(plan))
        fits = column_fits(rows, plan, tables, release.file.others)
        assessed = assess_counts(TrueFile(tables=tables, fits=fits), plan)
    except MaskwellError as error:
        return replace(tried, note=error.message)
    return replace(_effect(assessed, left_out), categories=tried.categories, lifted=lifted)


def _without(plan: ReleasePlan, left_out: tuple[str, ...], lifted: tuple[int, ...]) -> ReleasePlan:
    """The plan without some recodes, and without what it says of the new categories of these columns."""
    recodes = {column: recode for column, recode in plan.recodes.items() if column not in left_out}
    codebook = {column: labels for column, labels in plan.codebook.items() if column not in left_out}
    rules = tuple(rule for number, rule in enumerate(plan.rules, 1) if number not in lifted)
    return replace(plan, recodes=recodes, codebook=codebook, rules=rules)


def _categories(release: AnyRelease, columns: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(release.file.recoded[column] for column in columns)


def _effect(release: AnyRelease, left_out: tuple[str, ...]) -> RecodeEffect:
    risk = release.risk
    return RecodeEffect(
        left_out=left_out,
        alone=0 if risk is None else risk.before.uniques or 0,
        risk_before=math.nan if risk is None else risk.before.max_risk,
        risk=math.nan if risk is None or risk.after is None else risk.after.max_risk,
        changed=release.expected_change(),
    )

"""Unchanged columns that follow from the original values of columns that a plan publishes in classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations

from maskwell.core.groups import NumberedColumn, joined_columns
from maskwell.core.verdicts import at_least
from maskwell.engines.arrow_arrays import ANY
from maskwell.engines.column_codes import numbered_columns
from maskwell.engines.row_sources import find_columns
from maskwell.engines.rows import Rows
from maskwell.microdata.records.dependence import CELLS, FEWEST_CELLS, RECORDS_PER_LABEL
from maskwell.microdata.records.recoding import Recode, Recoding
from maskwell.microdata.records.value_counts import MOST_CELLS, ColumnFacts, LabelCodes, Restored, ValueCounter

# Values that are counted, of all columns beside all sets of others; of more rows every second, third, ... one is taken
MOST_COUNTED = 1 << 30


def with_originals(
    facts: Sequence[ColumnFacts],
    records: Rows,
    recodes: Mapping[str, Recode],
    together: Sequence[Sequence[str]],
) -> list[ColumnFacts]:
    """What was found of columns, with the original columns that they follow from, in one more pass if there may be any.

    ``together`` are columns that are changed together. Of these all are looked at, every pair, and every one alone,
    where one of them is recoded.
    """
    rows = max((one.records for one in facts), default=0)
    shown = _followed(records, recodes, together, [one.column for one in facts], rows)
    return [replace(one, shown_before=tuple(shown.get(one.column, ()))) for one in facts]


def _followed(
    records: Rows,
    recodes: Mapping[str, Recode],
    together: Sequence[Sequence[str]],
    columns: Sequence[str],
    rows: int,
) -> dict[str, list[tuple[tuple[str, ...], Restored]]]:
    groups = [*dict.fromkeys(group for names in together for group in _groups(names, recodes))]
    if not groups or not columns or not rows:
        return {}
    limit = min(MOST_CELLS, max(FEWEST_CELLS, CELLS // (len(groups) * len(columns))))
    counters = {group: ValueCounter(limit) for group in groups}
    step = -(-rows * len(groups) * len(columns) // MOST_COUNTED)
    names = [*dict.fromkeys([*columns, *(name for group in groups for name in group)])]
    moved = {name for each in together for name in each}
    as_published = Recoding({name: recode for name, recode in recodes.items() if name not in moved})
    with records.with_view(as_published).open_stored([*moved]) as source:
        places = find_columns(source.schema, names, str(records), ANY)
        before = 0
        for batch in source.batches():
            if not len(batch):
                continue
            part, before = slice(-before % step, None, step), before + len(batch)
            read = numbered_columns({name: batch.column(at) for name, at in zip(names, places, strict=True)})
            numbered = {name: NumberedColumn(one.places[part], one.numbers) for name, one in read.items()}
            beside = {
                name: LabelCodes(numbered[name].places, len(numbered[name].numbers), numbered[name].numbers)
                for name in columns
            }
            for group, counter in counters.items():
                counter.add(reduce(joined_columns, (numbered[name] for name in group)), beside)
    shown: dict[str, list[tuple[tuple[str, ...], Restored]]] = {}
    for group, counter in counters.items():
        facts = counter.facts("")
        if at_least(facts.rows, RECORDS_PER_LABEL * facts.values):
            for name in columns:
                if (found := counter.followed(name)) is not None:
                    shown.setdefault(name, []).append((group, Restored(name, *found)))
    return shown


def _groups(names: Sequence[str], recodes: Mapping[str, Recode]) -> Iterator[tuple[str, ...]]:
    """Columns alone, pairs, and all together, those with a column that is recoded."""
    sets = [*((name,) for name in names), *combinations(names, 2), tuple(names)]
    yield from (group for group in sets if not recodes.keys().isdisjoint(group))

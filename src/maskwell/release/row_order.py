"""Whether the order of the records tells what was randomized: in a sorted file the neighbours of a record do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from maskwell.release.released import Release

_SHARE = 0.75
_DEVIATIONS = 5


def telling_order(release: Release, breaks: Mapping[str, int]) -> Iterator[str]:
    """Words for each column whose true labels stand together, where the order is kept.

    In random order ``n - sum_c N_c^2 / n`` rows are expected to have another label than the
    row before, where ``N_c`` of the n records have label c; ``breaks`` tells how many do. Source: derived.
    """
    if release.shuffled:
        return
    for name, found in breaks.items():
        counts = next(own for columns, own in release.tables.items() if name in columns).project([name]).counts
        n = int(counts.sum())
        expected = n - sum(int(c) ** 2 for c in counts) / n
        if found < _SHARE * expected and expected - found > _DEVIATIONS * math.sqrt(n):
            yield (
                f"the order of the records is kept, and those with the same {name} stand together: its neighbours tell"
                " what a record was; shuffle the records"
            )

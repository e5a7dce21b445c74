"""What a reader should know of the draws of a release: limits that are tightened, and draws that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from maskwell.core.exact import to_decimal

if TYPE_CHECKING:
    from maskwell.microdata.release_values import AnyRelease

MADE_FOR_LESS = (
    "matrices are made for {part} times the limit, so that someone who weighs the other columns stays below it, too"
)
KEPT = (
    "draws are kept by key: the same true value under the same matrix gives the same report in every release, anything"
    " else an independent draw"
)
CHANGE_IS_TOLD = (
    "a report that differs from an earlier one under the same key and matrix proves that the true value changed (an"
    ' equal one proves nothing); to hide changes too, set draws = "fresh" or again = 0.5 in [[protect]]'
)
WEARS_OUT = (
    "the second randomization of {variables} is new in each release: many releases together tell the kept report, and"
    " bounds are checked for it, too"
)
FROM_COUNTS = (
    "the matrix of {variables} follows from the counts: a later file has other counts, and its records keep their draws"
    " only if it is released with this matrix, of internal/receipt.json"
)
WITHIN_FRESH = (
    "{variables} is drawn within {within}, whose reports are new in each release: a kept report changes with them, and"
    " several releases tell more than one"
)


def about_limit(release: AnyRelease) -> Iterator[str]:
    """That matrices are made for a smaller limit, and why."""
    if release.tighter is not None and release.tighter < 1 and release.plan.match is not None:
        yield MADE_FOR_LESS.format(part=to_decimal(release.tighter))


def about_draws(release: AnyRelease) -> Iterator[str]:
    """What draws that are kept tell whoever compares two releases."""
    kept = [stage for stage in release.stages if release.keeps(stage)]
    if kept:
        yield KEPT
    if any(stage.steps is None for stage in kept):
        yield CHANGE_IS_TOLD
    again = [name for stage in kept if stage.steps is not None for name in stage.variables]
    if again:
        yield WEARS_OUT.format(variables=", ".join(again))
    made = [name for stage in kept if stage.derived for name in stage.variables]
    if made:
        yield FROM_COUNTS.format(variables=", ".join(dict.fromkeys(made)))
    new: set[str] = set()
    for stage in release.stages if kept else ():
        within = [name for name in stage.within if name in new]
        if within and stage in kept:
            yield WITHIN_FRESH.format(variables=" and ".join(stage.variables), within=" and ".join(within))
        if within or release.draws_of(stage) != "kept":
            new |= {*stage.moved}

"""Whose shares a table of a released file tells: of the population, with the weights of the receipt, or of the records.

A randomization keeps counts or sums of weights, not both. Weighted shares can be estimated where nothing was
randomized, where sums of weights were kept, and where matrices are turned around.
"""

from __future__ import annotations

from collections.abc import Sequence

from maskwell.errors import ParameterError
from maskwell.release.analysis.routes import SOLVED, Route, route_of
from maskwell.release.folder.receipt import Receipt
from maskwell.release.folder.receipt_contents import in_words

BY_WEIGHT = "every record counts with its weight ({}), as the receipt says"
RECORDS = "shares of the records, not of the population: this release keeps counts, not weighted counts, of {}"
SOLVABLE = "; ask for its weights ({}) to have weighted shares solved for with the matrices"
NO_WEIGHTS = "shares of the records, not of the population: the file has no column of weights ({})"


def weights_used(route: Route, receipt: Receipt, asked: str | None, names: Sequence[str]) -> str | None:
    """The column of weights: as asked, or that of the receipt where weighted shares can be estimated."""
    absent = receipt.weights not in names and not route.weighted  # a plan may leave weights out of the file
    used = asked if asked is not None or route.counts_only or absent else receipt.weights
    _check_weights(route, receipt, used)
    return used


def weights_remarks(route: Route, receipt: Receipt, asked: str | None, used: str | None) -> tuple[str, ...]:
    """What a reader must know about weights that the receipt names, in words; nothing where they were asked for."""
    if asked is not None or receipt.weights is None:
        return ()
    if used is not None:
        return (BY_WEIGHT.format(used),)
    if route.counts_only:
        said = RECORDS.format(in_words([name for group in route.groups for name in group.variables]))
        solvable = route_of(receipt, route.columns, weighted=True).kind == SOLVED
        return (f"{said}{SOLVABLE.format(receipt.weights) if solvable else ''}",)
    return (NO_WEIGHTS.format(receipt.weights),)


def _check_weights(route: Route, receipt: Receipt, weights: str | None) -> None:
    """Weighted tables need matrices that keep weighted counts, and the other way round."""
    if not route.groups or route.kind == SOLVED:
        return
    names = in_words([name for group in route.groups for name in group.variables])
    if route.weighted and weights != receipt.weights:
        raise ParameterError(
            f"sums of weights were kept for {names}, not numbers of records",
            hint=f"count every record with its weight, {receipt.weights}",
        )
    if not route.weighted and weights is not None:
        raise ParameterError(
            f"numbers of records were kept for {names}, not sums of weights",
            hint="count records, without weights: weighted tables are not unbiased here",
        )

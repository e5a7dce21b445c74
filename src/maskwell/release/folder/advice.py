"""How to analyse a released file, in words, from what its public receipt tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.release.analysis.kept_tables import kept_columns
from maskwell.release.folder.receipt import Group as Columns

Group = Mapping[str, Any]

APPROXIMATE = "Ratios, odds ratios and tests are approximate: a function of unbiased counts is not unbiased."
ERRORS = {
    "counts": "Where a matrix is withheld, the variance of a share or a sum of shares is at most 2 - 1/n times that of "
    "an original file of n records: multiply usual standard errors by 1.42 to be safe, or those of one variable alone "
    "by the square root of its inflation factor (vif).",
    "weights": "Where sums of weights were kept and a matrix is withheld, multiply usual standard errors of one "
    "variable by the square root of its inflation factor (vif), which may be above 2.",
}


def advice_of(groups: Sequence[Group], weights: str | None) -> list[str]:
    """Sentences for users of the file.

    >>> group = {"method": "pram", "variables": ["roof"], "within": ["region"], "linked": [], "matrix": "withheld",
    ...          "invariance": "counts"}
    >>> print(advice_of([group], None)[0])
    roof was randomized within region: counts of tables of region and roof are unbiased as they stand.
    """
    sentences = [_of_group(groups, place, weights) for place in range(len(groups))]
    if groups:
        sentences.append(
            "Tables that join randomized columns with any column that is not named beside them here, randomized or "
            "not, show weaker associations than the original file; estimate them only with matrices that are included."
        )
    return [*sentences, *_others(groups, weights), *_errors(groups), APPROXIMATE]


def _others(groups: Sequence[Group], weights: str | None) -> list[str]:
    if weights is None or not groups:
        return []
    return [f"Tables of columns that were not randomized are weighted as in any survey ({weights})."]


def _errors(groups: Sequence[Group]) -> list[str]:
    """What to do with usual standard errors where a matrix is withheld."""
    hidden = [
        group["invariance"]
        for group, kept in zip(groups, kept_of(groups), strict=True)
        if kept and group["matrix"] == "withheld" and group["method"] != "swap"
    ]
    return [sentence for invariance, sentence in ERRORS.items() if invariance in hidden]


def in_words(names: Sequence[str]) -> str:
    """Names as a sentence has them.

    >>> in_words(["sex"]), in_words(["sex", "age"]), in_words(["sex", "age", "roof"])
    ('sex', 'sex and age', 'sex, age and roof')
    """
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


def _of_group(groups: Sequence[Group], place: int, weights: str | None) -> str:
    group = groups[place]
    own, within = in_words([*group["variables"], *group["linked"]]), in_words(group["within"])
    start = f"{own} {'were' if len(group['variables']) + len(group['linked']) > 1 else 'was'} randomized"
    start += f"{' jointly' if len(group['variables']) > 1 else ''}{f' within {within}' if within else ''}"
    return f"{start}: {_what(group, kept_of(groups)[place], weights)}"


def kept_of(groups: Sequence[Group]) -> list[list[str]]:
    """For each group of a receipt the columns of the largest of its tables that all groups together keep."""
    made = [
        Columns(
            variables=tuple(group["variables"]),
            within=tuple(group["within"]),
            linked=tuple(group["linked"]),
            method=group["method"],
            invariance=group["invariance"],
        )
        for group in groups
    ]
    return [kept_columns(made, group) for group in made]


def _what(group: Group, kept: Sequence[str], weights: str | None) -> str:
    of = f"tables of {in_words(kept)}"
    if kept and group["method"] == "swap":
        return (
            f"values were swapped between records; counts of {of} are exactly those of the original file, "
            "sums of weights are not kept."
        )
    if kept and group["invariance"] == "counts":
        return f"counts of {of} are unbiased as they stand.{_not_weights(group, weights)}"
    if kept:
        return (
            f"{of} are unbiased as they stand if every record counts with its weight ({weights}); numbers of records "
            "are not kept."
        )
    biased = f"counts of tables of {in_words(group['variables'])} are biased as they stand"
    if group["matrix"] == "included":
        more = "" if weights is None else f", with the weights ({weights}) for shares of the population"
        return f"{biased}; estimate them with the matrix in the receipt{more}."
    return f"{biased}, and the matrix is not published; ask the data holder for tables."


def _not_weights(group: Group, weights: str | None) -> str:
    """What follows for weighted tables where counts are kept, in a file that has weights."""
    if weights is None:
        return ""
    only = " Counts were kept, not weighted counts: shares are those of the records, not of the population, and tables "
    instead = "estimated with the matrix in the receipt" if group["matrix"] == "included" else "biased"
    return f"{only}weighted with {weights} are {instead}."

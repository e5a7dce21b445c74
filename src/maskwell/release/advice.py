"""How to analyse a released file, in words, from what its public receipt tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Group = Mapping[str, Any]

KEPT = ("counts", "weights")


def advice_of(groups: Sequence[Group], weights: str | None) -> list[str]:
    """Sentences for users of the file.

    >>> group = {"method": "pram", "variables": ["roof"], "within": ["region"], "linked": [], "matrix": "withheld",
    ...          "invariance": "counts"}
    >>> print(advice_of([group], None)[0])
    roof was randomized within region: counts of tables of region and roof are unbiased as they stand.
    """
    sentences = [sentence for group in groups for sentence in _of_group(group, weights)]
    if len(groups) > 1:
        sentences.append(
            "Tables that join columns of several of these groups show weaker associations than the original file; "
            "estimate them only with matrices that are included here."
        )
    if any(group["matrix"] == "withheld" and group["invariance"] in KEPT for group in groups):
        sentences.append(
            "Where a matrix is withheld, the variance of a share or a sum of shares is at most 2 - 1/n times that of "
            "an original file of n records: multiply usual standard errors by 1.42 to be safe, or by the square root "
            "of the inflation factor (vif) of the variable."
        )
    sentences.append("Ratios, odds ratios and tests are approximate: a function of unbiased counts is not unbiased.")
    return sentences


def in_words(names: Sequence[str]) -> str:
    """Names as a sentence has them.

    >>> in_words(["sex"]), in_words(["sex", "age"]), in_words(["sex", "age", "roof"])
    ('sex', 'sex and age', 'sex, age and roof')
    """
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


def _of_group(group: Group, weights: str | None) -> list[str]:
    own, within = in_words([*group["variables"], *group["linked"]]), in_words(group["within"])
    start = f"{own} {'were' if len(group['variables']) + len(group['linked']) > 1 else 'was'} randomized"
    start += f"{' jointly' if len(group['variables']) > 1 else ''}{f' within {within}' if within else ''}"
    return [f"{start}: {_what(group, weights)}"]


def _what(group: Group, weights: str | None) -> str:
    columns = [*group["within"], *group["variables"], *group["linked"]]
    of = f"tables of {in_words(columns)}"
    if group["method"] == "swap":
        return f"values were swapped between records; counts of {of} are exactly those of the original file."
    if group["invariance"] == "counts":
        return f"counts of {of} are unbiased as they stand."
    if group["invariance"] == "weights":
        return f"{of} are unbiased as they stand if every record counts with its weight ({weights})."
    if group["matrix"] == "included":
        return f"counts of {of} are biased as they stand; estimate them with the matrix in the receipt."
    return f"counts of {of} are biased as they stand, and the matrix is not published; ask the data holder for tables."

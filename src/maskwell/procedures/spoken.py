"""Truths and reports as they are printed and said: every one a text of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from maskwell.core.categories import Categories
from maskwell.core.phrases import listed
from maskwell.core.report_data import Reports
from maskwell.designs.base import Design
from maskwell.errors import LabelError

NONE = ("none", "none of them", "none of all these")
"""What is said for an empty set: the first that is no category."""


def truth_labels(design: Design) -> list[str]:
    """The true categories in words; those of several questions with commas.

    >>> from maskwell.procedures.warner import warner
    >>> truth_labels(warner("0.7"))
    ['yes', 'no']
    """
    return _texts(design.inputs.labels)


def report_labels(design: Design) -> list[str]:
    """What is said for each report, in row order: a label, or the categories of a set with commas.

    >>> from maskwell.designs.subset import Subset
    >>> report_labels(Subset.from_gamma(3, Categories.of(["a", "b", "c"]), size=2))
    ['a, b', 'a, c', 'b, c']
    >>> report_labels(Subset.from_gamma(3, Categories.of(["a", "b", "c, d"]), size=2))[1]
    '“a”, “c, d”'
    """
    if isinstance(design.outputs, Categories):
        return _texts(design.outputs.labels)
    names = truth_labels(design)
    chosen = [tuple(n for n, bit in zip(names, t, strict=True) if bit == "1") for t in written_reports(design)]
    empty = next((word for word in NONE if word not in names), NONE[0])
    return [text or empty for text in _texts(chosen)]


def written_reports(design: Design) -> list[str]:
    """What is written down for each report, in row order: its label, or for sets k characters 0 and 1."""
    if isinstance(design.outputs, Categories):
        return _texts(design.outputs.labels)
    return list(Reports(design.fingerprint, design.k, "bits", design.report_space()).texts())


def _texts(labels: Sequence[Hashable]) -> list[str]:
    """Labels as texts; parts of tuples get quotes where a comma could be mistaken for the end of one."""
    parts = [part for label in labels if isinstance(label, tuple) for part in label]
    around = "“{}”" if any("," in str(part) for part in parts) else "{}"
    return [
        ", ".join(around.format(part) for part in label) if isinstance(label, tuple) else str(label) for label in labels
    ]


def check_words(design: Design) -> None:
    """Refuse labels that nobody could tell apart on paper, or see at all."""
    for what, texts in (("categories", truth_labels(design)), ("reports", report_labels(design))):
        seen = Counter(" ".join(text.split()) for text in texts)
        alike = [text for text, count in seen.items() if count > 1 or not text]
        if alike:
            raise LabelError(
                f"{what} that cannot be told apart on paper: {listed(map(repr, alike), len(alike), 40)}",
                hint="give each a text of its own",
                labels=alike,
            )

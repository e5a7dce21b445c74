"""Designs that keep their labels: those of truths and of reports, or one list that reports bear, too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from maskwell.core.arguments import check_kind
from maskwell.core.categories import Categories
from maskwell.designs.design import Design
from maskwell.errors import LabelError


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OwnLabels(Design):
    """A design that keeps the labels of its truths and of its reports."""

    truths: Categories
    reports: Categories

    @property
    def inputs(self) -> Categories:
        """The categories of the true value."""
        return self.truths

    @property
    def outputs(self) -> Categories:
        """The possible reports."""
        return self.reports

    def with_labels(self, inputs: Categories, outputs: Categories | None = None) -> Self:
        """The same probabilities under other labels; reports take the input labels unless they differ in number."""
        if outputs is None:
            outputs = inputs if self.m == self.k else self.reports
        check_label_counts(self.k, self.m, inputs, outputs)
        return replace(self, truths=inputs, reports=outputs)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OwnCategories(Design):
    """A design whose reports bear the labels of the truths, or are sets of them."""

    categories: Categories

    @property
    def inputs(self) -> Categories:
        """The categories of the true value."""
        return self.categories

    def with_labels(self, inputs: Categories, outputs: Categories | None = None) -> Self:
        """The same probabilities under other labels, which are as many as the old ones."""
        check_kind(Categories, inputs=inputs)
        check_kind(Categories | None, outputs=outputs)
        if len(inputs) != self.k:
            raise LabelError("labels-for-categories", inputs_count=len(inputs), k=self.k)
        if outputs is not None and outputs.labels != inputs.labels:
            raise LabelError("the-reports-of-this-design-bear", kind=self.kind)
        return replace(self, categories=inputs)


def check_label_counts(k: int, m: int, inputs: Categories, outputs: Categories) -> None:
    """Raise unless there is a label for each truth and each report."""
    check_kind(Categories, inputs=inputs, outputs=outputs)
    if (len(inputs), len(outputs)) != (k, m):
        raise LabelError("truth-and-report-labels", inputs_count=len(inputs), outputs_count=len(outputs), m=m, k=k)

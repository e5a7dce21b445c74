"""What the reports of a survey say so far: shares with their errors, tables of two questions, how many more are needed.

Everything comes from the counts that are kept as reports arrive, by the same verbs that read a file: a live estimate of
ten million reports costs what one of ten costs.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.collection.store import Store, StoredSurvey
from maskwell.collection.survey import Question
from maskwell.core.arguments import Real
from maskwell.core.categories import Categories
from maskwell.core.report_data import Counts
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.errors import InputError, UnknownCategoryError
from maskwell.verbs.estimate import EstimateResult, estimate

LEVEL = 0.95
MARGIN = 0.05
"""Half width of an interval that most surveys are content with; what "still needed" refers to."""


@dataclass(frozen=True)
class QuestionResult:
    """The shares of one question.

    Attributes
    ----------
    question, n
        What was asked, and how many reports there are.
    shares
        The estimate; None before the first reports.
    """

    question: Question
    n: int
    shares: EstimateResult | None

    def to_dict(self) -> dict[str, Any]:
        """In JSON: as ``maskwell estimate --json`` has it, with what the page adds."""
        content: dict[str, Any] = {"name": self.question.name, "open": self.question.design is None, "n": self.n}
        if self.shares is None:
            return {**content, "estimates": [], "flags": []}
        told = self.shares.to_dict()
        half_widths = np.diff(self.shares.confidence_interval(), axis=1) / 2
        margin = float(np.max(half_widths)) if np.isfinite(half_widths).all() else None
        return {
            **content,
            **{key: told[key] for key in ("estimates", "method", "level", "flags")},
            "margin": margin,
            "due_to_randomization": _randomization_share(self.shares.standard_error, told["randomization_variance"]),
            "needed": None if margin is None else max(0, math.ceil(self.n * (margin / MARGIN) ** 2) - self.n),
            "needed_margin": MARGIN,
        }


def _randomization_share(standard_error: Real, randomization: Any) -> float | None:
    """The part of the variance of all shares together that is due to the draws; None where it is not defined."""
    whole = float(np.sum(standard_error**2))
    if not np.isfinite(whole) or whole == 0:
        return None
    return float(np.clip(np.sum(np.asarray(randomization, dtype=float)) / whole, 0, 1))


def question_result(store: Store, stored: StoredSurvey, name: str) -> QuestionResult:
    """The shares of one question so far."""
    question, at = _question(stored, name)
    design = design_of(question)
    if at in stored.parts.bits:
        counted = store.tally(stored, f"{at}:bits")
        n = counted.get("n", 0)
        counts = Counts(np.array([counted.get(str(j), 0) for j in range(design.k)]), n, design.fingerprint)
        return QuestionResult(question, n, _estimate(counts, design) if n > 1 else None)
    cells = _cells(store, stored, (at,))
    n = sum(cells.values())
    if n < 2:
        return QuestionResult(question, n, None)
    reports = {_label(question, report): count for (report,), count in cells.items()}
    table = {name: list(reports), "count": list(reports.values())}
    return QuestionResult(question, n, _estimate(table, {name: design}, counts="count"))


def table_result(store: Store, stored: StoredSurvey, first: str, second: str) -> EstimateResult | None:
    """The joint shares of two questions among those who were asked both; None before the first reports."""
    (one, i), (two, j) = _question(stored, first), _question(stored, second)
    if i == j:
        raise InputError("a table needs two different questions", hint="choose another second question")
    cells = _cells(store, stored, (i, j))
    if sum(cells.values()) < 2:
        return None
    table = {
        first: [_label(one, a) for a, _ in cells],
        second: [_label(two, b) for _, b in cells],
        "count": list(cells.values()),
    }
    return _estimate(table, {first: design_of(one), second: design_of(two)}, counts="count")


def design_of(question: Question) -> Design:
    """The design of a question; an open answer is reported as it is."""
    if question.design is not None:
        return question.design
    k = len(question.labels)
    return Dense.of(np.eye(k, dtype=int).tolist(), Categories.of(question.labels))


def _estimate(data: Any, designs: Any, **words: Any) -> EstimateResult:
    result = estimate(data, designs, **words)
    assert isinstance(result, EstimateResult)
    return result


def _question(stored: StoredSurvey, name: str) -> tuple[Question, int]:
    for at, question in enumerate(stored.survey.questions):
        if question.name == name:
            return question, at
    raise UnknownCategoryError("there is no question of this name", hint="see the questions of the survey", name=name)


def _cells(store: Store, stored: StoredSurvey, wanted: tuple[int, ...]) -> Counter[tuple[str, ...]]:
    """How often each combination of reports of these questions came; those who were not asked are left out."""
    group = stored.parts.holding(wanted)
    if group is None:
        raise InputError(
            "these questions are not counted together as reports come",
            hint="export the reports, and estimate the table from the file",
        )
    places = [group.index(i) for i in wanted]
    cells: Counter[tuple[str, ...]] = Counter()
    for cell, count in store.tally(stored, "+".join(map(str, group))).items():
        fields = cell.split(",")
        chosen = tuple(fields[place] for place in places)
        if all(chosen):
            cells[chosen] += count
    return cells


def _label(question: Question, report: str) -> Any:
    """A report as it stands in an export: its label, or a text of 0 and 1."""
    if question.design is None:
        return question.labels[int(report)]
    return report if question.reports is None else question.design.outputs.labels[int(report)]  # type: ignore[union-attr]


def report_label(question: Question, report: str) -> Any:
    """As :func:`_label`; nothing where the question was not asked."""
    return None if report == "" else _label(question, report)

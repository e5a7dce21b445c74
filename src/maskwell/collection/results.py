"""What the reports of a survey say so far, from the counts that are kept, and in figures and words for the page."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.collection.drafts import direct_variance, unit_variance
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.survey import Question
from maskwell.core.categories import Categories
from maskwell.core.phrases import Printed, in_spreadsheet
from maskwell.core.report_data import Counts
from maskwell.core.verdicts import below, ceil_of, is_outside
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.errors import InputError, UnknownCategoryError
from maskwell.estimation.outside_estimates import DOUBTFUL, Flag
from maskwell.notes import Note
from maskwell.planning.sample_size import margin_of, needed_n
from maskwell.verbs.described_survey import Survey as DescribedSurvey
from maskwell.verbs.share_results import Shares

LEVEL = 0.95
MARGIN = 0.05  # half width of an interval that most surveys are content with; what "still needed" refers to


@dataclass(frozen=True)
class QuestionResult:
    """The shares of one question."""

    question: Question  # question, n: what was asked, and how many reports there are
    n: int
    shares: Shares | None  # the estimate; None before the first reports

    def to_dict(self) -> dict[str, Any]:
        """In JSON: as ``maskwell estimate --json`` has it, with what the page adds."""
        content: dict[str, Any] = {"name": self.question.name, "open": self.question.design is None, "n": self.n}
        if self.shares is None:
            return {**content, "estimates": [], "flags": []}
        told = self.shares.to_dict()
        half_widths = np.diff(self.shares.confidence_interval(), axis=1) / 2
        margin = float(np.max(half_widths)) if np.isfinite(half_widths).all() else None
        whole, drawn = float(np.sum(self.shares.standard_error**2)), None
        if np.isfinite(whole) and whole:  # of the variance of all shares together
            drawn = float(np.clip(np.sum(np.asarray(told["randomization_variance"], dtype=float)) / whole, 0, 1))
        return {
            **content,
            **{key: told[key] for key in ("estimates", "method", "level", "flags")},
            "margin": margin,
            "due_to_randomization": drawn,
            "needed": None if margin is None else max(0, ceil_of(self.n * (margin / MARGIN) ** 2) - self.n),
            "needed_margin": MARGIN,
        }


def question_result(store: Store, stored: StoredSurvey, name: str) -> QuestionResult:
    """The shares of one question so far."""
    question, at = _question(stored, name)
    design = design_of(question)
    if at in stored.parts.bits:
        counted = store.tally(stored, f"{at}:bits")
        n = counted.get("n", 0)
        counts = Counts(np.array([counted.get(str(j), 0) for j in range(design.k)]), n, design.fingerprint)
        return QuestionResult(question, n, DescribedSurvey.from_counts(counts, design).shares() if n > 1 else None)
    cells = _cells(store, stored, (at,))
    n = sum(cells.values())
    if n < 2:
        return QuestionResult(question, n, None)
    reports = {report_label(question, report): count for (report,), count in cells.items()}
    table = {name: list(reports), "count": list(reports.values())}
    return QuestionResult(question, n, DescribedSurvey(table, {name: design}, frequencies="count").shares())


def table_result(store: Store, stored: StoredSurvey, first: str, second: str) -> Shares | None:
    """The joint shares of two questions among those who were asked both; None before the first reports."""
    (one, i), (two, j) = _question(stored, first), _question(stored, second)
    if i == j:
        raise InputError("a-table-needs-two-different-questions")
    cells = _cells(store, stored, (i, j))
    if sum(cells.values()) < 2:
        return None
    table = {
        first: [report_label(one, a) for a, _ in cells],
        second: [report_label(two, b) for _, b in cells],
        "count": list(cells.values()),
    }
    return DescribedSurvey(table, {first: design_of(one), second: design_of(two)}, frequencies="count").shares()


def design_of(question: Question) -> Design:
    """The design of a question; an open answer is reported as it is."""
    if question.design is not None:
        return question.design
    k = len(question.labels)
    return Dense.of(np.eye(k, dtype=int).tolist(), Categories.of(question.labels))


def _question(stored: StoredSurvey, name: str) -> tuple[Question, int]:
    for at, question in enumerate(stored.survey.questions):
        if question.name == name:
            return question, at
    raise UnknownCategoryError("there-is-no-question-of-this", name=name)


def _cells(store: Store, stored: StoredSurvey, wanted: tuple[int, ...]) -> Counter[tuple[str, ...]]:
    """How often each combination of reports of these questions came; those who were not asked are left out."""
    group = stored.parts.holding(wanted)
    if group is None:
        raise InputError("these-questions-are-not-counted-together")
    places = [group.index(i) for i in wanted]
    cells: Counter[tuple[str, ...]] = Counter()
    for cell, count in store.tally(stored, "+".join(map(str, group))).items():
        fields = cell.split(",")
        chosen = tuple(fields[place] for place in places)
        if all(chosen):
            cells[chosen] += count
    return cells


def report_label(question: Question, report: str) -> Any:
    """A report as written in an export: its label, or a string of 0 and 1; empty where the question was not asked."""
    if report == "":
        return None
    if question.design is None:
        return question.labels[int(report)]
    return report if question.reports is None else question.design.outputs.labels[int(report)]  # type: ignore[union-attr]


TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
NO_WIDTH = 1e-6  # an interval narrower than this is none
STEPS = 40
COLUMNS = ("question", "asked", "answer", "share", "standard_error", "low", "high", "level", "reports", "margin")


def read_margin(given: Any) -> float:
    """The requested margin, in per cent; the default where it is not a number between 0 and 50."""
    try:
        margin = float(str(given).replace(",", ".")) / 100
    except ValueError:
        return MARGIN
    return margin if 0.0001 <= margin <= 0.5 else MARGIN


def card_of(result: QuestionResult, language: str, margin: float = MARGIN) -> dict[str, Any]:
    """All that the page shows of one question."""
    question, content = result.question, result.to_dict()
    rows = [_row(question, one, language) for one in content["estimates"]]
    has_intervals = all(row["low"] is not None for row in rows)
    reached = content.get("margin") if has_intervals else None
    # from 0 to 1, and farther where an interval goes farther
    ends = [row[key] for row in rows for key in ("estimate", "low", "high") if row[key] is not None]
    axis = {"low": min([0.0, *ends]), "high": max([1.0, *ends])}
    variance, direct = unit_variance(question), direct_variance()
    card: dict[str, Any] = {
        "name": question.name,
        "ask": question.ask[language],
        "open": content["open"],
        "n": result.n,
        "rows": rows,
        "axis": {**axis, "ticks": [{"share": tick, "at": place(axis, tick)} for tick in TICKS]},
        "outside": any(is_outside(row["estimate"]) for row in rows),
        "randomization": None if content["open"] else content.get("due_to_randomization"),
        "fit": fit_of(question, content["flags"], result.n),
        "notes": notes_of(content["flags"], has_intervals=has_intervals),
        "margin": reached,
        "target": margin,
        "worst": margin_of(variance, result.n) if result.n else None,
        "worst_needed": needed_n(variance, margin),
        "directly": margin_of(direct, result.n) if result.n else None,
    }
    if reached is not None:
        card["needed"] = max(0, ceil_of(result.n * (reached / margin) ** 2) - result.n)
        card["shrinking"] = shrinking(reached, result.n, margin)
    return card


def _row(question: Question, estimate: Mapping[str, Any], language: str) -> dict[str, Any]:
    label = str(estimate["category"])
    words = question.answers.get(label, {}).get(language, label)
    low, high = (None if end is None or not math.isfinite(end) else float(end) for end in estimate["interval"])
    error = estimate["standard_error"]
    is_defined = low is not None and high is not None and high - low > NO_WIDTH
    return {
        "label": words,
        "estimate": float(estimate["estimate"]),
        "error": error if is_defined and error is not None and math.isfinite(error) else None,
        "low": low if is_defined else None,
        "high": high if is_defined else None,
    }


def place(axis: Mapping[str, Any], share: float) -> float:
    """Where a share stands on an axis, in per cent of its width; a little room is left at both ends."""
    low, high = float(axis["low"]), float(axis["high"])
    return round(2 + 96 * (share - low) / (high - low), 2)


def fit_of(question: Question, flags: Sequence[str], n: int) -> dict[str, str]:
    """Whether the reports look as the design makes them look, in words."""
    if question.design is None or n < 2:
        return {"state": "", "words": ""}
    if any(_kind(flag) == "misfit" for flag in flags):
        return {"state": "misfit", "words": Note("reports-do-not-fit")}
    tested = [flag.chance for flag in flags if isinstance(flag, Flag) and flag.chance is not None]
    if tested and below(min(tested), DOUBTFUL):
        return {"state": "doubt", "words": Note("fit-is-doubtful", p=f"{Printed(min(tested)):.2g}")}
    if tested:
        return {"state": "fits", "words": Note("chance-explains-the-fit", p=f"{Printed(min(tested)):.2g}")}
    return {"state": "fits", "words": Note("nothing-speaks-against-the-design")}


def notes_of(flags: Sequence[str], *, has_intervals: bool) -> list[str]:
    """The other remarks of the estimate, in the words of the page; it speaks of fit and intervals elsewhere."""
    told = {None, "small-sampling"}
    others = [Note("sampling-part-is-too-small") if _kind(flag) else str(flag) for flag in flags if _kind(flag) in told]
    return others if has_intervals else [Note("no-interval-yet"), *others]


def _kind(flag: str) -> str | None:
    return flag.kind if isinstance(flag, Flag) else None


def shrinking(reached: float, n: int, margin: float) -> dict[str, Any]:
    """How the margin falls with the number of respondents: a curve through where it is now, to twice what is needed."""
    needed = max(2.0, n * (reached / margin) ** 2)
    most = 1.25 * max(needed, n)
    first = most / 60
    top = 1.05 * reached * math.sqrt(n / first) if n > first else 1.05 * reached
    top = min(top, max(3 * reached, 2 * margin))

    def x(count: float) -> float:
        return round(100 * count / most, 2)

    def y(half: float) -> float:
        return round(100 - 100 * min(half, top) / top, 2)

    counts = [first * (most / first) ** (i / STEPS) for i in range(STEPS + 1)]
    curve = [(count, reached * math.sqrt(n / count)) for count in counts]
    points = [(x(count), y(half)) for count, half in curve if half <= top]
    return {
        "path": "M" + " L".join(f"{a} {b}" for a, b in points),
        "now": (x(n), y(reached)),
        "target": (x(needed), y(margin)),
        "needed": ceil_of(needed),
        "most": int(most),
    }


def table_of(table: Mapping[str, Any] | None, first: Question, second: Question, language: str) -> dict[str, Any]:
    """A table of two questions, with the texts of the answers; no rows before the first reports."""
    if table is None:
        return {"columns": [], "rows": [], "outside": False}
    cells = {tuple(map(str, one["category"])): one for one in table["estimates"]}
    rows = []
    for a in first.labels:
        row = [_cell(cells.get((a, b))) for b in second.labels]
        rows.append({"label": first.answers[a].get(language, a), "cells": row})
    return {
        "columns": [second.answers[b].get(language, b) for b in second.labels],
        "rows": rows,
        "outside": any(is_outside(one["estimate"]) for one in cells.values()),
    }


def _cell(one: Mapping[str, Any] | None) -> dict[str, float | None]:
    if one is None:
        return {"share": None, "margin": None}
    low, high = one["interval"]
    is_defined = low is not None and high is not None and math.isfinite(high - low)
    return {"share": float(one["estimate"]), "margin": (high - low) / 2 if is_defined else None}


def results_csv(results: Sequence[QuestionResult], language: str) -> str:
    """All shares as one table, a row for each answer; it is for people, and a spreadsheet works nothing in it out."""
    packed = io.StringIO(newline="")
    writer = csv.writer(packed)
    writer.writerow(COLUMNS)
    for result in results:
        card = card_of(result, language)
        for row in card["rows"]:
            words = [in_spreadsheet(card[key]) for key in ("name", "ask")] + [in_spreadsheet(row["label"])]
            figures = [row["estimate"], row["error"], row["low"], row["high"]]
            writer.writerow([*words, *figures, LEVEL, result.n, card["margin"]])
    return packed.getvalue()

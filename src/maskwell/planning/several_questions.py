"""Several questions under one demand: each with a device of its own, or one question about all of them together.

Formulas: docs/theory/costs.md. Source: derived; for the product of parities [ChaiNayak2018, Def. 1.3].
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_mapping, check_level
from maskwell.core.categories import Categories
from maskwell.core.display import Result, entries
from maskwell.core.exact import Number, resolution, root_below, to_float
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.estimation.binomial_counts import Part
from maskwell.notes import Note
from maskwell.planning.candidates import k_ary
from maskwell.planning.design_choice import choose
from maskwell.planning.sample_size import check_margin, check_n, margin_of, needed_n
from maskwell.planning.set_sizes import gamma_of
from maskwell.privacy.criteria import Demand

COMBINATIONS = 2000  # with more combinations of answers than this, one question about all of them is not looked at


@dataclass(frozen=True, eq=False, repr=False)
class QuestionsPlan(Result):
    """Two ways to ask several questions under one demand, and which is better."""

    LINES = "questions"

    names: tuple[str, ...]  # names, demand: the questions, and what is asked for of all their reports together
    demand: Demand
    separate: tuple[Design, ...]  # A design for each question; their parities multiply to no more than is allowed
    together: Design | None  # one design about all combinations of answers; None where these are too many
    # separate_variance, together_variance: for each question n times the variance of its hardest share, at equal shares
    separate_variance: tuple[float, ...]
    together_variance: tuple[float, ...]
    # n, margin, level: respondents and half width of the widest interval of the better way, where one of them was given
    n: int | None
    margin: float | None
    level: float

    @property
    def better(self) -> str:
        """``together`` or ``separate``: where the question that is hardest to estimate needs fewer respondents."""
        joint = self.together is not None and max(self.together_variance) < max(self.separate_variance)
        return "together" if joint else "separate"

    @property
    def designs(self) -> tuple[Design, ...]:
        """Of the better way."""
        return self.separate if self.better == "separate" or self.together is None else (self.together,)

    @property
    def advice(self) -> str:
        """What to do, in words."""
        if self.together is None:
            return Note("separate-questions-too-many", most=COMBINATIONS)
        ratio = max(self.separate_variance) / max(self.together_variance)
        if self.better == "together":
            return Note("together-questions", combinations=self.together.k, ratio=Printed(ratio))
        return Note("separate-questions", combinations=self.together.k, ratio=Printed(1 / ratio))

    def margins(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """Half widths for each question, separately and together, at this n; None without one."""
        if self.n is None:
            return None
        first, second = (
            tuple(margin_of(v, self.n, self.level) for v in ways)
            for ways in (self.separate_variance, self.together_variance)
        )
        return first, second

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        joint = self.together_variance or (None,) * len(self.names)
        rows = zip(self.names, self.separate, self.separate_variance, joint, strict=True)
        return {
            **entries(self, "n margin level"),
            "demand": self.demand.to_dict(),
            "questions": [
                {"name": name, "k": one.k, "parity": one.parity(), "unit_variance": v, "together_unit_variance": w}
                for name, one, v, w in rows
            ],
            "combinations": None if self.together is None else self.together.k,
            **entries(self, "better advice"),
            "design": [one.to_dict() for one in self.designs],
        }

    def __repr__(self) -> str:
        return f"QuestionsPlan({', '.join(self.names)}: {self.advice})"


def plan_questions(
    questions: Mapping[str, Sequence[Hashable] | Categories],
    demand: Demand | Number,
    *,
    n: Number | None = None,
    margin: Number | None = None,
    level: Number = 0.95,
) -> QuestionsPlan:
    """Ask several questions of each person under one demand: each on its own, or one about all combinations.

    Parameters
    ----------
    questions
        The categories of each question, by its name.
    demand
        What is asked for of all reports of a person together; a number is a bound gamma on parity.
    n, margin
        The number of respondents, or the half width that the widest interval may have; at most one of them.
    level
        Of the intervals.

    >>> plan = plan_questions({"cheats": ["yes", "no"], "evades": ["yes", "no"]}, 9)
    >>> plan.better, [float(one.parity_exact()) for one in plan.separate], plan.together.k
    ('together', [3.0, 3.0], 4)
    >>> plan.separate_variance, [round(v, 4) for v in plan.together_variance]   # half as many respondents, nearly
    ((1.0, 1.0), [0.5625, 0.5625])
    """
    labels = {
        name: one if isinstance(one, Categories) else Categories.of(one)
        for name, one in as_mapping(questions, "questions").items()
    }
    if len(labels) < 2:
        raise ParameterError("one-question-or-none-to-ask")
    if n is not None and margin is not None:
        raise ParameterError("n-and-margin-are-both-given")
    asked = demand if isinstance(demand, Demand) else Demand.from_gamma(demand)
    separate = _separate(tuple(labels.values()), gamma_of(asked))
    together = _together(labels, asked)
    alone = tuple(float(one.share_variance(one.uniform_prior()).max()) for one in separate)
    joint = () if together is None else _of_sums(together, tuple(labels.values()))
    hardest = min(max(ways) for ways in (alone, joint) if ways)
    sure, size = check_level(level), None if n is None else check_n(n)
    half = None if margin is None else check_margin(margin)
    size = needed_n(hardest, half, sure) if half is not None else size
    half = margin_of(hardest, size, sure) if half is None and size is not None else half
    return QuestionsPlan(tuple(labels), asked, separate, together, alone, joint, size, half, sure)


def _separate(questions: Sequence[Categories], gamma: Fraction) -> tuple[Design, ...]:
    """K-ary randomized response with the root of gamma, rounded down, so that the product is no more than gamma."""
    root = root_below(gamma, len(questions), resolution(gamma, max(map(len, questions))))
    if root <= 1:
        raise ParameterError(
            "gamma-for-questions-leaves-nothing", gamma=Printed(to_float(gamma)), questions_count=len(questions)
        )
    return tuple(k_ary(one, Demand.from_gamma(root)).design for one in questions)


def _together(labels: Mapping[str, Categories], demand: Demand) -> Design | None:
    """For all combinations, k-ary randomized response or a better design; None where these are too many."""
    count = prod(map(len, labels.values()))
    if count > COMBINATIONS:
        return None
    combinations = Categories.of(list(product(*(one.labels for one in labels.values()))))
    designs = [k_ary(combinations, demand).design, choose(count, demand, categories=combinations).design]
    best = min(designs, key=lambda one: max(_of_sums(one, tuple(labels.values()))))
    return best.with_provenance(variables=list(labels))


def _of_sums(design: Design, questions: Sequence[Categories]) -> tuple[float, ...]:
    """For each question n times the largest variance of an answer, a sum of combinations, at equal shares."""
    part, near = Part(design, 1.0), design.uniform_prior()
    return tuple(
        float(part.variance_of_sums(C, np.broadcast_to(near, C.shape)).max())
        for C in (_sums(questions, place) for place in range(len(questions)))
    )


def _sums(questions: Sequence[Categories], place: int) -> Real:
    """A row of 0 and 1 for each answer to one question, over all combinations."""
    answers = np.array(list(product(*(range(len(one)) for one in questions))))[:, place]
    return np.asarray(answers == np.arange(len(questions[place]))[:, None], dtype=np.float64)

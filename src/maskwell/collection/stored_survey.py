"""A survey as the database keeps it: its state, the leaves of its reports, and a submission on its way there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Literal, TypeAlias

from maskwell.collection.leaves import SPAN, Leaves, records_of
from maskwell.collection.report_cells import Parts
from maskwell.collection.survey import Survey
from maskwell.errors import InputError

State: TypeAlias = Literal["draft", "open", "closed"]
Verdict: TypeAlias = Literal["accepted", "closed", "invitation", "conflict"]


class NoSurveyError(InputError):
    """No survey has this code."""

    code = "no-survey"


class StateError(InputError):
    """The survey is not in a state in which this can be done."""

    code = "survey-state"


@dataclass(frozen=True)
class StoredSurvey:
    """A survey with its public code and its state."""

    id: int
    code: str
    state: State
    survey: Survey
    source: str
    made: date

    @cached_property
    def parts(self) -> Parts:
        """What is counted as reports come."""
        return Parts.of(self.survey)

    @property
    def places(self) -> range:
        """The places of all leaves of the survey."""
        return range(self.id * SPAN, (self.id + 1) * SPAN)

    @property
    def is_told(self) -> bool:
        """Whether results may be shown now."""
        return self.survey.results != "after closing" or self.state != "open"

    def check_told(self) -> None:
        """Raise where results must not be shown yet."""
        if not self.is_told:
            raise StateError("this-survey-shows-its-results-after", code=self.code)


@dataclass(frozen=True)
class Holding:
    """What is held of a survey: where reports stand, how many there are, and which of them wait to be counted."""

    leaves: Leaves
    size: int
    waiting: Mapping[bytes, str]

    @classmethod
    def of(cls, row: Any) -> Holding:
        """From its row of the database."""
        return cls(Leaves(row.survey * SPAN, bytes(row.salt), row.room), row.size, records_of([row.waiting]))

    @property
    def count(self) -> int:
        """How many leaves there are."""
        return self.leaves.count(self.size)


@dataclass(frozen=True)
class Submission:
    """The reports of one person, checked: the id that the page made, the content, and the invitation's hash."""

    survey: int
    id: bytes
    content: str
    invitation: bytes | None = None


def token_hash(token: str) -> bytes:
    """What is kept of an invitation or a session: tokens are random, so that a plain hash hides them."""
    return hashlib.sha256(token.encode()).digest()

"""Every error maskwell raises on purpose, in one tree; each class says below what it is for.

::

    MaskwellError
    ├── InputError (also ValueError)
    │   ├── MatrixError, and below it OrientationError
    │   ├── LabelError, and below it UnknownCategoryError
    │   ├── PlanError, and below it InfeasibleError
    │   └── ParameterError, MissingValueError, ReportError, DesignFileError, CertificateError, DataFileError,
    │       TooLargeError, NotIdentifiableError, CountsError, EditRuleError, NotInvariantError, PublishError
    ├── WrongTypeError (also TypeError)
    └── MissingExtraError (also ImportError)

Each says what was given and what is allowed (``message``) and what to do next (``hint``), names itself with a stable
``code`` for programs, and carries the offending objects in ``objects``.

**Values of a data file are never part of a message or a hint**: they are confidential, and messages end up in logs.
A message names the column and the row; the values are in ``values`` (a text) and ``objects``, for those who ask.
Labels that were typed, in a design, a plan or a command, may be named.
"""

from __future__ import annotations

from typing import Any

from maskwell.notes import TYPED, Note, sentence


class MaskwellError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    message
        The code of a sentence of the catalogue (:mod:`maskwell.notes`), which says what was given and what is allowed;
        or that sentence itself.
    hint
        What to do next; by default what the catalogue says.
    values
        Values of the data that are in the way, as a text. They are not printed with the error; commands show them
        with ``--show-values``.
    **objects
        What the sentence names and the offending objects, kept for programs.

    >>> MaskwellError("k = 1 category", hint="give at least two", k=1).objects
    {'k': 1}
    >>> error = MaskwellError("column 'income': the value in data row 3 is not a number", values="'a lot'")
    >>> print(error)
    column 'income': the value in data row 3 is not a number
    >>> error.values
    "'a lot'"
    >>> print(MaskwellError("example-share-is-small", share=0.0123))
    a share of 1.2% is small
    hint: ask more people: n=1000
    """

    code = "error"

    def __init_subclass__(cls, *, code: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.code = code or cls.code

    def __init__(self, message: str, *, hint: Any = None, values: object = "", **objects: object) -> None:
        super().__init__(message)
        self.values = str(values)
        self.objects = objects
        self._message, self._hint, self._typed = message, hint, TYPED.get()

    @property
    def message(self) -> str:
        """What was given and what is allowed, in one sentence."""
        return sentence(self._message, self.objects, typed=self._typed)

    @message.setter
    def message(self, text: str) -> None:
        self._hint, self._message = self.hint, text

    @property
    def hint(self) -> str:
        """What to do next."""
        return sentence(self._message, self.objects, "hint", typed=self._typed) if self._hint is None else self._hint

    @property
    def note(self) -> Note:
        """The message with its code in the catalogue and the values that it names."""
        return Note.of(self._message, self.objects, self.message)

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r})"


class InputError(MaskwellError, ValueError, code="bad_input"):
    """Something given is not allowed."""


class MatrixError(InputError, code="bad_matrix"):
    """Not a transition matrix."""


class OrientationError(MatrixError, code="orientation"):
    """Rows sum to one where columns should."""


class ParameterError(InputError, code="bad_parameter"):
    """A number outside its allowed range."""


class LabelError(InputError, code="bad_labels"):
    """Duplicated, empty or unusable category labels."""


class UnknownCategoryError(LabelError, code="unknown_category"):
    """A value that the categories do not hold."""


class MissingValueError(InputError, code="missing_values"):
    """Missing values where no policy for them was chosen."""


class ReportError(InputError, code="bad_report"):
    """Reports that do not belong to the design."""


class DesignFileError(InputError, code="bad_design_file"):
    """A design file that cannot be read, or was changed after it was made."""


class CertificateError(InputError, code="bad_certificate"):
    """A file that is not a certificate, or a certificate whose claims do not hold."""


class DataFileError(InputError, code="bad_data_file"):
    """A data file that cannot be read or written."""


class TooLargeError(InputError, code="too_large"):
    """Asked to write out something too large to be useful."""


class NotIdentifiableError(InputError, code="not_identifiable"):
    """The design cannot give back the true proportions."""


class CountsError(InputError, code="bad_counts"):
    """Counts or weights that cannot be any: negative, not whole, or all zero."""


class PlanError(InputError, code="bad_plan"):
    """A release plan that cannot be read, or that contradicts itself or the file."""


class InfeasibleError(PlanError, code="infeasible"):
    """Bounds that no matrix keeps together; says which categories are in the way, and the nearest bound that works."""


class EditRuleError(InputError, code="edit_rule"):
    """Records that a rule of the plan forbids, or a matrix that could make such records."""


class NotInvariantError(InputError, code="not_invariant"):
    """A matrix that does not keep the counts that it should keep."""


class PublishError(InputError, code="publish"):
    """Something that must not be published, such as a matrix that reveals the true counts."""


class WrongTypeError(MaskwellError, TypeError, code="wrong_type"):
    """A value of the wrong kind."""


class MissingExtraError(MaskwellError, ImportError, code="missing_extra"):
    """An optional part of maskwell is not installed."""


class LeftoverWarning(UserWarning):
    """A run that was killed left data behind; names them, and says whether they were deleted."""

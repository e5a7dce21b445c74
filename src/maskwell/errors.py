"""Every error maskwell raises on purpose, in one tree.

::

    MaskwellError
    ├── InputError (also ValueError)          something given is not allowed
    │   ├── MatrixError                       not a transition matrix
    │   │   └── OrientationError              rows sum to one instead of columns
    │   ├── ParameterError                    a number outside its range
    │   ├── LabelError                        duplicated or unusable category labels
    │   │   └── UnknownCategoryError          a value that the categories do not hold
    │   ├── MissingValueError                 missing values without a policy for them
    │   ├── ReportError                       reports that do not belong to the design
    │   ├── DesignFileError                   a design file that cannot be read or was changed
    │   ├── CertificateError                  a file that is no certificate
    │   ├── DataFileError                     a data file that cannot be read or written
    │   ├── TooLargeError                     asked to write out something huge
    │   ├── NotIdentifiableError              the design cannot give back the proportions
    │   ├── CountsError                       counts or weights that cannot be any
    │   ├── PlanError                         a release plan that cannot be read or contradicts itself
    │   │   └── InfeasibleError               bounds that no matrix keeps together
    │   ├── EditRuleError                     records that a rule of the plan forbids
    │   ├── NotInvariantError                 a matrix that does not keep the counts it should keep
    │   └── PublishError                      something that must not be published
    ├── WrongTypeError (also TypeError)       a value of the wrong kind
    └── MissingExtraError (also ImportError)  an optional part is not installed

Beside the tree stands ``LeftoverWarning`` (a UserWarning), for data that a killed run left behind.

Each error says what was given and what is allowed (``message``) and what to do next (``hint``), names itself with a
stable ``code`` for programs, and carries the offending objects in ``objects``.

**Values of a data file are never part of a message or a hint**: they are confidential, and messages end up in logs.
A message names the column and the row; the values stand in ``values`` (a text) and ``objects``, for those who ask.
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
    >>> error = MaskwellError("column 'income': the value in data row 3 is no number", values="'a lot'")
    >>> print(error)
    column 'income': the value in data row 3 is no number
    >>> error.values
    "'a lot'"
    >>> print(MaskwellError("example-share-is-small", share=0.0123))
    a share of 1.2% is small
    hint: ask more people: n=1000
    """

    code = "error"

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


class InputError(MaskwellError, ValueError):
    """Something given is not allowed."""

    code = "bad_input"


class MatrixError(InputError):
    """Not a transition matrix."""

    code = "bad_matrix"


class OrientationError(MatrixError):
    """Rows sum to one where columns should."""

    code = "orientation"


class ParameterError(InputError):
    """A number outside its allowed range."""

    code = "bad_parameter"


class LabelError(InputError):
    """Duplicated, empty or unusable category labels."""

    code = "bad_labels"


class UnknownCategoryError(LabelError):
    """A value that the categories do not hold."""

    code = "unknown_category"


class MissingValueError(InputError):
    """Missing values where no policy for them was chosen."""

    code = "missing_values"


class ReportError(InputError):
    """Reports that do not belong to the design."""

    code = "bad_report"


class DesignFileError(InputError):
    """A design file that cannot be read, or was changed after it was made."""

    code = "bad_design_file"


class CertificateError(InputError):
    """A file that is no certificate, or a certificate of something that does not hold."""

    code = "bad_certificate"


class DataFileError(InputError):
    """A data file that cannot be read or written."""

    code = "bad_data_file"


class TooLargeError(InputError):
    """Asked to write out something too large to be useful."""

    code = "too_large"


class NotIdentifiableError(InputError):
    """The design cannot give back the true proportions."""

    code = "not_identifiable"


class CountsError(InputError):
    """Counts or weights that cannot be any: negative, not whole, or all zero."""

    code = "bad_counts"


class PlanError(InputError):
    """A release plan that cannot be read, or that contradicts itself or the file."""

    code = "bad_plan"


class InfeasibleError(PlanError):
    """Bounds that no matrix keeps together; says which categories are in the way, and the nearest bound that works."""

    code = "infeasible"


class EditRuleError(InputError):
    """Records that a rule of the plan forbids, or a matrix that could make such records."""

    code = "edit_rule"


class NotInvariantError(InputError):
    """A matrix that does not keep the counts that it should keep."""

    code = "not_invariant"


class PublishError(InputError):
    """Something that must not be published, such as a matrix that reveals the true counts."""

    code = "publish"


class WrongTypeError(MaskwellError, TypeError):
    """A value of the wrong kind."""

    code = "wrong_type"


class MissingExtraError(MaskwellError, ImportError):
    """An optional part of maskwell is not installed."""

    code = "missing_extra"


class LeftoverWarning(UserWarning):
    """A run that was killed left data behind; names them, and says whether they were deleted."""

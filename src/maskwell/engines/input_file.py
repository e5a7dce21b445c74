"""InputFile: the path of a file, together with how its text is read and what is made of its rows on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskwell.engines.row_sources import Source

    View = Callable[[Source, str], Source]
    """Makes other rows of the rows of a file, whose path it is told for messages."""


@dataclass(frozen=True)
class TextForm:
    """How the text of a CSV file is read; what is None is found out from its beginning.

    Attributes
    ----------
    separator
        What stands between two fields: one character.
    encoding
        Which bytes stand for which characters, by the names that Python knows.
    decimal
        What stands before the decimals of a number: a point or a comma.
    """

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None


class InputFile(str):
    """The path of a file wherever a path can stand, which also says how the file is to be read.

    Attributes
    ----------
    form
        How the text of a CSV file is read.
    view
        What is made of its rows before anybody sees them, or None.

    >>> file = InputFile.of("people.csv")
    >>> file == "people.csv", str(file) is file   # what makes a text of a path does not lose the rest
    (True, True)
    """

    __slots__ = ("form", "view")

    form: TextForm
    view: View | None

    @classmethod
    def of(cls, path: str, form: TextForm | None = None, view: View | None = None) -> Self:
        """From a path; what it already says stays unless something else is given."""
        made = cls(path)
        made.form = form or getattr(path, "form", None) or TextForm()
        made.view = view or getattr(path, "view", None)
        return made

    def seen(self, source: Source) -> Source:
        """The rows of the file as they are to be seen."""
        return source if self.view is None else self.view(source, self)

    def __str__(self) -> str:
        return self

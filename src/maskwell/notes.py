"""The catalogue of sentences: what errors and notes say, in ``messages/*.toml``, one table a code.

::

    [shares-do-not-sum-to-one]
    text = "the shares of {column!r} sum to {total:.3f}, not to 1"
    hint = "give shares of all categories, or leave out {option:shares}"

Fields are those of ``str.format``. ``{option:missing|drop}`` is ``--missing drop`` to somebody at the command line and
``missing="drop"`` to users of Python, and ``{either:--rows|from_rows}`` gives one of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "messages"

TYPED: ContextVar[bool] = ContextVar("typed", default=False)  # whether sentences are for somebody at the command line


class Note(str):
    """A sentence of a result, as its text; ``code`` and ``values`` say the same to programs."""

    __slots__ = ("code", "values")
    code: str
    values: Mapping[str, object]

    def __new__(cls, code: str, /, **values: object) -> Note:
        """Look the sentence up, and say it with these values."""
        return cls.of(code, values, sentence(code, values, typed=TYPED.get()))

    @classmethod
    def of(cls, code: str, values: Mapping[str, object], text: str) -> Note:
        """The note of a text that is known already."""
        note = super().__new__(cls, text)
        note.code, note.values = code, values
        return note

    def __reduce__(self) -> tuple[object, ...]:
        return Note.of, (self.code, self.values, str(self))


def sentence(code: str, values: Mapping[str, object], part: str = "text", *, typed: bool) -> str:
    """The text or the hint of a code with its values; a text that is not a code is returned unchanged."""
    entry = entry_of(code)
    if entry is None:
        return code if part == "text" else ""
    return entry.get(part, "").format_map(_Fields(values, option=_Option(typed=typed), either=_Either(typed=typed)))


@cache
def entry_of(code: str) -> Mapping[str, str] | None:
    """What the catalogue has of a code; None for a text, which has blanks, and for what it does not know."""
    if " " in code:
        return None
    import tomllib  # only an error or a note needs it

    for text in _files():
        start = text.find(f"\n[{code}]\n")
        if start >= 0:
            end = text.find("\n[", start + 1)
            entry: Mapping[str, str] = tomllib.loads(text[start : end if end > 0 else None])[code]
            return entry
    return None


@cache
def _files() -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.toml")))


class _Fields(dict[str, object]):
    """Values of a sentence. One that was not given shows its name: an error must not hide behind another one."""

    def __missing__(self, name: str) -> _NotGiven:
        return _NotGiven(f"({name})")


class _NotGiven(str):
    """The name of a value that was not given, whatever the form of the value would have been."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        return str(self)


class _Option:
    """``{option:name|value|code}``: a parameter, as :func:`maskwell.core.phrases.option` says it."""

    def __init__(self, *, typed: bool) -> None:
        self._typed = typed

    def __format__(self, words: str) -> str:
        return option_in_words(*words.split("|"), typed=self._typed)


class _Either(_Option):
    """``{either:--rows|from_rows}``: what is typed, or else what is written in Python."""

    def __format__(self, words: str) -> str:
        return words.split("|")[0 if self._typed else 1]


def option_in_words(name: str, value: str = "", code: str = "", *, typed: bool) -> str:
    """A parameter in one of the two languages, with an example of a value where one is given."""
    if typed:
        return f"--{name.replace('_', '-')}{value and ' '}{value}"
    written = code or (value if is_number(value) else f'"{value}"')
    return f"{name}={written}" if value else name


def is_number(text: str) -> bool:
    """Whether a text is a number, as a spreadsheet or TOML would read it."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text

"""InputFile: the path of a file, together with how its text is read and what is made of its rows on the way.

What is not given is detected from its beginning, said once on standard error, and kept in files written from it.
"""

from __future__ import annotations

import codecs
import csv
import logging
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from maskwell.core.arguments import check_kind, check_option
from maskwell.core.phrases import file_name, in_language, option, shorten
from maskwell.engines.arrow_arrays import require
from maskwell.errors import DataFileError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskwell.engines.row_sources import Source

    View = Callable[[Source, str], Source]
    """Makes other rows from the rows of a file, whose path it gets for messages."""

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar", ":": "a colon", " ": "a space"}
"""Separators of fields, in words."""

UTF8 = "utf-8"


@dataclass(frozen=True)
class TextForm:
    r"""How the text of a CSV file is read; what is None is detected from its beginning."""

    separator: str | None = None  # what stands between two fields: one of SEPARATORS
    encoding: str | None = None  # which bytes stand for which characters, by the names that Python knows
    decimal: str | None = None  # what stands before the decimals of a number: a point or a comma

    @classmethod
    def of(cls, *, separator: str | None = None, encoding: str | None = None, decimal: str | None = None) -> Self:
        """From what people type: a separator may be called by its name, such as ``tab``."""
        check_kind(str | None, separator=separator, encoding=encoding, decimal=decimal)
        if separator is not None:
            separator = {words.split()[-1]: sign for sign, words in SEPARATORS.items()}.get(separator, separator)
            if separator not in SEPARATORS:
                raise ParameterError("separator-is-not-known", separator=shorten(repr(separator), 20))
        if decimal is not None:
            check_option("decimal", decimal, (".", ","))
        if encoding is not None:
            try:
                known = codecs.lookup(encoding).name
                b"a".decode(known) if known == UTF8 else "a".encode(known)
            except (LookupError, ValueError):
                raise ParameterError("encoding-is-not-known", name=shorten(repr(encoding), 30)) from None
            encoding = known
        return cls(separator, encoding, decimal)


def csv_file(
    path: str, *, separator: str | None = None, encoding: str | None = None, decimal: str | None = None
) -> InputFile:
    """A CSV file that is read in a form of its own, to be given wherever the path of a file is.

    Parameters
    ----------
    path
        The file, a folder or a pattern.
    separator
        Field separator: ``","``, ``";"``, ``"|"``, ``":"``, ``"tab"`` or ``"space"``.
    encoding
        Such as ``"utf-8"``, ``"windows-1252"`` or ``"latin-1"``.
    decimal
        ``"."`` or ``","``.

    By default all of these are detected from the beginning of the file.

    >>> csv_file("people.csv", separator=";", decimal=",")
    'people.csv'
    """
    check_kind(str, path=path)
    return InputFile.of(path, TextForm.of(separator=separator, encoding=encoding, decimal=decimal))


class InputFile(str):
    """The path of a file, and how it is to be read; ``os.fspath`` keeps the rest, ``str`` and ``Path`` do not."""

    __slots__ = ("form", "view")

    form: TextForm  # how the text of a CSV file is read
    view: View | None  # what is made of its rows before anybody sees them, or None

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


_NOT_IN_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_SEQUENCES = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{1,3}")
_HIGH = re.compile(rb"[\x80-\xff]")
WIDE_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
LOOKED_AT = 1 << 16
RECORDS_LOOKED_AT = 20
_GUESSED = ("cp1252", "iso8859-1")
CALLED = {"cp1252": "Windows-1252", "iso8859-1": "Latin-1", "utf-16": "UTF-16"}


def encoding_of(start: bytes) -> str:
    """The encoding of a file that begins so: UTF-8 where it can be for the most part, or what its bytes speak for."""
    mark = WIDE_MARKS.get(start[:2])
    if mark is not None and start[2:4] != b"\0\0":
        return mark
    try:
        codecs.getincrementaldecoder(UTF8)().decode(start)
    except UnicodeDecodeError:
        whole = sum(len(match) for match in _SEQUENCES.findall(start))
        if b"\0" in start[:LOOKED_AT] or 2 * whole >= len(_HIGH.findall(start)):
            return UTF8
        return "iso8859-1" if _NOT_IN_WINDOWS.search(start) else "cp1252"
    return UTF8


def separator_of(start: bytes, path: str = "the file") -> str:
    r"""The field separator of a file that begins so, in UTF-8; a comma where nothing speaks against it."""
    first, _, _ = start.partition(b"\n")
    candidates = [sign for sign in (",", ";", "\t", "|") if sign.encode() in first]
    if candidates in ([], [","]):
        return ","
    fitting = [sign for sign in candidates if _fits(start, sign)]
    if len(fitting) > 1:
        signs = " or ".join(SEPARATORS[sign] for sign in fitting[:2])
        names = " or ".join("tab" if sign == "\t" else f"'{sign}'" for sign in fitting[:2])
        typed = in_language(f"--separator {names}", f"csv_file(path, separator={names})")
        raise DataFileError("may-stand-between-fields-the-lines", signs=signs, in_language=typed, path=path)
    return fitting[0] if fitting else ","


_NAMED = re.compile(rb"sep=([,;|:\t ])\r?\n", re.IGNORECASE)


def named_separator(start: bytes, path: str) -> tuple[str | None, bytes]:
    r"""The separator in a first line that Excel writes for itself, and the text without that line."""
    line = _NAMED.match(start)
    if line is None:
        return None, start
    sign = line.group(1).decode()
    note_once(path, f"begins with a line for Excel that names {SEPARATORS[sign]} as the separator; it is left out")
    return sign, start[line.end() :]


def _fits(start: bytes, sign: str) -> bool:
    """Whether the first records have equally many fields, and more than one."""
    text = start[:LOOKED_AT].decode(UTF8, errors="replace")
    lines = text.split("\n")
    whole = lines[:-1] or lines  # the last may be cut
    try:
        records = [*islice(csv.reader(whole, delimiter=sign), RECORDS_LOOKED_AT)]
    except csv.Error:
        return False
    widths = {len(record) for record in records if record}
    return len(widths) == 1 and widths.pop() > 1


class DecimalCommas:
    """Turns decimal commas into points as rows are read, in columns that have them throughout.

    Unless ``asked``, all first values must be numbers, and one no number with its thousands parted, as 1,234 may be.
    """

    def __init__(self, path: str, *, asked: bool) -> None:
        self.columns: set[str] = set()
        self._path, self._asked, self._without = path, asked, set[str]()
        self._pointed: list[str] = []

    def say(self) -> None:
        """Say that there are some, where nobody asked for it, and what becomes of points that may part thousands."""
        if self.columns and not self._asked:
            note_once(self._path, "has decimal commas")
        if self.columns or self._asked:
            for name in self._pointed:
                note_once(
                    self._path, f"has numbers such as 1.234 in {shorten(name)!r}: these are read with a decimal point"
                )

    def converted(self, name: str, column: Any) -> Any:
        """The next values of a column of texts."""
        arrow = require()
        if name in self._without:
            return column
        if arrow.types.is_dictionary(column.type):
            labels = self.converted(name, column.dictionary)
            return column if labels is column.dictionary else arrow.DictionaryArray.from_arrays(column.indices, labels)
        if name not in self.columns:
            commas, points = _some(column, _COMMA), _some(column, POINT)
            if commas and not points and (self._asked or (_all(column, _NUMBER) and _some(column, _NO_THOUSANDS))):
                self.columns.add(name)
            elif points or not self._asked:
                self._without.add(name)
                self._pointed += [name] if points and _all(column, _THOUSANDS) else []
            if name not in self.columns:
                return column
        if _some(column, POINT):
            raise DataFileError("column-has-numbers-with-commas", name=shorten(name), path=self._path, column=name)
        return require("pyarrow.compute").replace_substring_regex(column, _COMMA, r"\1.\2")


_COMMA = r"^([+-]?\d+),(\d+)$"
POINT = r"^([+-]?\d+)\.(\d+)$"
_NUMBER = r"^[+-]?\d+(,\d+)?$"
_THOUSANDS = r"^[+-]?(\d{1,3}|[1-9]\d{0,2}\.\d{3})$"
_NO_THOUSANDS = r"^[+-]?(0\d*|\d{4,}),\d+$|,(\d{1,2}|\d{4,})$"
"""Numbers with a comma that does not part thousands, as that of 1,234 may."""


def _some(column: Any, pattern: str) -> bool:
    compute = require("pyarrow.compute")
    return bool(compute.any(compute.match_substring_regex(column, pattern)).as_py())


def _all(column: Any, pattern: str) -> bool:
    compute = require("pyarrow.compute")
    return bool(compute.all(compute.match_substring_regex(column, pattern)).as_py())


_LOG = logging.getLogger("maskwell")
_SAID: dict[tuple[str, str], None] = {}
MOST_SAID = 1000


def say_form(path: str, separator: str | None, encoding: str | None) -> None:
    """Report how a file is read, where that was detected and is not the usual form."""
    told = [
        *([] if separator is None else [f"with {SEPARATORS[separator]} between fields"]),
        *([] if encoding is None else [f"as {CALLED.get(encoding, encoding)}"]),
    ]
    guess = f" (a guess, since it is not UTF-8; {option('encoding')} names another)" if encoding in _GUESSED else ""
    if told:
        note_once(path, f"is read {', '.join(told)}{guess}")


def note_once(path: str, what: str) -> None:
    """A note on standard error, once for each file; programs may take it from the logger ``maskwell``."""
    said = (str(path), what)
    if said not in _SAID and len(_SAID) < MOST_SAID:
        _SAID[said] = None
        _LOG.warning("note: %s %s", shorten(file_name(said[0]), 40), what)

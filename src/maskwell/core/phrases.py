"""Texts that people read: parts of messages, printed numbers, and what somebody else wrote made harmless.

In a printed number the last bit of a computation decides nothing: values that close to half way are rounded away from
zero, and bounds are not moved by less than the slack of :mod:`maskwell.core.verdicts`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any

from maskwell.core.verdicts import SLACK, at_least, below, ceil_of
from maskwell.notes import TYPED, is_number, option_in_words


def option(name: str, value: str = "", code: str = "") -> str:
    """The name of a parameter as its reader would write it, with an example of a value where one is given."""
    return option_in_words(name, value, code, typed=TYPED.get())


def together(*options: str) -> str:
    """Several options as their reader would write them: words of a command line, or arguments of a call."""
    return (" " if TYPED.get() else ", ").join(options)


def design_of(columns: str, file: str = "design.json") -> str:
    """How a column, or a group of rows of it, is given its design."""
    quote = "'" if "[" in columns else ""
    return in_language(f"--design {quote}{columns}={file}{quote}", f'{{"{columns}": design}}')


def shows_values() -> str:
    """What lists the values of the data that are in the way: they are not part of messages."""
    return in_language("--show-values lists", "error.values lists")


def named_encoding(encoding: str) -> str:
    """How the encoding of a text file is named."""
    return in_language(f"--encoding {encoding}", f"csv_file(path, encoding={encoding!r})")


def file_name(path: str) -> str:
    """What a sentence calls a file."""
    return "standard input" if path == "-" else path


def in_language(typed: str, python: str) -> str:
    """A sentence for users of the command line, or else for users of Python."""
    return typed if TYPED.get() else python


@contextmanager
def as_typed() -> Iterator[None]:
    """Messages from within speak of the options of the command line."""
    token = TYPED.set(True)
    try:
        yield
    finally:
        TYPED.reset(token)


_LEAST, _LARGEST = 1e-280, 1e280
_MOST_STEPS, _NEAR = 1e14, 0.01
_DEFAULT = 6
_DIGIT = re.compile("[1-9]")
_SPEC = re.compile(r"(?:\.(\d+))?([eEfFgG%])$")
MESSAGE = 93

HINT = 94  # columns that are left for the texts of an error
VALUES = 400  # characters of the values of an error, which stand on a line of their own
LEAST = 12
SHORT = 60
P_LEAST = 0.0001


_WITH_PASSWORD = re.compile(r"(\w://[^\n:@/]*):[^\n]*@")
_PASSWORD = re.compile(r"(?i)([?&;](?:password|passwd|pwd|sslpassword)=)[^\n&;]*")


def masked(text: str) -> str:
    """A text without the passwords of addresses in it, which may hold blanks and signs: rather too much is hidden."""
    return _PASSWORD.sub(r"\1***", _WITH_PASSWORD.sub(r"\1:***@", text))


def shorten(text: str, width: int = 40) -> str:
    """A text cut in the middle to fit."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def short_repr(value: object, instead: str = "...") -> str:
    """A value as it could be typed, where it is short; a table or an array is not."""
    try:
        written = repr(value)
    except ValueError:  # an integer with more digits than Python writes
        return instead
    return written if len(written) <= SHORT and "\n" not in written else instead


def listed(items: Iterable[str], total: int, width: int, *, at_least: bool = False) -> str:
    """The first of many items, as many as fit the width, and how many there are where some are left out."""
    ending = f", ... ({total:,} {'or more' if at_least else 'in all'})"
    first = [_shorten_name(item, max(LEAST, width - len(ending))) for item in islice(items, max(1, width // 3 + 2))]
    whole = ", ".join(first)
    if len(first) == total and len(whole) <= width:
        return whole
    while len(first) > 1 and len(", ".join(first)) + len(ending) > width:
        first.pop()
    return ", ".join(first) + (ending if len(first) < total else "")


def shown_values(times: Mapping[Any, int], *, at_least: bool = False) -> str:
    """Values and how often each occurs, for those who ask to see them: the ``values`` of an error."""
    common = sorted(times.items(), key=lambda item: -item[1])
    items = (f"{value!r} ({count:,} {'time' if count == 1 else 'times'})" for value, count in common)
    return listed(items, len(times), VALUES, at_least=at_least)


def _shorten_name(item: str, width: int) -> str:
    """An item cut to fit, but not the brackets at its end."""
    name, opening, rest = item.rpartition(" (")
    if not opening or not rest.endswith(")"):
        return shorten(item, width)
    return shorten(name, max(LEAST, width - len(rest) - 2)) + opening + rest


def fault_of(error: BaseException, width: int = 44) -> str:
    """What another library found wrong, in short: its first sentence, and the place in a text."""
    if isinstance(error, json.JSONDecodeError):
        return f"{_first_sentence(error.msg, width)}, line {error.lineno}, column {error.colno}"
    return _first_sentence(str(error), width)


def _first_sentence(text: str, width: int) -> str:
    return shorten(" ".join(text.split()).split(". ")[0].removesuffix("."), width)


def p_text(value: float | None) -> str:
    """A p-value with four decimals, never zero."""
    if value is None or math.isnan(value):
        return "n/a"
    return f"{Printed(value):.4f}" if at_least(value, P_LEAST) else f"<{P_LEAST}"


def p_equals(value: float) -> str:
    """A p-value in a sentence."""
    text = p_text(value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


class Printed(float):
    """A computed number, formatted as any float but for values half way, which are rounded away from zero; never -0."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        text = format(_off_half_way(float(self), spec), spec)
        nothing = math.isfinite(self) and not _DIGIT.search(text.lower().partition("e")[0])
        return format(0.0, spec) if nothing else text


def _off_half_way(value: float, spec: str) -> float:
    """The value itself, or the next one away from zero that the format can show where it lies half way to it."""
    digits, significant = _precision(spec)
    if digits is None or not _LEAST < abs(value) < _LARGEST:
        return value
    last = (math.floor(math.log10(abs(value))) + 1 if significant else 0) - digits
    steps = abs(value) / 10.0**last if last >= 0 else abs(value) * 10.0**-last
    whole = math.floor(steps)
    if steps > _MOST_STEPS or abs(steps - whole - 0.5) > min(SLACK * steps, _NEAR):
        return value
    return math.copysign((whole + 1) * 10.0**last if last >= 0 else (whole + 1) / 10.0**-last, value)


@lru_cache
def _precision(spec: str) -> tuple[int | None, bool]:
    """How many digits a format shows, and whether they are significant digits or places behind the point."""
    match = _SPEC.search(spec)
    if match is None:
        return None, False
    digits, kind = int(match[1] or _DEFAULT), match[2].lower()
    return {"f": (digits, False), "%": (digits + 2, False), "e": (digits + 1, True), "g": (max(1, digits), True)}[kind]


def round_up(value: float, places: int) -> float:
    """The least number with so many decimals that is not below a computed value, but for its last bits."""
    if not math.isfinite(value):
        return value
    scale = 10.0**places
    return ceil_of(value * scale) / scale


def round_down(value: float, places: int) -> float:
    """The greatest number with so many decimals that is not above a computed value, but for its last bits."""
    return -round_up(-value, places) + 0.0


def magnitude(value: float) -> int:
    """The power of ten of the first digit of a computed value above 0: its last bits do not make 0.001 a 0.0009."""
    return math.floor(math.log10(value) + SLACK)


# ---- labels, names and titles that somebody else wrote


HALF = re.compile("[\ud800-\udfff]")  # half a character: no text that can be written holds one
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff"
    "\U000e0000-\U000e007f]"
)
"""Controls of terminals and of the direction of writing, line ends of all kinds, halves of characters."""

_MARKUP = re.compile(r"([\\|*`<]|(?<!\w)_|_(?!\w)|~(?=~)|&(?=#?\w+;)|\[(?=[^]]*\][(\[:]))")
"""What starts markup within a line; a sign that is harmless where it stands, as "_" within a name, stays as it is."""

_FIRST = re.compile(r"^(\s*\d*)([#>](?=[#\s]|$)|[-+=](?=[-=\s]|$)|(?<=\d)[.)](?=\s|$))")
"""What starts markup at the beginning of a line: headings, quotations, lists, rules."""

_FORMULA = "=+-@＝＋－＠\t\r\n"


def visible(text: str) -> str:
    """A text with escapes for signs that a terminal would obey or nobody would see; XML can hold them."""
    if text.isprintable():
        return text
    return _UNSEEN.sub(lambda m: m.group().encode("unicode_escape", "surrogatepass").decode("ascii"), text)


# what maskwell itself prints beside ASCII, for terminals that cannot show it
_IN_ASCII = {
    **dict(zip("“”‘’–—−⁻─━│┃·", "\"\"''------||.", strict=True)),
    **dict.fromkeys("\u00a0\u2009\u202f", " "),
    **dict.fromkeys("├└┌┐┘┤┬┴┼", "+"),
    **dict.fromkeys("█▉▊▋▌▍▎▏▇▆▅▄▃▂▁", "#"),
    "…": "...",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "±": "+/-",
    "→": "->",
    "←": "<-",
    "≈": "~",
    "∞": "inf",
}


def in_ascii(text: str) -> str:
    """A text for a terminal that cannot show it: signs spelled with others, letters as escapes."""
    spelled = "".join(_IN_ASCII.get(sign, sign) for sign in text)
    return spelled.encode("ascii", "backslashreplace").decode("ascii")


def visible_lines(text: str) -> str:
    """The same for a text that may have several lines."""
    return text if text.isprintable() else "\n".join(map(visible, text.split("\n")))


def one_line(text: str) -> str:
    """A name or a label without line breaks and other signs that would break a table."""
    return text if text.isprintable() else visible(" ".join(text.split()))


def in_json(text: str) -> str:
    """JSON, as a whole, in which such signs are written as JSON writes them."""
    if text.isprintable():
        return text  # signs are between values; within a text JSON escapes them
    return _UNSEEN.sub(lambda m: m[0] if m[0] in "\n\r\t" else json.dumps(m[0])[1:-1], text)


def in_toml(text: str) -> str:
    """A text in the quotes of TOML; signs that an editor would obey, or not show, are written as escapes."""
    quoted = json.dumps(text, ensure_ascii=False)  # JSON quotes as TOML does
    return quoted if quoted.isprintable() else _UNSEEN.sub(lambda match: f"\\U{ord(match.group()):08x}", quoted)


def in_markdown(text: str) -> str:
    """Text on one line, with what Markdown would read as markup or as HTML protected."""
    return start_of_line(_MARKUP.sub(r"\\\1", one_line(text)))


def start_of_line(text: str) -> str:
    """A line of Markdown that is the rest of a longer one, and so must not start a list or a heading."""
    return _FIRST.sub(r"\1\\\2", text)


def in_spreadsheet(text: str) -> str:
    """A cell that a spreadsheet shows and does not work out: an apostrophe before what would be a formula."""
    return f"'{text}" if is_formula(text) else text


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take this cell for a formula, or might after removing blanks."""
    start = text.lstrip(" ")
    return start[:1] != "" and start[0] in _FORMULA and not is_number(start)


LEAST_EXPECTED = 0.0001  # expected numbers below it are not told apart


def expected_number(number: float) -> str:
    """An expected number: to one decimal, and to two digits where it is below one."""
    if number > 0 and below(number, LEAST_EXPECTED):
        return f"under {LEAST_EXPECTED}"
    return f"{Printed(number):,.1f}" if at_least(number, 1) else f"{Printed(number):.2g}"


def in_words(names: Sequence[str]) -> str:
    """Names as a sentence has them."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)

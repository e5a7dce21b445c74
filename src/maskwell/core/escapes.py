r"""Labels, names and titles that somebody else wrote, made harmless for the place they go to.

A label may hold an escape sequence for a terminal, a tag for a browser, markup for a page or a formula for a
spreadsheet. Data files keep it exactly; everything that people look at gets it from here.
"""

from __future__ import annotations

import json
import re

HALF = re.compile("[\ud800-\udfff]")
"""Half a character: no text that can be written holds one."""

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
    r"""A text in which signs that a terminal would obey, or that nobody would see, are written as escapes.

    What is left can stand in any XML or HTML file, once ``<`` and ``&`` are escaped.

    >>> print(visible("no\x1b[2J"), visible("a\u202eb"), visible("né"))
    no\x1b[2J a\u202eb né
    """
    return text if text.isprintable() else _UNSEEN.sub(lambda match: _escaped(match.group()), text)


_IN_ASCII = {
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("–—−⁻", "-"),
    **dict.fromkeys("\u00a0\u2009\u202f", " "),
    **dict.fromkeys("─━", "-"),
    **dict.fromkeys("│┃", "|"),
    **dict.fromkeys("├└┌┐┘┤┬┴┼", "+"),
    **dict.fromkeys("█▉▊▋▌▍▎▏▇▆▅▄▃▂▁", "#"),
    "…": "...",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "±": "+/-",
    "·": ".",
    "→": "->",
    "←": "<-",
    "≈": "~",
    "∞": "inf",
}
"""What maskwell itself prints beside ASCII, for terminals that cannot show it."""


def in_ascii(text: str) -> str:
    r"""A text for a terminal that cannot show it: signs spelled with others, letters as escapes.

    >>> print(in_ascii("x ≤ 1…"), in_ascii("né"))
    x <= 1... n\xe9
    """
    spelled = "".join(_IN_ASCII.get(sign, sign) for sign in text)
    return spelled.encode("ascii", "backslashreplace").decode("ascii")


def visible_lines(text: str) -> str:
    r"""The same for a text that may have several lines.

    >>> visible_lines("a\nb\x07")
    'a\nb\\x07'
    """
    return text if text.isprintable() else "\n".join(map(visible, text.split("\n")))


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")


def one_line(text: str) -> str:
    r"""A name or a label without line breaks and other signs that would break a table.

    >>> one_line("north\nof the river\t"), one_line("no\x1b")
    ('north of the river', 'no\\x1b')
    """
    return text if text.isprintable() else visible(" ".join(text.split()))


def in_json(text: str) -> str:
    r"""JSON, as a whole, in which such signs are written as JSON writes them.

    >>> print(in_json('{"label": "no\x9b2J"}'))
    {"label": "no\u009b2J"}
    """
    return text if text.isprintable() else _UNSEEN.sub(_in_json_string, text)


def _in_json_string(match: re.Match[str]) -> str:
    sign = match.group()
    return sign if sign in "\n\r\t" else json.dumps(sign)[1:-1]  # between values; within a text JSON escapes them


def in_toml(text: str) -> str:
    r"""A text in the quotes of TOML; signs that an editor would obey, or not show, are written as escapes.

    >>> print(in_toml('a "b"\u202e'))
    "a \"b\"\U0000202e"
    """
    quoted = json.dumps(text, ensure_ascii=False)  # JSON quotes as TOML does
    return quoted if quoted.isprintable() else _UNSEEN.sub(lambda match: f"\\U{ord(match.group()):08x}", quoted)


def in_markdown(text: str) -> str:
    r"""Text on one line, with what Markdown would read as markup or as HTML protected.

    >>> print(in_markdown("<b>a_b</b> *now*"))
    \<b>a_b\</b> \*now\*
    """
    return start_of_line(_MARKUP.sub(r"\\\1", one_line(text)))


def start_of_line(text: str) -> str:
    r"""A line of Markdown that is the rest of a longer one, and so must not start a list or a heading.

    >>> print(start_of_line("# of rooms"), start_of_line("1. floor"), start_of_line("-0.5"))
    \# of rooms 1\. floor -0.5
    """
    return _FIRST.sub(r"\1\\\2", text)


def in_spreadsheet(text: str) -> str:
    """A cell that a spreadsheet shows and does not work out: an apostrophe before what would be a formula.

    Numbers stay numbers.

    >>> in_spreadsheet("=1+1"), in_spreadsheet("-0.5"), in_spreadsheet("- none")
    ("'=1+1", '-0.5', "'- none")
    """
    return f"'{text}" if is_formula(text) else text


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take this cell for a formula, or might after removing blanks.

    >>> is_formula("@SUM(A1)"), is_formula("+3"), is_formula("a=b")
    (True, False, False)
    """
    start = text.lstrip(" ")
    return start[:1] != "" and start[0] in _FORMULA and not _is_number(start)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text

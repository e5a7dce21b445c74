"""The templates of pages and sheets, and the sentences of devices: prose is in files, Python keeps the facts.

They lie in ``reports/templates``: pages as HTML, what is said with a device as plain text, where each line is one step
or one rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from maskwell.core.phrases import visible_lines
from maskwell.errors import MissingExtraError
from maskwell.reports.pictures.palette import MONO_FONTS, TEXT_FONTS, variables

if TYPE_CHECKING:
    from jinja2 import Environment

_BREAK = "\ue000"  # stands for a line break of a label, which is no new line of a template


def environment() -> Environment:
    """Templates that escape every label, or an error that says what to install."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "pages need jinja2, which is not installed", hint="pip install 'maskwell[report]'"
        ) from error
    return _for_pages()


@cache
def _for_pages() -> Environment:
    """Kept, because compiling the templates takes longer than filling them."""
    return _environment(autoescape=True, finalize=_finalized)


@cache
def _for_sentences() -> Environment:
    from maskwell.reports.device.paper_cards import either, if_right, quoted

    made = _environment(autoescape=False)  # sentences are escaped where a page holds them
    made.globals.update(either=either, if_right=if_right, quoted=quoted)
    return made


def _environment(**options: Any) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("maskwell.reports", "templates")
    options |= {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    return Environment(loader=loader, **options)  # noqa: S701 (the caller says whether it escapes)


def _finalized(value: Any) -> Any:
    """Texts without signs that nobody sees; what was marked safe is ours and stays."""
    return visible_lines(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def page_style() -> dict[str, str]:
    """Colours and fonts of a page."""
    return {"light": variables("light"), "dark": variables("dark"), "text": TEXT_FONTS, "mono": MONO_FONTS}


class Sentences:
    """The macros of one file of ``templates/device``, filled with facts.

    >>> Sentences("promise").text("ruled_out", "no", ["never"], ["often"], 3)
    'Who says “no” has the true answer “never” for sure.'
    >>> Sentences("rules", {"thing": "card"}).lines("opening")
    ('Let the person read the sheet “How to answer”, or read it aloud. Ask whether it is clear.',)
    """

    def __init__(self, name: str, facts: Mapping[str, Any] | None = None) -> None:
        environment()
        self._module = _for_sentences().get_template(f"device/{name}.txt").make_module(_whole(dict(facts or {})))

    def lines(self, name: str, *values: Any) -> tuple[str, ...]:
        """The lines of one macro that are not empty."""
        macro: Callable[..., str] = getattr(self._module, name)
        lines = macro(*map(_whole, values)).split("\n")
        return tuple(line.replace(_BREAK, "\n") for line in lines if line)

    def text(self, name: str, *values: Any) -> str:
        """The one line of a macro."""
        (line,) = self.lines(name, *values)
        return line

    def constant(self, name: str) -> Any:
        """Something that the file sets."""
        return getattr(self._module, name)


def _whole(value: Any) -> Any:
    """The same with line breaks of labels out of the way."""
    if isinstance(value, str):
        return value.replace("\n", _BREAK)
    if isinstance(value, Mapping):
        return {name: _whole(one) for name, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, Sequence) else value

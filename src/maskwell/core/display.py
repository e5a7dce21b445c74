"""How results show themselves. The door of the package registers where renderers are found; results ask by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from maskwell.core.extras import require_library

if TYPE_CHECKING:
    from maskwell.core.arguments import Real

T = TypeVar("T")
Renderer = Callable[..., Any]
_sources: list[Callable[[], Mapping[str, Renderer]]] = []


def register(source: Callable[[], Mapping[str, Renderer]]) -> None:
    """Where renderers are found; asked when the first of them is needed, so that nothing is loaded before."""
    _sources[:] = [source]


def render(name: str, result: Any, **options: Any) -> Any:
    """A result as a picture or a text, by the renderer of that name."""
    (source,) = _sources
    return source()[name](result, **options)


class Inside(property, Generic[T]):
    """A property that is part of one of the values of a result, at a dotted path."""

    def __init__(self, path: str, doc: str) -> None:
        super().__init__(attrgetter(path))
        self.__doc__ = doc  # else that of this class is found, in Python before 3.13

    if TYPE_CHECKING:

        def __get__(self, whole: Any, kind: Any = None) -> T: ...  # type: ignore[override]


class Result:
    """A result that shows itself: a class gives ``to_dict``, the rest follows from its report and its picture."""

    LINES: ClassVar[str] = ""
    """The entry of ``to_dict`` that has a line for each row of ``to_frame``; without one the result is one row."""

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """A pandas table."""
        return require_pandas().DataFrame(flat_lines(self.to_dict(), self.LINES))

    def to_report(self) -> Any:
        """What it says to people, as the command prints it; a notebook shows it with tables."""
        return render("report", self)

    def to_tables(self, **options: Any) -> list[Any]:
        """Tables for a paper, as texts; ``options`` such as ``level`` where the result has them."""
        return list(render("tables", self, **options))

    def to_latex(self, *, caption: str | None = None, label: str | None = None, **options: Any) -> str:
        """Tables for a paper in LaTeX, which need booktabs and fit a column; ``label`` is for references."""
        return self._written("latex", caption, label, options)

    def to_markdown(self, *, caption: str | None = None, **options: Any) -> str:
        """Tables for a paper in Markdown."""
        return self._written("md", caption, None, options)

    def to_html(self, *, caption: str | None = None, **options: Any) -> str:
        """Tables for a paper as a page that browsers and Word open; Word keeps them as tables."""
        return self._written("html", caption, None, options)

    def plot(self, **options: Any) -> Any:
        """The picture of it, which a notebook shows and ``save`` writes; ``options`` as in :func:`maskwell.plot`."""
        return render("picture", self, **options)

    def summary(self) -> Summary:
        """What the command prints: a text that a notebook shows with tables."""
        return Summary.of("\n".join(replace(self.to_report(), next_step="")), self)

    def _written(self, style: str, caption: str | None, label: str | None, options: Mapping[str, Any]) -> str:
        return str(render("written", self.to_tables(**options), style=style, caption=caption, label=label))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(render("notebook", self))


class Summary(str):
    """A text about a result: a terminal shows it as it stands, a notebook shows the tables of the result."""

    result: Result

    @classmethod
    def of(cls, text: str, result: Result) -> Summary:
        """The text with its result."""
        made = cls(text)
        made.result = result
        return made

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


def flat_lines(content: Mapping[str, Any], lines: str = "") -> list[dict[str, Any]]:
    """Plain values as rows of a table: the lines of that name, or all single values as one line."""
    if not lines:
        return [_flat(content)]
    rows = content[lines]
    if isinstance(rows, Mapping):
        return [_flat({"name": name, **row}) for name, row in rows.items()]
    return [_flat(row if isinstance(row, Mapping) else {"place": i, lines: row}) for i, row in enumerate(rows)]


LABELS = ("category", "domain", "given", "items", "variables")  # plain values that are labels though they are lists


def _flat(line: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in line.items():
        if isinstance(value, Mapping):
            flat |= {} if "maskwell" in value else _flat(value, f"{above}{name}_")  # a design is no value
        elif name in ("interval", "intervals"):
            flat |= dict(zip((f"{above}low", f"{above}high"), value, strict=True))
        elif not isinstance(value, list | tuple):
            flat[f"{above}{name}"] = value
        elif name in LABELS:
            flat[f"{above}{name}"] = value[0] if len(value) == 1 else tuple(value)
    return flat


def data_frame(columns: Mapping[str, Any], *, labels: Mapping[str, Sequence[Hashable]] | None = None) -> Any:
    """A pandas table; rows are indexed by all combinations of the ``labels`` of variables, where these are given."""
    pandas = require_pandas()
    index = None if labels is None else pandas.MultiIndex.from_product(labels.values(), names=list(labels))
    return pandas.DataFrame(dict(columns), index=index)


def require_pandas() -> Any:
    """Import pandas, or say how to install it."""
    return require_library("pandas", "a pandas table")


def plain_label(label: Hashable) -> Any:
    """A label as JSON can hold it, a tuple as a list."""
    if isinstance(label, tuple):
        return [plain_label(part) for part in label]
    return label if isinstance(label, str | int | float | bool) else str(label)


def entries(value: object, names: str) -> dict[str, Any]:
    """Attributes of these names, with blanks between them, as JSON can hold them."""
    found = {name: getattr(value, name) for name in names.split()}
    return {
        name: list(one) if isinstance(one, tuple) else one.tolist() if hasattr(one, "tolist") else one
        for name, one in found.items()
    }


def number_or_none(value: float) -> float | None:
    """A number, or None for NaN, which JSON has no word for."""
    return None if math.isnan(value) else float(value)


def plain_numbers(values: Real) -> list[Any]:
    """An array as nested lists, with None for NaN."""
    plain = values.astype(object)
    plain[values != values] = None  # NaN alone differs from itself; numpy need not be loaded
    return list(plain.tolist())

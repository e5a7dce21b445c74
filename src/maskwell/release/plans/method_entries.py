"""What a plan may say about each method: its options, its bounds, and whether it works from the counts.

The matrices themselves are made in :mod:`maskwell.release.stages.methods`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from maskwell.core.exact import to_decimal
from maskwell.errors import PlanError
from maskwell.privacy.criteria import Demand
from maskwell.release.matrices.bounds import Bounds
from maskwell.release.plans import plan_entries as read
from maskwell.release.plans.matrix_entries import matrix, states
from maskwell.release.plans.plan_entries import Reader, unknown

ORIENTATIONS = ("columns", "rows")
INVARIANCES = ("counts", "weights")


@dataclass(frozen=True)
class MethodEntry:
    """What a plan may say about one method.

    Attributes
    ----------
    name, summary
        Its name in a plan, and what it does in one line.
    options
        A reader for each option.
    bounds
        The bounds that it keeps (:class:`~maskwell.release.matrices.bounds.Bounds`).
    one_of
        Options or bounds of which exactly one is given; none where the bound on the match stands in for it.
    needs
        Options that must be given.
    match
        Whether the bound ``match`` of the whole release serves where nothing else is given.
    derived
        Whether the matrix is worked out from counts, and so reveals them.
    moves
        Whether it can keep a rule about the moves of a variable.
    capped
        Whether single categories may have a bound of their own.
    """

    name: str
    summary: str
    options: Mapping[str, Reader[Any]] = field(default_factory=dict)
    bounds: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    match: bool = False
    derived: bool = True
    moves: bool = False
    capped: bool = False


def _up_to_one(value: Any, name: str) -> Fraction:
    found = read.number(value, name)
    if not 0 <= found <= 1:
        raise PlanError(f"{name} = {to_decimal(found)} is out of range", hint="give a number from 0 to 1")
    return found


def _above(least: int, *, strictly: bool) -> Reader[Fraction]:
    def bounded(value: Any, name: str) -> Fraction:
        found = read.number(value, name)
        if found < least or (strictly and found == least):
            allowed = f"above {least}" if strictly else f"of {least} or more"
            raise PlanError(f"{name} = {to_decimal(found)} is out of range", hint=f"give a number {allowed}")
        return found

    return bounded


def _rho(value: Any, name: str) -> tuple[Fraction, Fraction]:
    found = [read.number(one, name) for one in value] if isinstance(value, list | tuple) else []
    if len(found) != 2 or not 0 < found[0] < found[1] < 1:
        raise PlanError(
            f"{name} is no pair of probabilities, the first below the second", hint="write rho = [0.1, 0.5]"
        )
    return found[0], found[1]


_DEMANDS: Mapping[str, Reader[Any]] = {
    "gamma": _above(1, strictly=True),
    "epsilon": _above(0, strictly=True),
    "beta": _above(1, strictly=True),
    "bayes_factor": _above(1, strictly=True),
    "rho": _rho,
}
DEMANDS = tuple(_DEMANDS)
_MATRIX: Mapping[str, Reader[Any]] = {"orientation": read.choice(*ORIENTATIONS), "categories": states}
_KEPT: Mapping[str, Reader[Any]] = {"invariance": read.choice(*INVARIANCES)}
_PROGRAM: Mapping[str, Reader[Any]] = {"cost": read.choice("agreement", "ordinal"), "band": read.whole}

_ALL = (
    MethodEntry(
        "method1",
        "every category sends out and receives the same expected number of records",
        {"theta": _up_to_one, **_KEPT},
        bounds=("match",),
        one_of=("theta", "match"),
        match=True,
    ),
    MethodEntry(
        "method2",
        "a first matrix, undone on average by a second one",
        {"first": matrix, "diagonal": _up_to_one, **_MATRIX, **_DEMANDS, **_KEPT},
        one_of=("first", "diagonal", *DEMANDS),
        moves=True,
    ),
    MethodEntry("sequential", "the smallest categories shared out equally: the least that a guess can gain", _KEPT),
    MethodEntry(
        "inverse-frequency",
        "every cell of a block sends out theta records on average, so that the small ones are covered",
        {"theta": _above(0, strictly=False), "xi": read.share, "block_size": read.whole, **_KEPT},
        bounds=("match",),
        one_of=("theta", "xi", "match"),
        match=True,
    ),
    MethodEntry(
        "optimal",
        "the fewest changes under all the bounds, by linear programming",
        {**_PROGRAM, **_KEPT},
        bounds=Bounds.names(),
        match=True,
        moves=True,
        capped=True,
    ),
    MethodEntry(
        "lowered",
        "diagonals lowered until the chance of a correct match is small enough",
        _PROGRAM,
        bounds=Bounds.names(),
        match=True,
        moves=True,
        capped=True,
    ),
    MethodEntry(
        "fixed",
        "a matrix of your own",
        {"matrix": matrix, **_MATRIX},
        needs=("matrix", "orientation"),
        derived=False,
        moves=True,
    ),
    MethodEntry("design", "a design file", {"file": read.text}, needs=("file",), derived=False, moves=True),
    MethodEntry(
        "uniform",
        "the truth with one chance, every other category with another, by a demand on privacy",
        _DEMANDS,
        one_of=DEMANDS,
        derived=False,
    ),
)
_SWAP = MethodEntry("swap", "records exchanged so that every count stays exactly the same")
METHOD_ENTRIES: Mapping[str, MethodEntry] = {method.name: method for method in (*_ALL, _SWAP)}
BASES = tuple(method.name for method in _ALL if method.derived)
"""Methods whose flows a swap can carry out."""


def find_method(name: str, where: str) -> MethodEntry:
    """A method by its name.

    >>> find_method("method1", "[[protect]] number 1").summary
    'every category sends out and receives the same expected number of records'
    """
    if name not in METHOD_ENTRIES:
        raise unknown(name, f"{where}: there is no method", METHOD_ENTRIES)
    return METHOD_ENTRIES[name]


def find_base(table: read.Entries) -> MethodEntry:
    """The method whose flows a swap carries out."""
    hint = f"base = one of {', '.join(BASES)}"
    name = table.need("base", read.text, hint)
    if name not in BASES:
        raise unknown(name, f"{table.where}: a swap has no base", BASES)
    return METHOD_ENTRIES[name]


def take_options(table: read.Entries, method: MethodEntry) -> tuple[dict[str, Any], dict[str, Fraction]]:
    """The options of a method and its bounds, each checked alone and against each other."""
    _check_belongs(table, method)
    options = {key: table.take(key, reader) for key, reader in method.options.items() if key in table}
    bounds = {key: table.take(key, read.number) for key in method.bounds if key in table}
    for key in method.needs:
        if key not in options:
            raise PlanError(f"{table.where}: method {method.name} needs {key}", hint=_NEEDED[key], key=key)
    given = [key for key in method.one_of if key in options or key in bounds]
    if len(given) > 1 or (method.one_of and not given and not method.match):
        raise PlanError(
            f"{table.where}: method {method.name} has {' and '.join(given) or 'no number'}",
            hint=f"give one of: {', '.join(method.one_of)}",
            given=given,
        )
    _check_first(table.where, method, options)
    return options, bounds


def _check_belongs(table: read.Entries, method: MethodEntry) -> None:
    """Raise for an entry that other methods take, with the way to get it."""
    foreign = {key: _BOUNDED for key in Bounds.names() if key not in method.bounds and key not in method.options}
    foreign |= {} if method.capped else {"caps": _BOUNDED}
    foreign |= {} if method.derived else dict.fromkeys(("exclude", "strength", "counts_from"), _AS_IT_IS)
    for key, hint in foreign.items():
        if key in table:
            raise PlanError(f"{table.where}: method {method.name} takes no {key}", hint=hint, key=key)


def _check_first(where: str, method: MethodEntry, options: Mapping[str, Any]) -> None:
    """A matrix says which way it is written; an orientation without a matrix says nothing."""
    if method.name == "method2" and ("first" in options) != ("orientation" in options):
        missing = "orientation" if "first" in options else "first"
        raise PlanError(f"{where}: method method2 needs {missing}", hint=_NEEDED[missing], key=missing)


def demand_of(options: Mapping[str, Any]) -> Demand | None:
    """The demand on privacy among the options of a protection, if there is one.

    >>> demand_of({"rho": (Fraction(1, 10), Fraction(1, 2))}).gamma_exact
    Fraction(9, 1)
    """
    for name in DEMANDS:
        if name in options:
            given = options[name] if name == "rho" else (options[name],)
            return getattr(Demand, f"from_{name}")(*given)  # type: ignore[no-any-return]
    return None


_BOUNDED = 'for bounds use method = "optimal", or "lowered" for the chance of a match'
_AS_IT_IS = "its matrix is used as it is, in every record: write it into the matrix"
_NEEDED = {
    "matrix": 'give the name of a file, or rows of numbers: matrix = [["0.9", "0.2"], ["0.1", "0.8"]]',
    "first": "orientation says how the matrix `first` is written: give that too, or leave out orientation",
    "orientation": 'say what sums to one: orientation = "columns" (columns are truths) or "rows" (as in R)',
    "file": 'name the design file: file = "d.json" (maskwell design ... -o d.json makes one)',
}

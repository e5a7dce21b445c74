"""Method: how a plan asks for the matrix of a protection; a class with options for each way (`RELEASE_METHODS`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

from maskwell.core.arguments import Array
from maskwell.core.categories import Categories
from maskwell.core.exact import to_decimal
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.errors import PlanError
from maskwell.microdata.matrices.bounds import Bounds
from maskwell.microdata.matrices.kept_cells import KeptCells
from maskwell.microdata.matrices.mixing import ExchangeCosts
from maskwell.microdata.plans import plan_entries as read
from maskwell.microdata.plans.plan_entries import Reader
from maskwell.microdata.risk.intruders import ANY_LOOK
from maskwell.microdata.stages.stage import state_categories
from maskwell.privacy.criteria import Demand

INVARIANCES = ("counts", "weights")
# Options that say what somebody may learn: part of a randomization would not keep them.
PROMISED = ("xi", "gamma", "epsilon", "beta", "bayes_factor", "rho")


@dataclass(frozen=True, eq=False, kw_only=True)
class OpenStates:
    """States whose matrix is to be made from their counts, and what is asked of it."""

    # Shape (l,): records, and what the matrix keeps on average (records or sums of weights)
    counts: Array
    mass: Array
    # Labels of the variables in each state, and the codes of these labels, shape (l, variables)
    labels: Sequence[tuple[Hashable, ...]]
    codes: Array
    # Shape (l,): the cell of each state. No matrix leads out of a cell; most methods are given one cell at a time
    cells: Array
    bounds: Bounds  # Of the protection; caps by local place
    forbidden: Sequence[tuple[int, int]] = ()  # Pairs (released, true) of local places that must have probability zero
    where: str = ""  # The protection and the cell, for messages
    intruder: str = ANY_LOOK.name  # Whom the bound on a correct match is for
    others: ExchangeCosts | None = None  # What else is published of the records, where that is known
    kept: Sequence[KeptCells] = ()  # Tables that the matrix keeps within a tolerance

    @property
    def categories(self) -> Categories:
        """The states by their labels."""
        return state_categories(self.labels)

    @property
    def match(self) -> Fraction:
        """The bound on the chance of a correct match."""
        if self.bounds.match is None:
            raise PlanError("has-no-bound-on-a-correct", where=self.where)
        return self.bounds.match

    def part(self, places: Array) -> OpenStates:
        """Some of the states, such as those of one cell."""
        here = {int(place): i for i, place in enumerate(places)}
        caps = {here[place]: cap for place, cap in self.bounds.caps.items() if place in here}
        return replace(
            self,
            counts=self.counts[places],
            mass=self.mass[places],
            labels=[self.labels[i] for i in places],
            codes=self.codes[places],
            cells=self.cells[places],
            bounds=replace(self.bounds, caps=caps),
            forbidden=[(here[i], here[j]) for i, j in self.forbidden if i in here and j in here],
            kept=[one.part(places) for one in self.kept],
        )


def option(reader: Reader[Any], write: Callable[[Any], Any] | None = None, *, names_files: bool = False) -> Any:
    """A field that a plan may give: how it is read, how it is written, and whether it names files."""
    return field(default=None, metadata={"read": reader, "write": write or _plain, "names_files": names_files})


def _plain(value: Any) -> Any:
    return to_decimal(value) if isinstance(value, Fraction) else value


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to make the matrix of a protection; the fields of its class are the options that a plan may give."""

    name: ClassVar[str]  # Its name in a plan; the first line of its class says what it does
    # The bounds that it keeps (:class:`~maskwell.microdata.matrices.bounds.Bounds`)
    bounds: ClassVar[tuple[str, ...]] = ()
    # Options or bounds of which exactly one is given; none where the bound on the match stands in for it
    one_of: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()  # Options that must be given; match may be that of the whole release
    match: ClassVar[bool] = False  # Whether the bound match of the whole release serves where nothing else is given
    derived: ClassVar[bool] = True  # Whether the matrix is worked out from counts, and so reveals them
    moves: ClassVar[bool] = False  # Whether it can keep a rule about the moves of a variable
    capped: ClassVar[bool] = False  # Whether single categories may have a bound of their own
    by_counts: ClassVar[bool] = False  # Whether it works on records, whatever their weights
    bounds_weighted: ClassVar[bool] = False  # Whether it keeps sums of weights and a bound for records at once
    at_once: ClassVar[bool] = False  # Whether it takes the states of all cells at once, and keeps them apart itself
    exchanges: ClassVar[bool] = False  # Whether records are exchanged, so that every count stays exactly the same
    by_unit: ClassVar[bool] = False  # Whether all records of a unit are always exchanged together
    # Whether it looks at what the other published columns of a record tell of its labels
    weighs_others: ClassVar[bool] = False
    # Whether it can keep tables of its variables and other columns within a tolerance
    keeps_tables: ClassVar[bool] = False

    # ---- what a plan says

    @classmethod
    def option_names(cls) -> list[str]:
        """Options that a plan may give."""
        return [one.name for one in fields(cls) if "read" in one.metadata]

    @classmethod
    def maker_of(cls, table: read.Entries) -> type[Method]:  # noqa: ARG003
        """The method that makes the matrix: itself, but for a swap."""
        return cls

    @classmethod
    def around(cls, maker: Method) -> Method:
        """The method, given the one that makes its matrix."""
        return maker

    @classmethod
    def take(cls, table: read.Entries) -> tuple[Self, dict[str, Fraction]]:
        """The method with its options and its bounds, each checked alone and against each other."""
        mine = {*cls.bounds, *cls.option_names()}
        foreign = {key: _BOUNDED for key in Bounds.names() if key not in mine}
        foreign |= {} if cls.capped else {"caps": _BOUNDED}
        foreign |= {} if cls.derived else dict.fromkeys(("exclude", "strength", "counts_from"), _AS_IT_IS)
        foreign |= dict.fromkeys(("exclude", "strength", "counts_from"), _AS_POOLED) if cls.by_unit else {}
        for key, hint in foreign.items():  # entries that other methods take, with the way to get them
            if key in table:
                raise PlanError("method-takes-no", hint=hint, where=table.where, name=cls.name, key=key)
        readers = {one.name: one.metadata["read"] for one in fields(cls) if "read" in one.metadata}
        options = {key: table.take(key, reader) for key, reader in readers.items() if key in table}
        bounds = {key: table.take(key, read.number) for key in cls.bounds if key in table}
        for key in cls.needs:
            if key not in options and key != "match":
                raise cls.lacks(key, table.where)
        named = [key for key in cls.one_of if key in options or key in bounds]
        if len(named) > 1 or (cls.one_of and not named and not cls.match):
            raise PlanError(
                "where-method-name-has-named",
                where=table.where,
                name=cls.name,
                named=" and ".join(named) or "no number",
                one_of=", ".join(cls.one_of),
                given=named,
            )
        cls.check_options(options, table.where)
        return cls(**options), bounds

    @classmethod
    def check_options(cls, options: Mapping[str, Any], where: str) -> None:
        """Raise where options of the method contradict each other."""

    @classmethod
    def lacks(cls, key: str, where: str) -> PlanError:
        """The error for an option that must be given."""
        return PlanError("method-needs", hint=_NEEDED[key], where=where, name=cls.name, key=key)

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        values = {name: getattr(self, name) for name in self.option_names()}
        return {name: value for name, value in values.items() if value is not None}

    def contents(self) -> dict[str, Any]:
        """The options as the table of a plan has them; numbers as short decimals or fractions, in texts."""
        writers = {one.name: one.metadata["write"] for one in fields(self) if "write" in one.metadata}
        return {name: writers[name](value) for name, value in self.options.items()}

    def located(self, folder: str) -> Method:
        """With the names of its files seen from a folder."""
        maker = self.maker
        named = [one.name for one in fields(maker) if one.metadata.get("names_files") and one.name in maker.options]
        return self.around(replace(maker, **{name: located(getattr(maker, name), folder) for name in named}))

    @property
    def summary(self) -> str:
        """What it does in one line, as its class says."""
        first = (type(self).__doc__ or "").partition("\n")[0]
        return f"{first[:1].lower()}{first[1:].rstrip('.')}"

    @property
    def named_columns(self) -> Mapping[str, Sequence[str]]:
        """Columns of the file that its options name, by the option."""
        return {}

    # ---- what it promises

    @property
    def maker(self) -> Method:
        """The method that makes the matrix: that of the flows, for a swap."""
        return self

    @property
    def invariance_asked(self) -> str | None:
        """What a plan wants to be kept on average, if it says so."""
        return self.options.get("invariance")

    @property
    def own_match(self) -> Fraction | None:
        """A bound on a correct match among its options, from which the matrix follows: ``xi``."""
        return self.options.get("xi")

    def with_own_match(self, bound: Fraction) -> Method:
        """The same with another one."""
        changes: dict[str, Any] = {"xi": bound}
        return self.around(replace(self.maker, **changes))

    @property
    def follows_match(self) -> bool:
        """Whether the matrix follows from the bound on a correct match, because no number was given."""
        return self.match and not {"theta", "xi"} & self.options.keys()

    def promises(self) -> dict[str, Fraction]:
        """Bounds that its options amount to."""
        return {} if self.own_match is None else {"match": self.own_match}

    @property
    def demand(self) -> Demand | None:
        """The demand on privacy among its options, if there is one."""
        for name in DEMANDS:
            if (value := self.options.get(name)) is not None:
                parts = value if name == "rho" else (value,)
                return getattr(Demand, f"from_{name}")(*parts)  # type: ignore[no-any-return]
        return None


class CountMethod(Method, ABC):
    """A method whose matrix is computed from the counts of a file."""

    @abstractmethod
    def matrix_of(self, states: OpenStates) -> Sparse:
        """The matrix computed from the records of some states: those of one cell, or all where it takes them so."""


class GivenMethod(Method, ABC):
    """A method whose matrix was fixed before the file was counted."""

    derived: ClassVar[bool] = False

    @abstractmethod
    def given_design(self, levels: Sequence[Sequence[Hashable]], where: str) -> CodedDesign:
        """The matrix, for variables with these labels."""


def located(value: Any, folder: str) -> Any:
    """A name of a file, or the names that a matrix holds, seen from a folder."""
    if isinstance(value, Mapping):
        return {cell: located(one, folder) for cell, one in value.items()}
    return str(Path(folder) / value) if isinstance(value, str) else value


def up_to_one(value: Any, name: str) -> Fraction:
    """A number from 0 to 1."""
    number = read.number(value, name)
    if not 0 <= number <= 1:
        raise PlanError("is-out-of-range-give", name=name, number=to_decimal(number))
    return number


def above(least: int, *, strictly: bool) -> Reader[Fraction]:
    """Reads a number above a bound, or at least as large."""

    def bounded(value: Any, name: str) -> Fraction:
        number = read.number(value, name)
        if number < least or (strictly and number == least):
            allowed = f"above {least}" if strictly else f"of {least} or more"
            raise PlanError("is-out-of-range-give-a", name=name, number=to_decimal(number), allowed=allowed)
        return number

    return bounded


def _rho(value: Any, name: str) -> tuple[Fraction, Fraction]:
    pair = [read.number(one, name) for one in value] if isinstance(value, list | tuple) else []
    if len(pair) != 2 or not 0 < pair[0] < pair[1] < 1:
        raise PlanError("is-no-pair-of-probabilities", name=name)
    return pair[0], pair[1]


def kept_option() -> Any:
    """What is to be kept on average."""
    return option(read.choice(*INVARIANCES))


def demand_option(name: str) -> Any:
    """A demand on privacy in one of its languages."""
    write = (lambda pair: [to_decimal(one) for one in pair]) if name == "rho" else None
    return option(DEMANDS[name], write)


DEMANDS: Mapping[str, Reader[Any]] = {
    "gamma": above(1, strictly=True),
    "epsilon": above(0, strictly=True),
    "beta": above(1, strictly=True),
    "bayes_factor": above(1, strictly=True),
    "rho": _rho,
}

_BOUNDED = 'for bounds use method = "optimal", or "lowered" for the probability of a match'
_AS_IT_IS = "its matrix is used as it is, in every record: write it into the matrix"
_AS_POOLED = "leave it out: all regions of a pool are dealt anew; a smaller k or rate exchanges fewer"
_NEEDED = {
    "matrix": 'give the name of a file, or rows of numbers: matrix = [["0.9", "0.2"], ["0.1", "0.8"]]',
    "first": "orientation says how the matrix `first` is written: give that too, or leave out orientation",
    "orientation": 'say what sums to one: orientation = "columns" (columns are truths) or "rows" (as in R)',
    "similar": 'name columns in which units that exchange regions are alike: similar = [["hsize", "age"], ["hsize"]]',
    "risk": 'name the variables of which a rare combination puts a record at risk: risk = ["age", "sex"]',
    "k": "give the fewest records of a region that share the risk variables of a safe record: k = 3",
    "file": 'name the design file: file = "d.json" (maskwell design ... -o d.json makes one)',
}

"""Protection: one entry of a plan: which columns are randomized, within what, how, and under which bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from maskwell.core.arguments import check_kind, list_of
from maskwell.core.exact import percent_meant, to_decimal
from maskwell.errors import MaskwellError, PlanError
from maskwell.microdata.matrices.bounds import Bounds
from maskwell.microdata.plans import plan_entries as read
from maskwell.microdata.plans.count_methods import COUNT_METHODS, Swap, TargetedSwap
from maskwell.microdata.plans.given_methods import GIVEN_METHODS
from maskwell.microdata.plans.method import PROMISED, CountMethod, GivenMethod, Method
from maskwell.microdata.plans.plan_entries import Reader, unknown
from maskwell.microdata.stages.stage import Randomization

if TYPE_CHECKING:
    from maskwell.microdata.plans.kept_tables import KeptTable

WITHHELD, INCLUDED = "withheld", "included"
DRAWS = ("kept", "fresh")
RECORD, UNIT = "record", "unit"
EXEMPTIONS = ("alone", "missing")
COMMON_ENTRIES = (
    *("variables", "within", "linked", "method", "exclude", "exempt", "caps", "strength", "draws", "again", "publish"),
    *("clearance", "each"),
)
_KINDS: tuple[type[Method], ...] = (*COUNT_METHODS, *GIVEN_METHODS, Swap, TargetedSwap)
# All methods that a protection can name.
RELEASE_METHODS: Mapping[str, type[Method]] = {kind.name: kind for kind in _KINDS}


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How the matrix of a protection is carried out: see :class:`Protection`."""

    strength: Fraction = Fraction(1)
    draws: str = "kept"
    each: str = RECORD
    again: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class Protection(Drawing, Randomization):
    """One randomization that a plan asks for.

    Attributes
    ----------
    variables
        Columns that are randomized together.
    within
        Columns whose combinations each get a matrix of their own, so that no record leaves its cell.
    linked
        Columns that follow from the variables, and move with them.
    how
        The method that makes its matrix, one of :data:`RELEASE_METHODS`, with its numbers.
    bounds
        What the matrix keeps to.
    exclude
        For each variable the labels, as texts, that stay as they are and are never drawn.
    exempt
        Records that its bounds need not cover, which are refused otherwise: ``"alone"``, those whose value is the only
        one of their cell, and ``"missing"``, those without a value that stay as they are.
    caps
        For some labels of a single variable the largest chance that a record released with it has it in truth.
    strength
        a in ``a P + (1 - a) I``: how much of the randomization is carried out.
    draws
        With a key, whether draws are ``"kept"`` across releases or ``"fresh"`` in each; without one all are fresh.
    each
        Whether each ``"record"`` has a draw of its own, or all records of a ``"unit"``, such as a household, have one.
    again
        a in ``a P + (1 - a) I``, with which the drawn report is randomized once more, freshly in each release.
    publish
        Whether the matrix is ``"withheld"`` from users or ``"included"`` in what they get.
    clearance
        Why the counts may be known, where a matrix that reveals them is included.
    counts_from
        A file whose counts are used in place of those of the file to be released.
    keep
        Tables that its matrix keeps within their tolerances; the release sets them from ``keep`` of its plan.

    >>> roof = Protection.of(["roof", "sex"], "inverse-frequency", within=["region"], xi="0.4")
    >>> roof
    Protection(roof and sex within region, inverse-frequency, xi = 0.4)
    >>> roof.publish   # the matrix is computed from the counts, and would reveal them
    'withheld'
    """

    variables: tuple[str, ...]
    how: Method
    within: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    exclude: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exempt: tuple[str, ...] = ()
    caps: Mapping[str, Fraction] = field(default_factory=dict)
    publish: str = "withheld"
    clearance: str | None = None
    counts_from: str | None = None
    keep: tuple[KeptTable, ...] = ()

    @classmethod
    def of(cls, variables: str | Sequence[str], method: str, **more: Any) -> Protection:
        """From values as people type them; the keys are those of ``[[protect]]`` in a plan."""
        variables = variables if isinstance(variables, str) else list_of(str, variables, "variables")
        check_kind(str, method=method)
        title = variables if isinstance(variables, str) else " and ".join(map(str, variables))
        return cls.read({"variables": variables, "method": method, **more}, f"protection of {title}")

    @classmethod
    def read(cls, given: Any, where: str) -> Protection:
        """From its table; ``where`` is what errors call it."""
        if isinstance(given, Protection):
            return given
        table = read.Entries(given, where)
        hint = 'start with method = "mixing"; the other methods are on the page about plans'
        name = table.need("method", read.text, hint)
        if name not in RELEASE_METHODS:
            raise unknown(name, f"{where}: unknown method", RELEASE_METHODS)
        method = RELEASE_METHODS[name]
        maker = method.maker_of(table)
        values = _values(table, method, maker)
        table.finish(_allowed(maker, swap=method is not maker))
        try:
            return cls(**values)
        except PlanError as error:
            raise PlanError(
                f"{where}: {error.message}", hint=error.hint, values=error.values, **error.objects
            ) from error

    def __post_init__(self) -> None:
        if not self.variables:
            raise PlanError("variables-is-empty")
        named = [*self.variables, *self.within, *self.linked]
        if twice := [name for i, name in enumerate(named) if name in named[:i]]:
            raise PlanError("is-named-twice", twice=twice[0])
        asked = [*self.bounds.asked(), *(key for key in PROMISED if key in self.options)]
        if self.strength != 1 and (asked or self.base.capped or self.how.by_unit):
            what = asked[0] if asked else "the pools" if self.how.by_unit else "the bound"
            raise PlanError("strength-would-undo", strength=to_decimal(self.strength), asked=what)
        if both := [label for label in self.caps if label in self.exclude.get(self.variables[0], ())]:
            raise PlanError("is-excluded-and-has-a-cap", both=both[0])
        self._check_draws()
        if self.clearance is None and self.derived and self.publish == "included":
            raise PlanError("publish-included-would-publish-the-counts")

    @property
    def method(self) -> str:
        """The name of its method."""
        return self.how.name

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of its method that were given."""
        return self.how.options

    @property
    def pool(self) -> str | None:
        """The further column inside whose cells units are exchanged, once the records are known."""
        return self.how.pool if isinstance(self.how, TargetedSwap) else None

    @property
    def made_by(self) -> str:
        """How its matrix is made: the method in words, with its numbers."""
        numbers = [f"{name} = {to_decimal(x)}" for name, x in self.options.items() if isinstance(x, Fraction)]
        numbers += [f"{name} = {x}" for name, x in self.bounds.to_dict().items() if isinstance(x, str)]
        brackets = f" ({', '.join(numbers)})" if numbers else ""
        return f"{self.method}{brackets}: {self.how.summary}"

    @property
    def base(self) -> CountMethod | GivenMethod:
        """The method that makes the matrix: that of the flows, for a swap."""
        return cast("CountMethod | GivenMethod", self.how.maker)

    @property
    def derived(self) -> bool:
        """Whether the matrix is computed from the counts of the file itself."""
        return self.base.derived and self.counts_from is None

    @property
    def title(self) -> str:
        """Which columns, in words."""
        inside = f" within {' and '.join(self.within)}" if self.within else ""
        return " and ".join(self.variables) + inside

    def contents(self) -> dict[str, Any]:
        """As the table of a plan; numbers as short decimals or fractions, in texts."""
        out: dict[str, Any] = {"variables": list(self.variables)}
        out |= {key: list(getattr(self, key)) for key in ("within", "linked") if getattr(self, key)}
        out |= {"method": self.method}
        out |= self.how.contents() | self.bounds.to_dict()
        out |= {"exclude": {v: list(labels) for v, labels in self.exclude.items()}} if self.exclude else {}
        out |= {"exempt": list(self.exempt)} if self.exempt else {}
        out |= {"caps": {label: to_decimal(cap) for label, cap in self.caps.items()}} if self.caps else {}
        out |= {"strength": to_decimal(self.strength)} if self.strength != 1 else {}
        out |= {"draws": self.draws} if self.draws != "kept" else {}
        out |= {"each": self.each} if self.each != RECORD else {}
        out |= {"again": to_decimal(self.again)} if self.again is not None else {}
        out |= {key: getattr(self, key) for key in ("publish", "clearance", "counts_from") if getattr(self, key)}
        return out

    def _check_draws(self) -> None:
        alone = {
            "a swap": self.how.exchanges and not self.how.by_unit,
            "again": self.again is not None,
            "counts_from": self.counts_from is not None,
            'invariance = "weights"': self.how.invariance_asked == "weights",
        }
        clash = next((name for name, there in alone.items() if there), None)
        if self.each == UNIT and clash is not None:
            raise PlanError("each-unit-does-not-go", clash=clash)
        if self.again is None:
            return
        if self.how.exchanges:
            raise PlanError("again-draws-each-record-anew-which")
        if self.draws == "fresh":
            raise PlanError("again-randomizes-a-kept-report-once")

    def __repr__(self) -> str:
        numbers = [key for key, value in self.options.items() if isinstance(value, Fraction | str | int)]
        contents = self.how.contents()
        entries = {**{key: contents[key] for key in numbers}, **self.bounds.to_dict()}
        told = [f"{key} = {value}" for key, value in entries.items()]
        return f"Protection({', '.join([self.title, self.method, *told])})"


_EACH = read.choice(RECORD, UNIT)


def _values(table: read.Entries, method: type[Method], maker: type[Method]) -> dict[str, Any]:
    """The entries of a table, each in its one form; ``maker`` is the method that makes the matrix."""
    variables = table.need("variables", read.names, 'name the columns to randomize: variables = ["sex"]')
    made, bounds = maker.take(table)
    derived = maker.derived and "counts_from" not in table
    return {
        "variables": variables,
        "how": method.around(made),
        "within": table.take("within", read.names, ()),
        "linked": table.take("linked", read.names, ()),
        "bounds": _bounds(bounds, table.where),
        "exclude": table.take("exclude", read_exclude(variables), {}),
        "exempt": table.take("exempt", _exemptions, ()),
        "caps": table.take("caps", read_caps(variables), {}),
        "strength": table.take("strength", read.share, Fraction(1)),
        "draws": table.take("draws", read.choice(*DRAWS), "kept"),
        "each": table.take("each", read.choice(UNIT), UNIT) if maker.by_unit else table.take("each", _EACH, RECORD),
        "again": table.take("again", read.share),
        "publish": table.take("publish", read.choice(WITHHELD, INCLUDED), "withheld" if derived else "included"),
        "clearance": table.take("clearance", read.text),
        "counts_from": table.take("counts_from", read.text),
    }


def _allowed(maker: type[Method], *, swap: bool) -> list[str]:
    names = [*maker.option_names(), *maker.bounds]
    names += [*(["counts_from"] if maker.derived else []), *(["base"] if swap else [])]
    left_out = () if maker.capped else ("caps",)
    return names + [key for key in COMMON_ENTRIES if key not in left_out]


def _bounds(limits: Mapping[str, Fraction], where: str) -> Bounds:
    try:
        return Bounds.of(caps=None, **limits)
    except MaskwellError as error:
        raise PlanError(f"{where}: {error.message}", hint=error.hint, values=error.values, **error.objects) from error


def _exemptions(value: Any, name: str) -> tuple[str, ...]:
    return tuple(read.choice(*EXEMPTIONS)(one, name) for one in read.names(value, name))


def read_exclude(variables: Sequence[str]) -> Reader[dict[str, tuple[str, ...]]]:
    """Reads the labels that stay: a list for one variable, a table of lists for several."""

    def entry(value: Any, name: str) -> dict[str, tuple[str, ...]]:
        by_variable = value if isinstance(value, Mapping) else {_only(variables, name, '{ roof = ["9"] }'): value}
        for variable in by_variable:
            if variable not in variables:
                raise read.unknown(str(variable), f"{name}: unknown variable", [*variables])
        return {variable: read.labels(labels, f"{name} of {variable!r}") for variable, labels in by_variable.items()}

    return entry


def read_caps(variables: Sequence[str]) -> Reader[dict[str, Fraction]]:
    """Reads the bounds of single labels of a variable."""

    def entry(value: Any, name: str) -> dict[str, Fraction]:
        if len(variables) > 1:
            raise PlanError("needs-a-single-variable", name=name)
        caps = {}
        for label, given in read.table(value, name).items():
            cap = caps[label] = read.number(given, where := f"{name}: {label}")
            if not 0 <= cap <= 1:
                meant = percent_meant(cap)
                raise PlanError("is-out-of-range-give-a-number-0", name=where, cap=to_decimal(cap), percent_meant=meant)
        return caps

    return entry


def _only(variables: Sequence[str], name: str, form: str) -> str:
    if len(variables) != 1:
        raise PlanError("does-not-say-which-variable-it", name=name, rsplit=name.rsplit(": ", 1)[-1], form=form)
    return variables[0]

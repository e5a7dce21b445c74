"""Designs brought to a given protection: named devices by their one free parameter, any other by dilution.

Whatever is rounded is rounded towards more privacy. Closed forms: docs/theory/fair-comparison.md. Dilution, at share s:

    A' = s A + (1 - s) w 1',      w = A 1 / k,      s = min_i r w_i / (r w_i + e_i)

over the rows beyond the value, where e_i is the excess of row i and r the room of a row of ones
(:mod:`maskwell.privacy.measures`). Source: Lanke's equaliser in [Adeshiyan2011, section 2.3]; the others are derived.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, Parity, check_probability, floor_to, root_below, to_decimal, to_float, to_text
from maskwell.core.phrases import Printed
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.subset import LocalDiversity, Subset
from maskwell.designs.unary import Unary
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError
from maskwell.privacy.criteria import verdict
from maskwell.privacy.measures import PARITY, Measure
from maskwell.procedures.design_builders import check_count, check_shares, numbered
from maskwell.procedures.registry import make_design

Kept = Mapping[str, Any]
HALF, ONE, ZERO = Fraction(1, 2), Fraction(1), Fraction(0)

PLACES = 64  # binary places of parameters that have to be rounded


@dataclass(frozen=True)
class Tunable:
    """A family with one free parameter."""

    free: str  # the parameter that is solved for
    # from no information to the most telling member, for the kept parameters
    ends: Callable[[Kept], tuple[Fraction, Fraction]]
    # by_ratio, by_parity: the free parameter from R for the first category, and from gamma; None where there is none
    by_ratio: Callable[[Fraction, Kept], Fraction]
    by_parity: Callable[[Fraction, Kept], Fraction] | None
    kept: Mapping[str, Callable[[Any], Any]]  # parameters that the caller gives, with the reader of each
    others: Callable[[Fraction, Kept], Kept] = lambda _t, _kept: {}  # parameters that follow from the free one
    # kept parameters that are replaced by one minus them for the mirror image, in which the two reports change places;
    # None where there is no mirror image
    mirrored: tuple[str, ...] | None = None

    def parameters(self, t: Fraction, kept: Kept) -> dict[str, Any]:
        """Everything the builder takes."""
        return {
            **{name: value for name, value in kept.items() if name != "weights"},
            self.free: t,
            **self.others(t, kept),
        }


def _probability(name: str) -> Callable[[Any], Fraction]:
    return lambda value: check_probability(value, name)


def _weights(values: Any) -> list[Fraction]:
    return check_shares(numbered(values, "weights"))[0]


def _odds(odds: Fraction) -> Fraction:
    """The probability with these odds."""
    return odds / (1 + odds)


def _second_stage(p: Fraction, t: Fraction) -> Fraction:
    return (p - t) / (1 - t)


def _root(value: Fraction, degree: int) -> Fraction:
    """The root itself where it is a fraction, else a little less."""
    above, below = (root_below(Fraction(n), degree, 0) for n in (value.numerator, value.denominator))
    exact = above / below
    return exact if exact**degree == value else root_below(value, degree, PLACES)


def _warner(free: str) -> Tunable:
    return Tunable(free, lambda _: (HALF, ONE), lambda r, _: _odds(r), lambda g, _: _odds(g), kept={}, mirrored=())


TUNABLE: dict[str, Tunable] = {
    "warner": _warner("p"),
    "crosswise": _warner("q"),
    "mangat-singh": Tunable(
        "p",
        lambda kept: (max(ZERO, _second_stage(HALF, kept["t"])), ONE),
        lambda r, kept: _second_stage(_odds(r), kept["t"]),
        lambda g, kept: _second_stage(_odds(g), kept["t"]),
        kept={"t": lambda t: check_probability(t, "t", open_=t != 0)},
    ),
    "simmons": Tunable(
        "p",
        lambda _: (ZERO, ONE),
        lambda r, kept: _odds(kept["beta"] * (r - 1)),
        lambda g, kept: _odds(min(kept["beta"], 1 - kept["beta"]) * (g - 1)),
        kept={"beta": _probability("beta")},
    ),
    "forced": Tunable(
        "truth",
        lambda kept: (ZERO, 1 - kept["yes"]),
        lambda r, kept: kept["yes"] * (r - 1),
        lambda g, kept: min(kept["yes"] * (g - 1), (1 - kept["yes"]) * (g - 1) / g),
        kept={"yes": _probability("yes")},
        others=lambda t, kept: {"no": 1 - kept["yes"] - t},
    ),
    "mangat": Tunable("p", lambda _: (ZERO, ONE), lambda r, _: 1 - 1 / r, None, kept={}),
    "triangular": Tunable("q", lambda _: (ONE, ZERO), lambda r, _: 1 / r, None, kept={}),
    "kuk": Tunable(
        "theta1",
        lambda kept: (kept["theta2"], ONE),
        lambda r, kept: kept["theta2"] * _root(r, kept["draws"]),
        lambda gamma, kept: min(
            kept["theta2"] * (g := _root(gamma, kept["draws"])), 1 - (1 - Fraction(kept["theta2"])) / g
        ),
        kept={"theta2": _probability("theta2"), "draws": lambda r: check_count(r, "draws", low=1, high=1000)},
        mirrored=("theta2",),
    ),
    "liu-chow": Tunable(
        "p",
        lambda _: (ZERO, ONE),
        lambda r, kept: _odds(kept["weights"][0] * (r - 1)),
        lambda g, kept: _odds(min(kept["weights"]) * (g - 1)),
        kept={"weights": _weights},
        others=lambda t, kept: {"q": [(1 - t) * w for w in kept["weights"]]},
    ),
}


def tuned(
    family: str, *, value: Number, measure: str | Measure = "ratio", categories: Categories | None = None, **kept: Any
) -> Design:
    """The member of a family with a given protection."""
    check_kind(str, family=family)
    check_kind(Measure | str, measure=measure)
    check_kind(Categories | None, categories=categories)
    if family not in TUNABLE:
        raise ParameterError("has-no-parameter-that-can", tunable=", ".join(TUNABLE), family=family)
    tunable = TUNABLE[family]
    judged = Measure.of(measure) if isinstance(measure, str) else measure
    missing, unknown = [n for n in tunable.kept if n not in kept], [n for n in kept if n not in tunable.kept]
    if missing or unknown:
        raise ParameterError(
            f"{family} is tuned by {tunable.free} and keeps {', '.join(tunable.kept) or 'nothing else'}",
            hint=f"give {', '.join(missing)}" if missing else f"leave out {', '.join(unknown)}",
            parameters=dict(kept),
        )
    values = {name: read(kept[name]) for name, read in tunable.kept.items()}
    made = _Search(family, tunable, values, judged, categories).solve(judged.read(value))
    return made.with_provenance(tuned={"measure": judged.name, "value": to_text(judged.read(value))})


def retuned(design: Design, measure: Measure, value: Fraction) -> Design | None:
    """Another member of the family that a design says it is from, with the same kept parameters; None without one."""
    search = _origin(design, measure)
    if search is None:
        return None
    made = search.solve(value)
    return made.with_labels(design.inputs, design.outputs if isinstance(design.outputs, Categories) else None)


@dataclass(frozen=True)
class _Search:
    """A family with its kept parameters, looked through for a protection."""

    family: str
    tunable: Tunable
    kept: Kept
    measure: Measure
    categories: Categories | None
    mirror: bool = False

    def solve(self, value: Fraction) -> Design:
        low, high = self.attainable()
        if not low <= value <= high:
            raise self._out_of_reach(value, low, high)
        start, end = self.tunable.ends(self._seen)
        ratio = None if self.measure.name == "parity" else self.measure.one_sided(value)
        if self.measure.name == "parity" and self.tunable.by_parity is not None:
            t = self.tunable.by_parity(value, self._seen)
        else:
            t = self._bisect(value, start, end) if ratio is None else self.tunable.by_ratio(ratio, self._seen)
        if t.denominator.bit_length() > PLACES:  # a long one is rounded towards no information
            t = floor_to(t, PLACES) if t >= start else -floor_to(-t, PLACES)
        made = self.build(t)
        if not made.identifiable:
            raise self._out_of_reach(value, self.measure.limit, self.measure.limit)
        return made

    def attainable(self) -> tuple[Parity, Parity]:
        """The protection of the least and of the most informative member."""
        low, high = (self.measure.value(self.build(t)) for t in self.tunable.ends(self._seen))
        return low, high

    @property
    def _seen(self) -> Kept:
        """The kept parameters, in the mirror where the design is a mirror image."""
        turned = self.tunable.mirrored or () if self.mirror else ()
        return {name: 1 - value if name in turned else value for name, value in self.kept.items()}

    def _bisect(self, value: Fraction, start: Fraction, end: Fraction) -> Fraction:
        """The most informative parameter that keeps to the value."""
        if self.measure.value(self.build(end)) <= value:
            return end
        low, high = 0, 1 << PLACES
        while high - low > 1:
            middle = (low + high) // 2
            t = start + (end - start) * Fraction(middle, 1 << PLACES)
            low, high = (middle, high) if self.measure.value(self.build(t)) <= value else (low, middle)
        return start + (end - start) * Fraction(low, 1 << PLACES)

    def build(self, t: Fraction) -> Design:
        parameter = 1 - t if self.mirror else t
        return make_design(
            self.family,
            categories=self.categories,
            allow_unidentifiable=True,
            **self.tunable.parameters(parameter, self.kept),
        )

    def _out_of_reach(self, value: Fraction, low: Parity, high: Parity) -> ParameterError:
        texts = {n: to_decimal(v) if isinstance(v, Fraction) else v for n, v in self.kept.items()}
        kept = "".join(f", {n} = {v if isinstance(v, str | int) else '...'}" for n, v in texts.items())
        ends = [f"{Printed(to_float(end)):.6g}" if end != self.measure.limit else "no bound" for end in (low, high)]
        alike = "all informative designs have no bound" + "; a bound on the ratio is possible" * (
            self.measure.name == "parity" and self.tunable.by_parity is None
        )
        return ParameterError(
            "family-kept-has-no-member",
            hint=f"its members range from {ends[0]} to {ends[1]}" if low != high else alike,
            family=self.family,
            kept=kept,
            name=self.measure.name,
            value=to_float(value),
            attainable=(low, high),
        )


def _origin(design: Design, measure: Measure) -> _Search | None:
    """The family that made a design; None where it names no such family, or another design than itself."""
    family, parameters = design.provenance.get("family"), design.provenance.get("parameters")
    if family not in TUNABLE or not isinstance(parameters, Mapping):
        return None
    tunable = TUNABLE[str(family)]
    try:
        if "weights" in tunable.kept:
            white = [Fraction(q) for q in str(parameters["q"]).split(",")]
            kept: Kept = {"weights": [q / sum(white) for q in white]}
        else:
            kept = {name: read(str(parameters[name])) for name, read in tunable.kept.items()}
        t = Fraction(parameters[tunable.free])
        mirror = tunable.mirrored is not None and t < tunable.ends(kept)[0]
        search = _Search(str(family), tunable, kept, measure, design.inputs, mirror)
        same = search.build(1 - t if mirror else t)
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    return search if same.exact_matrix() == design.exact_matrix() else None


READABLE = 20  # characters of a fraction that people can read


@dataclass(frozen=True)
class Equalised:
    """A design made more private, and how, in words."""

    design: Design  # of parity at most what was asked; within slack for one given as decimals, which is left as it is
    how: str


def at_parity(design: Design, gamma: Fraction) -> Equalised:
    """The design brought down to parity gamma; itself when it is as private already."""
    if gamma <= 1:
        raise ParameterError("a-design-of-parity-tells-nothing", to_text=to_text(gamma))
    if verdict(design.parity_exact(), gamma, decimals=design.decimals).meets:
        return Equalised(design, "unchanged")
    member = _of_parity(design, gamma)
    return diluted(design, gamma) if member is None else Equalised(member, f"{_named(member)} of that parity")


def at_level(design: Design, measure: Measure, value: Fraction) -> Equalised:
    """The design brought to a value of any measure, within its family where it has one."""
    now = measure.value(design)
    if now == value:
        return Equalised(design, "unchanged")
    if measure.name == "parity" and value < now:
        return at_parity(design, value)
    member = _member(design, measure, value, may_fail=value < now)
    if member is not None:
        if isinstance(member, Uniform):
            return Equalised(member, f"{_named(member)} of that ratio")
        said = [f"{name} = {_short(text)}" for name, text in member.provenance["parameters"].items()]
        return Equalised(member, f"{member.provenance['family']} with {', '.join(said)}")
    if value < now:
        return diluted(design, value, measure)
    raise ParameterError(
        "this-design-cannot-be-made-more",
        kind=design.kind,
        name=measure.name,
        now=to_float(now),
        blank=to_float(measure.blank),
        attainable=(measure.blank, now),
    )


def _member(design: Design, measure: Measure, value: Fraction, *, may_fail: bool) -> Design | None:
    """Another member of the family of the design; None without a family, or where it has no such member."""
    if isinstance(design, Uniform) and measure.name != "hazard":
        return Uniform.from_gamma(value, design.inputs)
    try:
        return retuned(design, measure, value)
    except ParameterError:
        if may_fail:
            return None
        raise


def _short(text: str) -> str:
    return text if len(text) <= READABLE or "," in text else f"{Printed(float(Fraction(text))):.6g}"


def diluted(design: Design, value: Fraction, measure: Measure = PARITY) -> Equalised:
    """The same device, used by some respondents for a random category, as few as the measure allows."""
    rows = design.exact_matrix()
    kept, room = Fraction(1), measure.room(value)
    for row in rows:
        if (excess := measure.excess(row, value)) > 0:
            random = room * sum(row) / len(row)
            kept = min(kept, random / (random + excess))  # the largest share at which this row keeps to the value
    mixed = [[kept * p + (1 - kept) * sum(row) / design.k for p in row] for row in rows]
    outputs = design.outputs if isinstance(design.outputs, Categories) else None
    others = f"{Printed(100 * float(1 - kept)):.4g} %"
    how = f"the same device, with {others} of the respondents using it for a random category"
    return Equalised(Dense.of(mixed, design.inputs, outputs), how)


def _of_parity(design: Design, gamma: Fraction) -> Design | None:
    """The member of that parity of structures that have one for every parity."""
    if type(design) is Uniform:
        return Uniform.from_gamma(gamma, design.inputs)
    if type(design) in (Subset, LocalDiversity):
        return Subset.from_gamma(gamma, design.inputs, size=design.size)  # type: ignore[attr-defined]
    if type(design) is Unary and design.keep + design.flip == 1:
        return Unary.rappor_from_gamma(gamma, design.inputs)
    return Unary.oue_from_gamma(gamma, design.inputs) if type(design) is Unary and design.keep == HALF else None


def _named(design: Design) -> str:
    if isinstance(design, Subset):
        return f"subset selection of size {design.size:,}"
    return "a k-ary design" if isinstance(design, Uniform) else "the same encoding in bits"

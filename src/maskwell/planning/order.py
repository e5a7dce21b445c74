"""Which of two designs is more informative: the order of Blackwell, with a proof of the answer.

The ways to an answer, the cheap ones first, and their proofs: docs/theory/order.md.

Source: [ChaiNayak2018, Definition 4.1, Lemma 4.1]; the gain matrices are derived.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from maskwell.core.arguments import Real, check_kind
from maskwell.core.display import Result
from maskwell.core.exact import Number, Parity, as_fraction, common_denominator, to_float, told_apart
from maskwell.core.phrases import Printed, listed
from maskwell.designs.design import Design, big
from maskwell.designs.proofs import gain_margin, garbling_residual
from maskwell.designs.rational import Frame, Matrix, product
from maskwell.designs.row_reduction import Reduction, reduce_rows
from maskwell.designs.subset import FixedSizeSets, Subset
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError, TooLargeError
from maskwell.planning import blackwell
from maskwell.planning.blackwell import Sufficiency, nearly, no, unsettled, yes

INVERSE_LIMIT = 10**9
"""Work beyond which no exact inverse is tried: ``n^4 b`` for the lesser side n of P and probabilities of b bits. At the
limit it takes some ten seconds: 65 categories with probabilities given as floats, 110 with whole percentages."""

GAINS = "there is a decision in which the other design wins more"
_HOPELESS = -1e-6  # programs with less slack have no garbling; within rounding of zero one is tried


@dataclass(frozen=True)
class Question:
    """Is P sufficient for A, both reduced? Differences up to ``allowed`` of the largest entry of a row are rounding."""

    P: Matrix
    A: Matrix
    parity: Parity
    allowed: Fraction

    def answer(self) -> Sufficiency:
        """By the first way that settles it."""
        known = self.same() or self._if_clear(self.by_parity())
        if known:
            return known
        bits = max(common_denominator(column).bit_length() for column in zip(*self.P, strict=True))
        if min(len(self.P), len(self.P[0])) ** 4 * bits > INVERSE_LIMIT:
            slow = "an exact inverse of the matrix would take too long"
            return self._unless_near(self.by_parity()) or unsettled(slow)
        frame = Frame.of(self.P, blackwell.good_order(self.P))
        refusal = self.by_rank(frame)
        if refusal is None and frame.rank == len(self.P):
            refusal = self.by_inverse(frame)
        settled = refusal if refusal and refusal.holds else self._if_clear(refusal)
        return settled or self.by_program(frame, refusal)

    def _if_clear(self, refusal: Sufficiency | None) -> Sufficiency | None:
        """A refusal by more than rounding: no garbling comes within ``allowed`` of A in every entry.

        Gains G win at most ``sum |G_ij| t max_j a_ij`` more with A than with a garbling that is off by t at most.
        """
        if not refusal or refusal.gain is None:
            return None
        pairs = zip(self.A, refusal.gain, strict=True)
        most = sum((max(row) * sum(map(abs, gains)) for row, gains in pairs), Fraction(0))
        return refusal if _margin(refusal) > self.allowed * most else None

    def _unless_near(self, refusal: Sufficiency | None) -> Sufficiency | None:
        """A refusal that was not weighed against rounding settles nothing where rounding is allowed."""
        return None if self.allowed else refusal

    def same(self) -> Sufficiency | None:
        """Rows that are the same up to order, or a single one."""
        if len(self.A) == 1:
            return yes("same", "the other design reveals nothing", [[Fraction(1)] * len(self.P)])
        if sorted(self.A) != sorted(self.P):
            return None
        place, zero, one = {tuple(row): u for u, row in enumerate(self.P)}, Fraction(0), Fraction(1)
        homes = [place[tuple(row)] for row in self.A]
        C = [[one if u == h else zero for u in range(len(homes))] for h in homes]
        return yes("same", "the rows are the same", C)

    def by_parity(self) -> Sufficiency | None:
        """A row of A beyond the parity of P."""
        eta = self.parity
        if isinstance(eta, float):
            return None
        i = max(range(len(self.A)), key=lambda i: max(self.A[i]) / eta - min(self.A[i]))
        high, low = (self.A[i].index(pick(self.A[i])) for pick in (max, min))
        margin = self.A[i][high] / eta - self.A[i][low]
        if margin <= 0:
            return None
        row = [Fraction(0)] * len(self.A[i])
        row[high], row[low] = 1 / eta, Fraction(-1)
        return no("parity", f"its parity is only {Printed(to_float(eta)):.6g}", self._only(i, row), margin)

    def _only(self, i: int, gains: Sequence[Fraction]) -> Matrix:
        """Gains for one report and none for the others."""
        return [list(gains) if row == i else [Fraction(0)] * len(gains) for row in range(len(self.A))]

    def by_rank(self, frame: Frame) -> Sufficiency | None:
        """A direction that P does not show and A does."""
        for x in frame.null_vectors(self.P):
            size = max(map(abs, x))
            x = [value / size for value in x]
            seen = [sum(map(Fraction.__mul__, row, x), Fraction(0)) for row in self.A]
            if any(seen):
                gain = [[(y > 0) * v - (y < 0) * v for v in x] for y in seen]
                reason = "it cannot distinguish true proportions that the other design can"
                return no("rank", reason, gain, sum(map(abs, seen), Fraction(0)))
        return None

    def by_inverse(self, frame: Frame) -> Sufficiency:
        """The only C there can be; the rows of P are those of the frame."""
        coefficients = frame.coefficients(self.A)
        C = [[row[frame.rows.index(u)] for u in range(len(self.P))] for row in coefficients]
        i = min(range(len(C)), key=lambda i: min(C[i]))
        if min(C[i]) >= 0:
            return yes("inverse", "randomizing its reports once more gives the other design", C)
        x = [Fraction(0)] * len(self.P[0])
        for j, row in zip(frame.columns, frame.inverse, strict=True):
            x[j] = -row[frame.rows.index(C[i].index(min(C[i])))]
        size = max(map(abs, x))
        gain = self._only(i, [value / size for value in x])
        reason = "the only matrix that would give the other design has negative entries"
        return no("inverse", reason, gain, gain_margin(gain, self.P, self.A))

    def by_program(self, frame: Frame, refusal: Sufficiency | None) -> Sufficiency:
        """The linear program; ``refusal`` is a proof of no, though one within rounding."""
        refusal = refusal or self.by_parity()
        if len(self.A) * len(self.P) * frame.rank > blackwell.SIZE_LIMIT:
            large = f"the linear program would have more than {blackwell.SIZE_LIMIT:,} coefficients"
            return self._unless_near(refusal) or unsettled(large)
        answer = blackwell.ask(self.P, self.A, frame)
        if answer is None:
            return self._unless_near(refusal) or unsettled("the solver of the linear program gave up")
        gain = blackwell.rounded_gain(answer.G, self.P, self.A) if answer.slack < 0 else None
        refusals = list(filter(None, (refusal, no("program", GAINS, *gain) if gain else None)))
        return (
            next(filter(self._if_clear, sorted(refusals, key=_margin, reverse=True)), None)
            or (None if refusals or answer.slack < _HOPELESS else self._by_garbling(answer.C, answer.positive, frame))
            or self._nearest(frame, may_hold=not refusals)
            or unsettled(f"too close to call: the linear program ends at {Printed(answer.slack):.2g}")
        )

    def _by_garbling(self, near: Real, positive: NDArray[np.bool_], frame: Frame) -> Sufficiency | None:
        """An exact garbling close to one in floats, or with its zeros."""
        C = blackwell.corrected(blackwell.nearest_transition(near), self.P, self.A, frame)
        C = C or blackwell.on_support(positive, self.P, self.A, frame)
        return yes("program", "randomizing its reports once more gives the other design", C) if C else None

    def _nearest(self, frame: Frame, *, may_hold: bool) -> Sufficiency | None:
        """The nearest garbling made exact; else yes up to its residual, no where none is near, or neither."""
        nearest = blackwell.nearest(self.P, self.A)
        if nearest is None:
            return None
        near, G = nearest
        exact = self._by_garbling(near, near > blackwell.POSITIVE, frame) if may_hold else None
        if exact or not self.allowed:
            return exact
        C = blackwell.nearest_transition(near)
        if self._residual(C) <= self.allowed:
            off = garbling_residual(C, self.P, self.A)
            return nearly(
                f"randomizing its reports once more gives the other design up to {Printed(to_float(off)):.1g}", C, off
            )
        gain = blackwell.rounded_gain(G, self.P, self.A)
        return self._if_clear(no("program", GAINS, *gain)) if gain else None

    def _residual(self, C: Matrix) -> Fraction:
        """The largest difference between ``C P`` and A, relative to the largest entry of the row of A."""
        made = product(C, self.P)
        rows = zip(made, self.A, strict=True)
        return max(max(abs(x - y) for x, y in zip(got, row, strict=True)) / max(row) for got, row in rows)


def _margin(refusal: Sufficiency) -> Fraction:
    return refusal.margin or Fraction(0)


TOLERANCE = Fraction(1, 10**8)
"""How far a garbling may be off where probabilities represent others, relative to the largest one of the report."""

LABELS_WIDTH = 34
ENTRY_LIMIT = 10**5  # entries of a matrix beyond which designs are compared by their structure and parity only
GARBLING_LIMIT = 2 * 10**6
"""The same for the entries that a garbling would have: reports of one design times reports of the other."""

Verdict = Literal["first", "second", "equivalent", "incomparable", "undecided"]


@dataclass(frozen=True, repr=False)
class Order(Result):
    """How two designs compare: the verdict, and the two questions behind it.

    ``first_for_second``: whether the first is sufficient for the second; ``second_for_first``: the converse.
    """

    verdict: Verdict
    first_for_second: Sufficiency
    second_for_first: Sufficiency

    @property
    def exact(self) -> bool:
        """Whether both answers are proved in fractions."""
        return self.first_for_second.exact and self.second_for_first.exact

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        both = {name: getattr(self, name).to_dict() for name in ("first_for_second", "second_for_first")}
        return {"order": self.verdict, "exact": self.exact, **both}

    def __repr__(self) -> str:
        return f"Order({self.verdict!r}, exact={self.exact})"


def order_of(first: Design, second: Design, *, tolerance: Number | None = None) -> Order:
    """Which of two designs is more informative about the truth.

    The verdict is ``"first"`` when the first is sufficient for the second and not conversely, ``"second"`` the other
    way round, ``"equivalent"`` when both hold, ``"incomparable"`` when neither does (each is better for some purpose),
    and ``"undecided"`` when one of the two questions could not be settled.

    Parameters
    ----------
    first, second
        Designs on the same categories.
    tolerance
        Differences of probabilities up to this part of the largest chance of the report are put down to rounding: a
        garbling that is right up to them is a yes, marked as not exact. 0 asks about the designs exactly as they are.
        By default it is 1e-8 where a design was given as decimals, or rounded for a bound such as e**epsilon, and 0
        for fractions.

    Source: [ChaiNayak2018, Definition 4.1 and Theorem 4.1].

    >>> from maskwell import Categories
    >>> from maskwell.designs import Subset, Uniform
    >>> four = Categories.numbered(4)
    >>> order_of(Uniform.from_gamma(4, four), Uniform.from_gamma(2, four)).verdict
    'first'
    >>> order_of(Uniform.from_gamma(3, four), Subset.from_gamma(3, four, size=2)).verdict   # equally private
    'incomparable'
    """
    forth = sufficiency(first, second, tolerance=tolerance)
    back = sufficiency(second, first, tolerance=tolerance)
    verdicts: dict[Any, Verdict] = {(True, True): "equivalent", (True, False): "first", (False, True): "second"}
    open_ = forth.holds is None or back.holds is None
    verdict = "undecided" if open_ else verdicts.get((forth.holds, back.holds), "incomparable")
    return Order(verdict, forth, back)


def sufficiency(P: Design, A: Design, *, tolerance: Number | None = None) -> Sufficiency:
    """Whether reports of A could be made from reports of P: ``A = C P``; ``tolerance`` as in :func:`order_of`."""
    check_same_categories(P, A)
    usual = TOLERANCE if P.rounded or A.rounded else 0
    allowed = as_fraction(usual if tolerance is None else tolerance, "tolerance")
    if not 0 <= allowed <= Fraction(1, 1000):
        raise ParameterError("tolerance-is-not-between-0", tolerance=tolerance)
    known = _by_structure(P, A)
    if known is not None:
        return known
    if not all(design.has_entries_up_to(ENTRY_LIMIT) for design in (P, A)) or P.m * A.m > GARBLING_LIMIT:
        return _by_parity_alone(P, A, allowed)
    try:
        full, target = reduce_rows(P.exact_matrix()), reduce_rows(A.exact_matrix())
    except TooLargeError:  # a composition may be small and yet too much work to write out
        return _by_parity_alone(P, A, allowed)
    answer = Question(full.rows, target.rows, P.parity_exact(), allowed).answer()
    return replace(_restored(answer, full, target), parities=(P.parity_exact(), A.parity_exact()))


def _restored(answer: Sufficiency, P: Reduction, A: Reduction) -> Sufficiency:
    """The proof for the designs as they are, from that for their merged rows: ``A.C garbling P.C_star``."""
    if answer.gain is not None:
        return replace(answer, gain=[answer.gain[home] for home in A.homes])
    if answer.garbling is None:
        return answer
    columns = [[row[home] for home in P.homes] for row in answer.garbling]
    pairs = zip(A.shares, A.homes, strict=True)
    return replace(answer, garbling=[[share * c if c else c for c in columns[home]] for share, home in pairs])


def check_same_categories(first: Design, second: Design) -> None:
    """Raise unless both designs ask about the same categories."""
    check_kind(Design, first=first, second=second)
    if first.inputs.labels != second.inputs.labels:
        raise ParameterError(
            "the-categories-differ",
            labels_in_short=listed(map(repr, first.inputs.labels), first.k, LABELS_WIDTH),
            labels_in_short_shown=listed(map(repr, second.inputs.labels), second.k, LABELS_WIDTH),
            first=first,
            second=second,
        )


def _by_structure(P: Design, A: Design) -> Sufficiency | None:
    """Equal designs, and two uniform designs or with sets of one size of which one is the other diluted with chance."""
    if P.fingerprint == A.fingerprint:
        return _kept("same", Fraction(1), "the designs are the same", P)
    # the t with ``A = (t I + (1 - t) J / m) P``
    if isinstance(P, Uniform) and isinstance(A, Uniform):
        keep = A.truth / P.truth
    elif isinstance(P, FixedSizeSets) and isinstance(A, FixedSizeSets) and P.size == A.size:
        keep = (A.include * A.k - A.size) / (P.include * P.k - P.size)
    else:
        return None
    how = f"keeping its report with probability {Printed(to_float(keep)):.6g}, else drawing any, gives the other design"
    return None if keep > 1 else _kept("structure", keep, how, P)


def _kept(how: str, keep: Fraction, reason: str, P: Design) -> Sufficiency:
    rows = None
    if P.has_reports_up_to(math.isqrt(ENTRY_LIMIT)):
        rows = [[(1 - keep) / P.m + keep * (i == u) for u in range(P.m)] for i in range(P.m)]
    return Sufficiency(holds=True, how=how, reason=reason, garbling=rows, keep=keep, residual=Fraction(0))


def _by_parity_alone(P: Design, A: Design, allowed: Fraction) -> Sufficiency:
    """What follows without the matrices: no garbling raises parity. Source: [ChaiNayak2018, Lemma 4.1]."""
    try:
        parities = P.parity_exact(), A.parity_exact()
    except TooLargeError:
        parities = None
    if parities and _is_beyond(*parities, allowed):
        one, two = told_apart(*parities)
        reason = f"its parity is only {one}, that of the other {two}"
        return Sufficiency(holds=False, how="parity", reason=reason, parities=parities)
    # admissible designs that are not the same: none is sufficient for the other [ChaiNayak2018, Theorem 4.2]
    sizes = [1 if isinstance(d, Uniform) else d.size if isinstance(d, Subset) else None for d in (P, A)]
    if parities and parities[0] == parities[1] and None not in sizes and sizes[0] != sizes[1]:
        reason = "both are admissible at the same parity, and different"
        return Sufficiency(holds=False, how="admissible", reason=reason, parities=parities)
    return unsettled(
        f"matrices of {P.reports_in_words()} x {big(P.k)} and {A.reports_in_words()} x {big(A.k)} entries are too "
        f"large to compare; at most {big(ENTRY_LIMIT)} entries each are, and {big(GARBLING_LIMIT)} of a garbling",
        parities,
    )


def _is_beyond(ours: Parity, other: Parity, allowed: Fraction) -> bool:
    """Whether a parity is larger by more than rounding: no row within ``allowed`` of one that has it keeps to ours."""
    if isinstance(ours, float):
        return False
    low = 0 if isinstance(other, float) else 1 / other
    return 1 / ours - low > allowed * (1 + 1 / ours)

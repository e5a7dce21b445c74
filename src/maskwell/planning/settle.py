"""Settling whether P is sufficient for A: the cheap ways first, each with its proof in fractions.

1. The same rows up to order, or one row in A: yes.
2. Parity: a row of A with ``a_ij > eta a_il``, eta the parity of P. Acting on this report only, with a gain of 1/eta if
   the truth is j and of -1 if it is l, never wins with P, whose rows have ``p_uj <= eta p_ul``.
3. Rank: an x with ``P x = 0`` and ``A x != 0``. Gains ``sign((A x)_i) x`` win nothing with P and ``sum |A x|`` with A.
4. Independent rows of P leave one candidate for C. Where ``C_iu < 0``, take x with ``P x = e_u``: gains -x on report i
   win at most 0 with P and ``-C_iu`` with A.
5. The linear program of :mod:`maskwell.planning.blackwell`.
6. Where probabilities stand for others nearby, the program of the nearest garbling. It is a yes up to its residual, or
   a no because every garbling is farther off, or neither.

Source: 2 after [ChaiNayak2018, Lemma 4.1]; the gain matrices are derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from maskwell.core.arrays import Real
from maskwell.core.exact import Parity, common_denominator, to_float
from maskwell.core.phrases import Printed
from maskwell.designs.proofs import gain_margin, garbling_residual
from maskwell.designs.rational import Frame, Matrix, product
from maskwell.planning import blackwell
from maskwell.planning.evidence import Sufficiency, nearly, no, unsettled, yes

INVERSE_LIMIT = 10**9
"""Work beyond which no exact inverse is tried: ``n^4 b`` for the lesser side n of P and probabilities of b bits. At the
limit it takes some ten seconds: 65 categories with probabilities given as floats, 110 with whole percentages."""

GAINS = "there is a decision in which the other design wins more"
_HOPELESS = -1e-6  # programs with less slack have no garbling; within rounding of zero one is tried


@dataclass(frozen=True)
class Question:
    """Is P sufficient for A? Both without zero and proportional rows.

    Differences up to ``allowed``, relative to the largest entry of the row of A, are rounding.
    """

    P: Matrix
    A: Matrix
    parity: Parity
    allowed: Fraction

    def answer(self) -> Sufficiency:
        """By the first way that settles it."""
        known = self.same() or self._if_clear(self.by_parity())
        if known:
            return known
        if self._work() > INVERSE_LIMIT:
            return self._unless_near(self.by_parity()) or unsettled(
                "an exact inverse of the matrix would take too long"
            )
        frame = Frame.of(self.P, blackwell.good_order(self.P))
        refusal = self.by_rank(frame)
        if refusal is None and frame.rank == len(self.P):
            refusal = self.by_inverse(frame)
        return self._if_settled(refusal) or self.by_program(frame, refusal)

    def _work(self) -> int:
        bits = max(common_denominator(column).bit_length() for column in zip(*self.P, strict=True))
        return int(min(len(self.P), len(self.P[0])) ** 4 * bits)

    def _if_settled(self, found: Sufficiency | None) -> Sufficiency | None:
        return found if found and found.holds else self._if_clear(found)

    def _if_clear(self, refusal: Sufficiency | None) -> Sufficiency | None:
        """A refusal by more than rounding: no garbling comes within ``allowed`` of A in every entry.

        Gains G win at most ``sum |G_ij| t max_j a_ij`` more with A than with a garbling that is off by t at most.
        """
        if not refusal or refusal.gain is None:
            return None
        most = sum((max(row) * sum(map(abs, own)) for row, own in zip(self.A, refusal.gain, strict=True)), Fraction(0))
        return refusal if _margin(refusal) > self.allowed * most else None

    def _unless_near(self, refusal: Sufficiency | None) -> Sufficiency | None:
        """A refusal that was not weighed against rounding settles nothing where rounding is allowed."""
        return None if self.allowed else refusal

    def same(self) -> Sufficiency | None:
        """Rows that are the same up to order, or a single one."""
        if len(self.A) == 1:
            return yes("same", "the other design tells nothing", [[Fraction(1)] * len(self.P)])
        if sorted(self.A) != sorted(self.P):
            return None
        place, zero, one = {tuple(row): u for u, row in enumerate(self.P)}, Fraction(0), Fraction(1)
        homes = [place[tuple(row)] for row in self.A]
        return yes(
            "same", "the rows are the same", [[one if u == h else zero for u in range(len(homes))] for h in homes]
        )

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
                reason = "it cannot tell apart true proportions that the other design can"
                return no("rank", reason, gain, sum(map(abs, seen), Fraction(0)))
        return None

    def by_inverse(self, frame: Frame) -> Sufficiency:
        """The only C there can be; the rows of P are those of the frame."""
        found = frame.coefficients(self.A)
        C = [[row[frame.rows.index(u)] for u in range(len(self.P))] for row in found]
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
            return self._unless_near(refusal) or unsettled(
                f"the linear program would have more than {blackwell.SIZE_LIMIT:,} coefficients"
            )
        answer = blackwell.ask(self.P, self.A, frame)
        if answer is None:
            return self._unless_near(refusal) or unsettled("the solver of the linear program gave up")
        refusals = list(filter(None, (refusal, self._by_gain(answer))))
        return (
            next(filter(self._if_clear, sorted(refusals, key=_margin, reverse=True)), None)
            or (None if refusals or answer.slack < _HOPELESS else self._by_garbling(answer.C, answer.positive, frame))
            or self._nearest(frame, may_hold=not refusals)
            or unsettled(f"too close to call: the linear program ends at {Printed(answer.slack):.2g}")
        )

    def _by_gain(self, answer: blackwell.Answer) -> Sufficiency | None:
        found = blackwell.rounded_gain(answer.G, self.P, self.A) if answer.slack < 0 else None
        return no("program", GAINS, *found) if found else None

    def _by_garbling(self, near: Real, positive: NDArray[np.bool_], frame: Frame) -> Sufficiency | None:
        """An exact garbling close to one in floats, or with its zeros."""
        C = blackwell.corrected(blackwell.nearest_transition(near), self.P, self.A, frame)
        C = C or blackwell.on_support(positive, self.P, self.A, frame)
        return yes("program", "randomizing its reports once more gives the other design", C) if C else None

    def _nearest(self, frame: Frame, *, may_hold: bool) -> Sufficiency | None:
        """The nearest garbling made exact; else yes up to its residual, no where none is near, or neither."""
        found = blackwell.nearest(self.P, self.A)
        if found is None:
            return None
        near, G = found
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

"""Properties of the order, on designs that nobody chose."""

import itertools
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell import Categories
from maskwell.designs import Dense
from maskwell.designs.proofs import verify_gain, verify_garbling
from maskwell.designs.rational import Matrix, product
from maskwell.planning.order import sufficiency

Rows = list[list[Fraction]]
Point = tuple[Fraction, Fraction]


def error_curve(rows: Rows) -> list[Point]:
    """Corners of the lower error curve: running sums of the rows, smallest likelihood ratio first."""
    ordered = sorted((row for row in rows if any(row)), key=lambda row: row[1] / (row[0] + row[1]))
    corners = [(Fraction(0), Fraction(0))]
    for a, b in ordered:
        corners.append((corners[-1][0] + a, corners[-1][1] + b))
    return corners


def height(corners: list[Point], x: Fraction) -> Fraction:
    """The lowest point of the curve above x."""
    found = [y for at, y in corners if at == x]
    for (a, b), (c, d) in itertools.pairwise(corners):
        if a < x < c:
            found.append(b + (d - b) * (x - a) / (c - a))
    return min(found)


def tells_as_much(P: Rows, A: Rows) -> bool:
    """Whether P is sufficient for A, both with two columns: nowhere is its error larger."""
    p, a = error_curve(P), error_curve(A)
    return all(height(p, x) <= height(a, x) for x, _ in p + a)


often = settings(deadline=None, derandomize=True, max_examples=50)


@st.composite
def transition(draw: st.DrawFn, m: int | None = None, k: int | None = None) -> Matrix:
    """Columns of small integers, many of them zero or equal, so that rows are proportional or vanish now and then."""
    m = draw(st.integers(1, 6)) if m is None else m
    k = draw(st.integers(2, 4)) if k is None else k
    entry = st.one_of(st.just(0), st.integers(1, 3), st.integers(1, 40))
    made = draw(st.lists(st.lists(entry, min_size=m, max_size=m).filter(any), min_size=k, max_size=k))
    return [list(row) for row in zip(*([Fraction(n, sum(column)) for n in column] for column in made), strict=True)]


@st.composite
def pair(draw: st.DrawFn) -> tuple[Matrix, Matrix]:
    """Two designs on the same categories; half of the time the second is made from the first."""
    P = draw(transition())
    made = draw(st.booleans())
    return P, product(draw(transition(k=len(P))), P) if made else draw(transition(k=len(P[0])))


def dense(rows: Matrix) -> Dense:
    return Dense.of(rows, Categories.numbered(len(rows[0])), Categories.numbered(len(rows)))


@often
@given(transition(k=2), transition(k=2))
def test_two_categories_are_ordered_as_their_error_curves(P: Matrix, A: Matrix) -> None:
    assert sufficiency(dense(P), dense(A), tolerance=0).holds == tells_as_much(P, A)


@often
@given(pair())
def test_every_answer_has_its_proof(both: tuple[Matrix, Matrix]) -> None:
    P, A = both
    answer = sufficiency(dense(P), dense(A), tolerance=0)
    assert answer.holds is not None and answer.exact
    if answer.holds:
        assert answer.garbling is not None and verify_garbling(answer.garbling, P, A)
    else:
        assert answer.gain is not None and verify_gain(answer.gain, P, A)

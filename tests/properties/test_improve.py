"""Improvement on designs that nobody chose: the result is always admissible, and always gives the original back."""

import math
import random
from fractions import Fraction

import pytest

from maskwell.designs import Dense
from maskwell.planning.improvement import Improvement, improve

Rows = list[list[Fraction]]
METHODS = ["layers", "lemmas"]
ROUNDS = 100


def random_rows(rng: random.Random) -> tuple[Rows, Fraction]:
    """A matrix of k <= 6 truths and m <= 8 reports with zero, constant and proportional rows, and a bound on parity.

    Rows are drawn within the bound and mixed with a constant one that makes the columns sum to one; some rows reach the
    bound exactly, some take few values.
    """
    k, m = rng.randint(2, 6), rng.randint(1, 8)
    gamma = rng.choice([Fraction(21, 20), Fraction(3, 2), Fraction(3), Fraction(31, 7), Fraction(100), Fraction(10**4)])
    if rng.random() < 0.05:
        return equal_columns(admissible_rows(rng, k, gamma)), gamma
    rows = [random_row(rng, k, gamma) for _ in range(m)]
    top = max(map(sum, zip(*rows, strict=True))) + rng.choice([0, 0, 1])
    rest = [top - sum(column) for column in zip(*rows, strict=True)]
    rows += filled(rest, gamma)
    if rng.random() < 0.4:
        at = rng.randrange(len(rows))
        rows[at : at + 1] = [[p / 3 for p in rows[at]], [2 * p / 3 for p in rows[at]]]
    if rng.random() < 0.4:
        rows.append([Fraction(rng.randint(1, 9))] * k)
    if rng.random() < 0.3:
        rows.append([Fraction(0)] * k)
    rng.shuffle(rows)
    return equal_columns(rows), gamma


def admissible_rows(rng: random.Random, k: int, gamma: Fraction) -> Rows:
    """Sets and the sets of all others, with any weights."""
    rows = []
    for _ in range(rng.randint(1, 3)):
        held, scale = rng.randint(1, 2**k - 2), Fraction(rng.randint(1, 9))
        rows += [[scale * (gamma if (held >> j & 1) == inside else 1) for j in range(k)] for inside in (0, 1)]
    return rows


def random_row(rng: random.Random, k: int, gamma: Fraction) -> list[Fraction]:
    span = gamma - 1
    kind = rng.random()
    if kind < 0.3:
        values = [Fraction(1), gamma]
    elif kind < 0.6:
        values = [1 + span * Fraction(rng.randint(0, 3), 3) for _ in range(3)]
    else:
        values = [1 + span * Fraction(rng.randint(0, 10**6), 10**6) for _ in range(k)]
    scale = Fraction(rng.randint(1, 50), rng.randint(1, 50))
    return [scale * rng.choice(values) for _ in range(k)]


def filled(rest: list[Fraction], gamma: Fraction) -> Rows:
    """Rows of parity at most gamma that sum to ``rest`` up to a constant."""
    low = max(rest) / (gamma - 1)
    return [[low + x for x in rest]] if any(rest) else []


def equal_columns(rows: Rows) -> Rows:
    """The rows divided by their common column sum."""
    sums = {sum(column) for column in zip(*rows, strict=True)}
    assert len(sums) == 1
    return [[p / total for p in row] for row in rows for total in sums]


def check(improvement: Improvement, rows: Rows, gamma: Fraction) -> None:
    """From scratch, in fractions: C is a transition matrix, A = C P, and P is admissible at gamma."""
    C, P = improvement.garbling(), improvement.design.exact_matrix()
    assert all(c >= 0 for row in C for c in row)
    assert [sum(column) for column in zip(*C, strict=True)] == [1] * len(P)
    assert [sum(column) for column in zip(*P, strict=True)] == [1] * len(rows[0])
    columns = list(zip(*P, strict=True))
    product = [[sum(c * p for c, p in zip(row, column, strict=True) if c) for column in columns] for row in C]
    assert product == rows
    assert is_admissible(P, gamma)
    assert improvement.design.parity_exact() == gamma


def is_admissible(P: Rows, gamma: Fraction) -> bool:
    """Conditions C1 and C2 row by row; no row of zeros, and no two proportional rows."""
    shapes = {tuple(p / row[0] for p in row) for row in P}
    return all(len(set(row)) == 2 and max(row) == gamma * min(row) for row in P) and len(shapes) == len(P)


def is_reduced_admissible(rows: Rows, gamma: Fraction) -> bool:
    return all(len(set(row)) == 2 and max(row) == gamma * min(row) for row in rows if any(row))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(2))
def test_hundreds_of_random_designs(method: str, seed: int) -> None:
    rng = random.Random(seed)
    kinds = {"already": 0, "improved": 0}
    for _ in range(ROUNDS):
        rows, gamma = random_rows(rng)
        improvement = improve(Dense.of(rows), gamma=gamma, split=method)
        already = is_reduced_admissible(rows, gamma)
        assert improvement.improved is not already
        kinds["already" if already else "improved"] += 1
        if already:
            assert improvement.design is improvement.original
            assert improvement.garbling() == [[Fraction(i == u) for u in range(len(rows))] for i in range(len(rows))]
        else:
            check(improvement, rows, gamma)
    assert min(kinds.values()) > 1


def test_the_test_itself_notices_what_is_wrong() -> None:
    third = Fraction(1, 3)
    assert not is_admissible([[third, third], [2 * third, 2 * third]], Fraction(2))
    assert not is_admissible([[Fraction(1, 4), Fraction(1, 2)], [Fraction(3, 4), Fraction(1, 2)]], Fraction(2))
    halves = [[Fraction(1, 3), Fraction(1, 6)]] * 2 + [[Fraction(1, 3), Fraction(2, 3)]]
    assert not is_admissible(halves, Fraction(2))
    assert is_admissible([[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]], Fraction(2))


@pytest.mark.parametrize("method", METHODS)
def test_more_room_never_tells_less(method: str) -> None:
    """The improvement at a larger gamma tells at least as much about the truth as the original does."""
    rng = random.Random(9)
    for _ in range(30):
        rows, gamma = random_rows(rng)
        design = Dense.of(rows)
        before = design.added_variance() if design.identifiable and design.condition() < 1e6 else math.inf
        for larger in (gamma, 2 * gamma, 10 * gamma):
            improvement = improve(design, gamma=larger, split=method)
            after = improvement.added_variances()[1]
            if improvement.improved:
                check(improvement, rows, larger)
            assert before == math.inf or (after is not None and after <= before * (1 + 1e-6) + 1e-6)

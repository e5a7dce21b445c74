"""Which design tells more: every way of settling it, its proof, and what is left undecided."""

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.examples import ABC, EXAMPLES, YES_NO, numbered
from tests.support.together import together

from maskwell import Categories, Design
from maskwell.designs import Composed, Dense, Kronecker, LocalDiversity, Subset, Uniform
from maskwell.designs.proofs import gain_margin, garbling_residual, is_transition, verify_gain, verify_garbling
from maskwell.designs.rational import product
from maskwell.errors import ParameterError
from maskwell.planning import blackwell, order, order_of
from maskwell.planning.blackwell import Sufficiency
from maskwell.planning.order import sufficiency


def dense(rows: Any) -> Dense:
    return Dense.of(rows, numbered(len(rows[0])), numbered(len(rows)))


def check(found: Sufficiency, P: Design, A: Design) -> None:
    """The proof that comes with an answer proves it."""
    p, a = P.exact_matrix(), A.exact_matrix()
    if found.holds and found.exact:
        assert found.garbling is not None and verify_garbling(found.garbling, p, a)
        assert found.residual == 0
    elif found.holds:
        assert found.garbling is not None and is_transition(found.garbling)
        assert found.residual is not None and 0 < garbling_residual(found.garbling, p, a) <= found.residual
    elif found.holds is False:
        assert found.exact and found.gain is not None and verify_gain(found.gain, p, a)
        assert gain_margin(found.gain, p, a) == found.margin
    else:
        assert not found.exact and found.garbling is None and found.gain is None


def settled(P: Design, A: Design, **options: Any) -> Sufficiency:
    found = sufficiency(P, A, **options)
    check(found, P, A)
    return found


def transition(rng: np.random.Generator, m: int, k: int, top: int = 9, zeros: float = 0.0) -> Dense:
    columns = rng.integers(1, top + 1, (k, m)) * (rng.random((k, m)) >= zeros)
    columns[:, 0] += columns.sum(axis=1) == 0
    return Dense.from_integers(columns.tolist(), numbered(k), numbered(m))


def test_the_same_rows_in_another_order_and_designs_that_tell_nothing() -> None:
    P = dense([["1/2", "1/4"], ["1/3", "1/4"], ["1/6", "1/2"]])
    A = dense([["1/12", "1/4"], ["1/2", "1/4"], [0, 0], ["1/12", "1/4"], ["1/3", "1/4"]])
    order = order_of(P, A)
    assert (order.verdict, order.exact) == ("equivalent", True)
    assert [order.first_for_second.how, order.second_for_first.how] == ["same", "same"]
    check(order.first_for_second, P, A)
    check(order.second_for_first, A, P)
    P, A = dense([["1/3", "2/3"], ["2/3", "1/3"]]), dense([["1/4", "1/4"], ["3/4", "3/4"]])
    assert settled(P, A).how == "same"
    back = settled(A, P)
    assert (back.holds, back.how) == (False, "parity")


def test_parity_and_rank_refuse_at_once_and_independent_rows_leave_one_candidate() -> None:
    P, A = Uniform.from_gamma(2, ABC), Uniform.from_gamma(4, ABC)
    found = settled(P, A)
    assert (found.holds, found.how, found.parities) == (False, "parity", (2, 4))
    assert found.margin == Fraction(2, 3) / 2 - Fraction(1, 6)
    found = settled(Uniform.from_gamma(1000, YES_NO), Uniform.of(1, YES_NO))
    assert (found.holds, found.how) == (False, "parity")
    assert found.parities is not None and found.parities[1] == math.inf
    P = dense([["3/4", "3/4", "1/4"], ["1/4", "1/4", "3/4"]])
    A = dense([["1/2", "2/5", "1/2"], ["1/2", "3/5", "1/2"]])
    found = settled(P, A)
    assert (found.holds, found.how) == (False, "rank")
    P, A = Uniform.from_gamma(3, numbered(4)), Subset.from_gamma(2, numbered(4), size=2)
    assert settled(P, A).how == "inverse"
    found = settled(P, Subset.from_gamma(3, numbered(4), size=2))
    assert (found.holds, found.how) == (False, "inverse")
    P = dense([["1/2", "1/4", "1/8"], ["1/2", "3/4", "7/8"]])
    C = dense([["1/3", "3/4"], ["2/3", "1/4"]])
    A = dense(product(C.exact_matrix(), P.exact_matrix()))
    assert settled(P, A).how == "inverse"
    back = settled(A, P)
    assert (back.holds, back.how) == (False, "parity")


def test_the_program_proves_yes_inside_and_on_the_boundary() -> None:
    P = Subset.from_gamma(5, numbered(4), size=2)
    inside = settled(P, Subset.from_gamma(2, numbered(4), size=1))
    merged = [[2, 1], [3, 0, 4, 5]]
    rows = P.exact_matrix()
    A = dense([[sum((rows[u][j] for u in group), Fraction(0)) for j in range(4)] for group in merged])
    boundary = settled(P, A)
    for found in (inside, boundary):
        assert (found.holds, found.how, found.exact) == (True, "program", True)
    assert any(0 in row for row in boundary.garbling or [])


@together("name", [n for n, d in EXAMPLES.items() if d.m * d.k <= 600])
def test_every_structure_is_equivalent_to_its_dense_twin(name: str) -> None:
    design = EXAMPLES[name]
    twin = Dense.of(design.exact_matrix()[::-1], design.inputs, Categories.numbered(design.m))
    order = order_of(design, twin, tolerance=0)
    assert (order.verdict, order.exact) == ("equivalent", True)


@together("name", [n for n, d in EXAMPLES.items() if d.m <= 40 and d.k <= 10])
def test_every_structure_is_sufficient_for_itself_diluted(name: str) -> None:
    design = EXAMPLES[name]
    rng = np.random.default_rng(5)
    C = transition(rng, 6, design.m, zeros=0.5)
    A = Dense.of(product(C.exact_matrix(), design.exact_matrix()), design.inputs, numbered(6))
    assert settled(design, A).holds


@together("k", [2, 5, 10**6])
def test_uniform_designs_by_a_formula(k: int) -> None:
    P, A = Uniform.from_gamma(9, numbered(k)), Uniform.from_gamma(2, numbered(k))
    order = order_of(P, A)
    yes, no = order.first_for_second, order.second_for_first
    assert (order.verdict, order.exact) == ("first", True)
    assert yes.keep == A.truth / P.truth == Fraction(k + 8, 8 * (k + 1))
    assert (no.how, no.parities) == ("parity", (2, 9))
    if k < 10:
        check(yes, P, A)
        check(no, A, P)


def test_set_designs_of_one_size_are_ordered_and_of_two_incomparable() -> None:
    P, A = LocalDiversity.of(3, numbered(7)), Subset.from_gamma(4, numbered(7), size=3)
    assert settled(P, A).how == "structure"
    huge = [Subset.from_gamma(gamma, numbered(1000), size=20) for gamma in (3, 7)]
    order = order_of(*huge)
    assert order.verdict == "second"
    assert 0 < (order.second_for_first.keep or 0) < 1
    assert order_of(huge[0], huge[0]).verdict == "equivalent"
    first, second = (Subset.from_gamma(3, numbered(1000), size=q) for q in (20, 21))
    order = order_of(first, second)
    assert (order.verdict, order.first_for_second.how) == ("incomparable", "admissible")
    small = (Subset.from_gamma(3, numbered(5), size=q) for q in (2, 3))
    assert order_of(*small).verdict == "incomparable"  # the same, proved with the matrices
    more = order_of(Subset.from_gamma(4, numbered(1000), size=20), second)
    assert (more.verdict, more.exact) == ("undecided", False)
    assert "too large" in more.first_for_second.reason
    assert order_of(first, Subset.from_gamma(4, numbered(1000), size=21)).first_for_second.how == "parity"


def test_what_is_too_large_is_undecided_unless_it_is_equal() -> None:
    huge = Kronecker.of([Uniform.from_gamma(3, numbered(9))] * 9)
    assert order_of(huge, huge).verdict == "equivalent"
    wide = Dense.from_integers([list(range(1, 3001)), list(range(3000, 0, -1))], YES_NO, numbered(3000))
    composed = Composed.of(wide, Uniform.from_gamma(9, numbered(3000)))
    order = order_of(composed, Uniform.from_gamma(2, YES_NO))
    assert order.verdict == "undecided"
    assert order.first_for_second.parities is None
    n = 1500
    first = Dense.from_integers([list(range(1, n + 1)), list(range(n, 0, -1))], YES_NO, numbered(n))
    second = first.with_labels(YES_NO, Categories.of([f"report {i}" for i in range(n)]))
    assert order_of(first, second).verdict == "undecided"
    assert "2,000,000 of a garbling" in sufficiency(first, second).reason


def test_beyond_limits_and_where_the_solver_gives_up_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    P, A = Subset.from_gamma(5, numbered(4), size=2), Subset.from_gamma(2, numbered(4), size=1)
    U = Uniform.from_gamma(3, numbered(4))
    with monkeypatch.context() as patch:
        patch.setattr(order, "INVERSE_LIMIT", 10)
        assert settled(U, Subset.from_gamma(2, numbered(4), size=2)).holds is None
        assert settled(Subset.from_gamma(2, numbered(4), size=2), U).how == "parity"
    for name, value, said in (("ask", lambda *_: None, "the solver of the linear"), ("SIZE_LIMIT", 10, "10 coeff")):
        with monkeypatch.context() as patch:
            patch.setattr(blackwell, name, value)
            found = settled(P, A)
        assert found.holds is None and said in found.reason


def test_beyond_the_limit_of_exact_supports_the_answer_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    P = dense([["1/2", 0], [0, "1/2"], ["1/2", "1/2"]])
    A = dense([["1/7", 0], [0, "1/7"], ["6/7", "6/7"]])
    assert settled(P, A).exact
    monkeypatch.setattr(blackwell, "SUPPORT_LIMIT", 3)
    found = settled(P, A, tolerance="1e-8")
    assert (found.holds, found.exact) == (True, False)
    assert settled(P, A).holds is None, "fractions are compared exactly"


@together("wrong", [-1.0, 1.0])
def test_a_solver_that_errs_is_not_believed(monkeypatch: pytest.MonkeyPatch, wrong: float) -> None:
    """A wrong solution of the program can leave a question open, never answer it wrongly."""
    P, A = Subset.from_gamma(5, numbered(4), size=2), Subset.from_gamma(2, numbered(4), size=1)

    def ask(p: Any, a: Any, frame: Any) -> blackwell.Answer:
        shape = len(a), len(p)
        return blackwell.Answer(wrong, np.full(shape, 1 / len(a)), np.ones(shape, dtype=bool), np.eye(*shape)[:, :4])

    monkeypatch.setattr(blackwell, "ask", ask)
    for tolerance in (0, "1e-8"):
        assert settled(P, A, tolerance=tolerance).holds is not False
        assert settled(Subset.from_gamma(5, numbered(4), size=2), Uniform.from_gamma(5, numbered(4))).holds is not True


def floats(rows: Any) -> Dense:
    return dense(np.asarray(rows, dtype=float))


def test_products_of_floats_and_nearly_equal_designs_are_recognised_and_marked() -> None:
    rng = np.random.default_rng(8)
    P = rng.dirichlet(np.ones(3), 5).T  # three reports of five categories: rounding leaves the row space
    A = rng.dirichlet(np.ones(4), 3).T @ P
    found = settled(floats(P), floats(A))
    assert (found.holds, found.exact) == (True, False)
    assert 0 < (found.residual or 0) < 1e-12
    strict = settled(floats(P), floats(A), tolerance=0)
    assert (strict.holds, strict.how) == (False, "rank")
    P, A = (dense(Uniform.from_gamma(3 + shift, ABC).exact_matrix()) for shift in (0, Fraction(1, 10**10)))
    order = order_of(P, A, tolerance="1e-8")
    assert (order.verdict, order.exact) == ("equivalent", False)
    assert order_of(P, A).verdict == order_of(P, A, tolerance=0).verdict == "second"
    assert order_of(P, A, tolerance="1e-12").verdict == "second"
    given = order_of(P.with_provenance(given="decimals"), A)
    assert (given.verdict, given.exact) == ("equivalent", False)


def test_a_report_that_hardly_ever_comes_is_not_rounding() -> None:
    """Once in 1e12 times the other design tells the truth: no garbling does that, whatever the tolerance."""
    P, rare = Uniform.from_gamma(3, numbered(3)), Fraction(1, 10**12)
    rows = [list(row) for row in P.exact_matrix()]
    rows[0][0] -= rare
    A = dense([*rows, [rare, Fraction(0), Fraction(0)]])
    for tolerance in (None, 0, "1e-8", "1e-4"):
        assert settled(dense(P.exact_matrix()), A, tolerance=tolerance).holds is False
        yes = settled(A, dense(P.exact_matrix()), tolerance=tolerance)
        assert (yes.holds, yes.exact) == (True, True)


def test_fractions_of_any_size_are_ordered_exactly_or_not_at_all() -> None:
    """Chances of 1e-20, tiny reports and a huge parity; a yes and a no come with a proof in fractions, checked here."""
    chance = random.Random(20250101)
    unsettled = 0
    for _ in range(30):
        k, m, r = chance.choice([2, 3, 4]), chance.randint(2, 7), chance.randint(2, 6)
        P, C = _scattered(chance, m, k, [0, chance.choice([0, 6, 12, 20])]), _scattered(chance, r, m, [0, 12])
        A = product(C, P)
        assert settled(dense(P), dense(A)).holds is not False
        i, j, truth = *chance.sample(range(r), 2), chance.randrange(k)
        moved = min(A[i][truth], A[j][truth]) / 10 ** chance.choice([3, 9, 15])
        A[i][truth] += moved
        A[j][truth] -= moved
        found = settled(dense(P), dense(A))
        assert found.exact or found.holds is None
        unsettled += found.holds is None
    assert unsettled <= 3


def _scattered(chance: random.Random, m: int, k: int, powers: list[int]) -> Any:
    """A transition matrix with entries of very different size."""
    columns = [[Fraction(chance.randint(1, 10**6), 10 ** chance.choice(powers)) for _ in range(m)] for _ in range(k)]
    return [list(row) for row in zip(*([x / sum(column) for x in column] for column in columns), strict=True)]


def test_floats_are_ordered_within_the_tolerance_or_clearly_not() -> None:
    """A yes is off by at most 1e-8 of the largest chance of each report; a no holds for all that is as near as that."""
    rng, limit, found = np.random.default_rng(77), Fraction(1, 10**8), []
    for _ in range(60):
        k, m, r = rng.integers(2, 5), rng.integers(2, 7), rng.integers(2, 6)
        P, C = (rng.dirichlet(np.full(a, 0.5), b).T + 1e-12 for a, b in ((m, k), (r, m)))
        P, C = P / P.sum(axis=0), C / C.sum(axis=0)
        A = C @ P
        i, j = rng.choice(r, 2, replace=False)
        moved = min(A[i, 0], A[j, 0]) * 10.0 ** -rng.integers(3, 13)
        A[i, 0], A[j, 0] = A[i, 0] + moved, A[j, 0] - moved
        p, a = floats(P), floats(A)
        answer = settled(p, a)
        exact = a.exact_matrix()
        if answer.holds and not answer.exact:
            made = product(answer.garbling or [], p.exact_matrix())
            off = [max(abs(x - y) for x, y in zip(*rows, strict=True)) for rows in zip(made, exact, strict=True)]
            assert all(error <= limit * max(row) for error, row in zip(off, exact, strict=True))
        if answer.holds is False:
            weights = (max(row) * sum(map(abs, own)) for row, own in zip(exact, answer.gain or [], strict=True))
            assert (answer.margin or 0) > limit * sum(weights)
        found.append(answer.holds)
    assert min(found.count(True), found.count(False)) >= 5


def test_a_tolerance_is_small_and_categories_are_the_same() -> None:
    for tolerance in (-1, 0.5, "nan"):
        with pytest.raises(ParameterError, match="tolerance"):
            order_of(Uniform.from_gamma(3, ABC), Uniform.from_gamma(2, ABC), tolerance=tolerance)
    for other in (YES_NO, Categories.of(["b", "a", "c"]), numbered(3), numbered(1000)):
        with pytest.raises(ParameterError, match="categories differ") as raised:
            order_of(Uniform.from_gamma(3, ABC), Uniform.from_gamma(3, other))
        assert raised.value.hint == "compare designs over the same categories in the same order"

"""Sparse designs beyond the contract: every way to make one, draws equal to the dense twin's, and large ones."""

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import told
from tests.support.words import HandmadeRandom, edge_words

from maskwell import Categories, SeededRandom
from maskwell.core.documents import fingerprint_of
from maskwell.designs import Dense, Sparse, column_arrays, kernels, sparse
from maskwell.designs.column_arrays import leading_bits, threshold64
from maskwell.errors import (
    LabelError,
    MatrixError,
    NotIdentifiableError,
    OrientationError,
    TooLargeError,
    WrongTypeError,
)

PATHS = [path for path in ("compiled", "plain") if getattr(kernels, path) is not None]


def some(k: int, per_column: int, seed: int, largest: int = 1000) -> Sparse:
    """A square design with so many entries in each column."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.sort(rng.choice(k, per_column, replace=False)) for _ in range(k)])
    return Sparse.from_integers(np.arange(k + 1) * per_column, rows, rng.integers(1, largest, k * per_column))


def dense_twin(design: Sparse) -> Dense:
    return Dense.of(design.exact_matrix(), design.inputs, design.outputs)


def test_every_way_to_make_one_gives_the_same_design() -> None:
    abc = Categories.of(["a", "b", "c"])
    made = Sparse.from_integers([0, 2, 3, 5], [0, 2, 1, 0, 2], [6, 2, 9, 2, 4], abc)
    thirds = {0: Fraction(1, 3), 1: Fraction(0), 2: Fraction(2, 3)}
    assert made == Sparse.of_columns([{2: 1, 0: 3}, {1: 1}, thirds], abc)
    assert made == Sparse.of_matrix([["3/4", 0, "1/3"], [0, 1, 0], ["1/4", 0, "2/3"]], abc)
    assert made == Sparse.of_matrix(np.array([[0.75, 0, 1 / 3], [0, 1, 0], [0.25, 0, 2 / 3]]), abc)
    assert made.numerators.tolist() == [3, 1, 1, 1, 2], "in lowest terms"
    assert made.denominators.tolist() == [4, 1, 3]
    assert made.columns_exact(2) == {0: Fraction(1, 3), 2: Fraction(2, 3)}


@pytest.mark.parametrize("total", [2**62, 2**63 - 1, 2**63, 2**64, 2**64 + 1, 3 * 2**62])
def test_integers_around_64_bits_are_exact(total: int) -> None:
    made = Sparse.from_integers([0, 2, 4], [0, 1, 0, 1], [total - 7, 7, 1, 1])
    assert made.columns_exact(0) == {0: Fraction(total - 7, total), 1: Fraction(7, total)}
    assert made.numerators.dtype == (np.int64 if total < 2**63 else object)
    assert made.values.tolist() == [float(Fraction(total - 7, total)), float(Fraction(7, total)), 0.5, 0.5]
    assert (made.sample(np.zeros(200, dtype=int), random=SeededRandom(1)).data == 0).all()


@pytest.mark.parametrize(
    ("starts", "rows", "numerators", "error", "says"),
    [
        ([0, 1, 1], [0], [1], MatrixError, "column 1 has no entries"),
        ([0, 1, 3], [0, 1], [1, 1], MatrixError, "do not match"),
        ([1, 2], [0, 1], [1, 1], MatrixError, "do not match"),
        ([0], [], [], MatrixError, "do not match"),
        ([0, 1, 2], [0, 2], [1, 1], MatrixError, "rows are from 0 to 2, but there are 2 reports"),
        ([0, 1, 2], [0, -1], [1, 1], MatrixError, "rows are from -1 to 0, but there are 2 reports"),
        ([0, 2, 4], [0, 1, 1, 0], [1, 1, 1, 1], MatrixError, "rows of column 1 do not increase"),
        ([0, 2, 4], [0, 0, 0, 1], [1, 1, 1, 1], MatrixError, "rows of column 0 do not increase"),
        ([0, 2, 4], [0, 1, 0, 1], [1, 1, 0, 1], MatrixError, "column 1 has the integer 0, which is not positive"),
        (
            [0, 2, 4],
            [0, 1, 0, 1],
            [1, 1, 1, -(2**70)],
            MatrixError,
            "column 1 has the integer -1180591620717411303424, which is not positive",
        ),
        ([0, 2, 4], [0, 1, 0, 1], [0.5, 0.5, 1, 1], WrongTypeError, "must be integers"),
        ([0, 2, 4], [0.0, 1, 0, 1], [1, 1, 1, 1], WrongTypeError, "rows must be"),
    ],
)
def test_what_is_no_matrix_is_refused(starts: Any, rows: Any, numerators: Any, error: Any, says: str) -> None:
    with told(error, match=says):
        Sparse.from_integers(starts, rows, numerators)


def test_columns_and_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MatrixError, match=r"column 1 sums to 0\.75"):
        Sparse.of_columns([{0: 1}, {0: Fraction(1, 2), 1: Fraction(1, 4)}])
    with pytest.raises(WrongTypeError, match="has numbers that are not fractions"):
        Sparse.of_columns([{0: 0.5, 1: 0.5}])  # type: ignore[dict-item]
    with pytest.raises(MatrixError, match="column 0 has the integer -1, which is not positive"):
        Sparse.of_columns([{0: Fraction(3, 2), 1: Fraction(-1, 2)}, {1: 1}])
    with pytest.raises(OrientationError):
        Sparse.of_matrix([["1/2", "1/2"], ["1/4", "3/4"]])
    with pytest.raises(LabelError, match="2 truth and 2 report labels"):
        Sparse.of_columns([{0: 1}, {1: 1}, {1: 1}], Categories.of(list("ab")))
    tall = Sparse.of_columns([{0: 1}, {2: 1}], Categories.of(list("ab")), Categories.of(list("xyz")))
    with pytest.raises(MatrixError, match="different numbers of reports"):
        Sparse.stacked([tall], [[0, 1]])


@pytest.mark.parametrize("places", [[[0, 1], [1, 2]], [[0, 1], [2, 4]], [[0, 1, 2], [3]], [[0], [1, 2]]])
def test_places_that_are_not_the_states_are_refused(places: list[list[int]]) -> None:
    pair = Sparse.of_columns([{0: 1, 1: 1}, {0: 1, 1: 1}])
    with told(MatrixError, match="place"):
        Sparse.stacked([pair, pair], places)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("k", "per_column", "largest"), [(3, 3, 9), (12, 8, 99), (40, 17, 2**40), (90, 80, 2**56)])
def test_draws_equal_those_of_the_dense_twin(
    k: int, per_column: int, largest: int, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the same words, so that leaving zeros out changes nothing; long columns have guides."""
    design = some(k, per_column, 3, largest)
    twin = dense_twin(design)
    monkeypatch.setattr(kernels, "active", getattr(kernels, path))
    codes = np.random.default_rng(5).integers(0, k, 4000)
    assert (design.sample(codes, random=SeededRandom(9)).data == twin.sample(codes, random=SeededRandom(9)).data).all()
    words = edge_words(twin, 1000, 7)
    codes = np.resize(codes, len(words))
    made = [each.sample(codes, random=HandmadeRandom(words)).data for each in (design, twin)]
    assert (made[0] == made[1]).all()


@pytest.mark.parametrize("path", PATHS)
def test_words_of_all_ones_and_zeros_stay_within_the_column(path: str) -> None:
    """Also where a chance is too small for 64 bits, so that two thresholds are the same number."""
    tiny = 3**60
    design = Sparse.of_columns(
        [{1: tiny, 2: 1}, {0: 1, 2: tiny}, {1: 1, 3: 1, 5: tiny, 6: 1}, *({j: 1} for j in range(4))]
    )
    words = np.array([[0, 0], [0xFFFFFFFF, 0xFFFFFFFF]] * 7, dtype=np.uint32)
    codes, out = np.repeat(np.arange(7), 2).astype(np.uint8), np.empty(14, dtype=np.uint8)
    kernel = getattr(kernels, path).listed
    table, unsettled = design._table, np.empty(14, dtype=np.int64)
    found = kernel(codes, words, table.columns, table.thresholds, table.guide, table.reports, out, unsettled)
    assert (design.entries_at(out, codes) > 0).all()
    assert unsettled[:found].tolist() == [1, 2, 4, 5], "where one chance cannot be seen in 64 bits"


@cache
def short_and_guided(k: int) -> Sparse:
    """Columns of 1 to 24 entries."""
    rng = np.random.default_rng(k)
    lengths = rng.integers(1, 25, k)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths) + np.repeat(rng.integers(0, k - 24, k), lengths)
    return Sparse.from_integers(starts, rows, rng.integers(1, 2**40, starts[-1]))


@pytest.mark.parametrize("k", [100, 20_000, 70_000])
@pytest.mark.parametrize("n", [0, 1, 31, 33, 3000])
def test_both_kernels_agree_on_tables_of_any_size(k: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    design, codes, made = short_and_guided(k), np.random.default_rng(k + n).integers(0, k, n), []
    for path in PATHS:
        monkeypatch.setattr(kernels, "active", getattr(kernels, path))
        made.append(design.sample(codes, random=SeededRandom(n)).data)
    assert all((data == made[0]).all() for data in made)
    assert (design.entries_at(made[0], codes) > 0).all()


@pytest.mark.parametrize("path", PATHS)
def test_a_guide_does_not_pass_a_threshold_that_lies_at_its_line(path: str) -> None:
    """One half and a little: 64 bits of it are the first number of a line, and do not settle the draw."""
    half = 2**80
    column = {0: half + 1, **dict.fromkeys(range(1, 20), 1), 20: half - 20}
    design = Sparse.of_columns([column, *({j: 1} for j in range(1, 21))])
    words = np.array([[0, 2**31], [0, 2**31 + 1], [2**32 - 1, 2**31 - 1]], dtype=np.uint32)
    out, unsettled, table = np.empty(3, dtype=np.uint8), np.empty(3, dtype=np.int64), design._table
    kernel = getattr(kernels, path).listed
    codes = np.zeros(3, dtype=np.uint8)
    found = kernel(codes, words, table.columns, table.thresholds, table.guide, table.reports, out, unsettled)
    assert table.columns[0, 3] > 0, "the column has a guide"
    assert unsettled[:found].tolist() == [0]
    assert out[1:].tolist() == [20, 0]


@pytest.mark.parametrize("largest", [10, 2**31, 2**32, 2**33, 2**50, 2**62, 2**63 - 1])
def test_leading_bits_are_the_thresholds_of_the_definition(largest: int) -> None:
    rng = np.random.default_rng(largest % 1000)
    denominators = np.concatenate([rng.integers(1, largest, 500), [largest, largest - 1]])
    numerators = np.array([int(rng.integers(0, d, endpoint=True)) for d in denominators])
    numerators[-1] = denominators[-1]
    whole = np.flatnonzero(numerators == denominators)
    expected = [threshold64(int(n), int(d)) for n, d in zip(numerators, denominators, strict=True)]
    assert leading_bits(numerators, denominators, whole).tolist() == expected
    as_objects = leading_bits(numerators.astype(object), denominators.astype(object), whole)
    assert as_objects.tolist() == expected


def test_parity_where_floats_do_not_tell_chances_apart_or_from_zero() -> None:
    big = 10**40
    two = Categories.of(list("xy"))
    columns = [{0: big, 1: 3 * big}, {0: big + 1, 1: 3 * big - 1}, {0: big - 2, 1: 3 * big + 2}]
    made = Sparse.of_columns(columns, Categories.of(list("abc")), two)
    assert len(set(made.values.tolist())) == 2
    assert made.parity_exact() == Fraction(big + 1, big - 2)
    assert dense_twin(made).parity_exact() == made.parity_exact()
    design = Sparse.of_columns([{0: 1, 1: 10**320}, {0: 3, 1: 10**320}])
    assert design.values[0] == 0 or design.values[0] < 1e-300
    assert design.parity_exact() == dense_twin(design).parity_exact()
    unseen = Sparse.of_columns([{0: 1, 1: 10**330}, {0: 10, 1: 10**330}])
    assert (unseen.values == [0, 1, 0, 1]).all()
    assert unseen.parity_exact() == dense_twin(unseen).parity_exact()


def test_parts_keep_their_entries_and_what_cannot_be_solved_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    design = Sparse.of_columns([{0: 1, 3: 1}, {2: 1}, {1: 1}, {3: 1}, {4: 1}])
    assert design.components().tolist() == [0, 1, 1, 0, 2]
    tall = Sparse.of_columns([{0: 1, 1: 1}, {2: 1}, {1: 1, 3: 1}], Categories.of(list("abc")), Categories.numbered(6))
    assert tall.components().tolist() == [0, 1, 0]
    parts, places = [some(3, 2, 1), some(4, 3, 2)], [[5, 0, 3], [6, 2, 1, 4]]
    P = Sparse.stacked(parts, places, Categories.of(list("abcdefg"))).exact_matrix()
    for part, place in zip(parts, places, strict=True):
        assert [[P[i][j] for j in place] for i in place] == part.exact_matrix()
    assert sum(p > 0 for row in P for p in row) == 3 * 2 + 4 * 3
    design = Sparse.of_columns([{0: 1}, {1: 1, 3: 1}, {2: 1}, {1: 1, 3: 1}])
    with pytest.raises(NotIdentifiableError, match="rank 3 for 4") as raised:
        design.solve(np.full(4, 0.25))
    direction: Any = raised.value.objects["null_direction"]
    np.testing.assert_allclose(design.forward(direction), 0, atol=1e-12)
    assert np.linalg.norm(direction) == pytest.approx(1)
    monkeypatch.setattr(column_arrays, "SOLVE_LIMIT", 99)
    design = some(10, 10, 1)
    with told(TooLargeError, match="10 states"):
        design.solve(design.apply(design.uniform_prior()))
    assert design.parity() < math.inf


def test_many_small_cells_are_solved_together_and_named_however_the_text_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cells = 5_000
    cell = [
        Sparse.of_columns([{0: 8, 1: 1, 2: 1}, {0: 1, 1: 3, 2: 1}, {0: 1, 1: 1, 2: 5}]),
        Sparse.of_columns([{0: 1}]),
    ]
    places = np.split(np.arange(4 * cells), np.sort([*range(3, 4 * cells, 4), *range(4, 4 * cells, 4)]))
    design = Sparse.stacked(cell * cells, places)
    assert design.rank() == design.k == 20_000
    pi = np.random.default_rng(1).dirichlet(np.ones(design.k))
    np.testing.assert_allclose(design.solve(design.apply(pi)), pi, atol=1e-15)
    values = [1.0, *np.linalg.svd(cell[0].matrix(), compute_uv=False).tolist()]
    assert design.condition() == pytest.approx(max(values) / min(values))
    with pytest.raises(TooLargeError):
        design.second_moment(design.apply(pi))
    with pytest.raises(TooLargeError):
        design.matrix()
    whole = some(10, 3, 4).fingerprint
    for stretch in (1, 3, 9, 10, 11):
        monkeypatch.setattr(sparse, "_STRETCH", stretch)
        design = some(10, 3, 4)
        assert design.fingerprint == whole == fingerprint_of(design.identity())

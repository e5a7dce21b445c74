"""Supports and confidences against brute force, in exact arithmetic, and by properties that must hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell.core import Categories
from maskwell.designs import Dense, Kronecker, item_bits
from maskwell.errors import InputError, LabelError, ReportError, TooLargeError, UnknownCategoryError
from maskwell.estimation.itemset_supports import _BITS_OF_BYTE, ReportedBaskets, mean_of_products, ones_in
from maskwell.procedures.category_encodings import bits

ONE_ZERO = Categories.of((1, 0))


def unequal(chances) -> Kronecker:
    """A product of bits with P(1 | 1) = s and P(0 | 0) = t."""
    leaves = [Dense.of([[s, 1 - t], [1 - s, t]], ONE_ZERO, ONE_ZERO) for s, t in chances]
    return Kronecker.of(leaves).with_provenance(items=[f"i{place}" for place in range(len(leaves))])


def packed(held) -> np.ndarray:
    return np.packbits(np.asarray(held, dtype=np.uint8), axis=1, bitorder="little")


def products(held: np.ndarray, design, items) -> np.ndarray:
    """The product of weights of each basket, as the formula says."""
    told = item_bits(design)
    weights = [(held[:, a] - float(1 - told.absent[a])) / float(told.present[a] + told.absent[a] - 1) for a in items]
    return np.prod(weights, axis=0) if weights else np.ones(len(held))


def subsets(items):
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


CHANCES = [
    (Fraction(9, 10), Fraction(9, 10)),
    (Fraction(4, 5), Fraction(3, 5)),
    (Fraction(2, 3), Fraction(19, 20)),
    (Fraction(3, 5), Fraction(3, 5)),
]
DESIGN = unequal(CHANCES)


@pytest.mark.parametrize("n", [2, 63, 64, 65, 1000, 70_000])
def test_supports_and_errors_are_those_of_the_products(n: int) -> None:
    held = np.random.default_rng(n).integers(0, 2, (n, 4))
    baskets = ReportedBaskets.of(packed(held), item_bits(DESIGN))
    for items in subsets(range(4)):
        found, w = baskets.support([f"i{a}" for a in items]), products(held, DESIGN, items)
        assert found.support == pytest.approx(w.mean(), rel=1e-12, abs=1e-12)
        assert found.standard_error == pytest.approx(w.std(ddof=1) / np.sqrt(n), rel=1e-9, abs=1e-9)


def test_the_empty_set_is_in_every_basket() -> None:
    nothing = ReportedBaskets.of(packed(np.eye(4)), item_bits(DESIGN)).support([])
    assert (nothing.items, nothing.support, nothing.standard_error) == ((), 1.0, 0.0)


def test_supports_are_margins_of_the_inverse_applied_to_the_shares() -> None:
    """The dense twin: the whole table of cells, solved with the inverse of P."""
    held = np.random.default_rng(4).integers(0, 2, (500, 4))
    cells = np.zeros((2,) * 4)
    np.add.at(cells, tuple(1 - held.T), 1)  # the first label of a factor is 1
    pi = DESIGN.solve(cells.ravel() / 500).reshape(cells.shape)
    baskets = ReportedBaskets.of(packed(held), item_bits(DESIGN))
    for items in subsets(range(4)):
        chosen = pi[tuple(0 if a in items else slice(None) for a in range(4))]
        assert baskets.support([f"i{a}" for a in items]).support == pytest.approx(chosen.sum(), abs=1e-10)


def chance_of(report, truth) -> Fraction:
    """Pr(report | truth) of whole baskets, in fractions."""
    one = Fraction(1)
    for y, x, (s, t) in zip(report, truth, CHANCES, strict=True):
        one *= (s if y else 1 - s) if x else (t if not y else 1 - t)
    return one


@pytest.mark.parametrize("truth", list(product((0, 1), repeat=4)))
def test_one_report_is_unbiased_in_exact_arithmetic(truth) -> None:
    """The mean of the estimate over all 16 reports of a basket is 1 if it holds the set, and 0 if not, exactly."""
    low = np.array([(t - 1) / (s + t - 1) for s, t in CHANCES], dtype=object)
    high = np.array([t / (s + t - 1) for s, t in CHANCES], dtype=object)
    for items in subsets(range(4)):
        places = list(items)
        mean = Fraction(0)
        for report in product((0, 1), repeat=4):
            within = [frozenset(part) <= {a for a in places if report[a]} for part in _parts(places)]
            shares = np.array([Fraction(int(one)) for one in within], dtype=object)
            mean += chance_of(report, truth) * mean_of_products(shares, low[places], high[places])
        assert mean == int(all(truth[a] for a in places))


def _parts(places):
    """All parts in the order of ``mean_of_products``: the first item is the highest bit."""
    for mask in range(1 << len(places)):
        yield [a for i, a in enumerate(places) if mask >> (len(places) - 1 - i) & 1]


def test_variance_is_that_of_the_specification() -> None:
    """n Var = sum over T in S of sigma(T) prod v - sigma(S)^2, for a common p, over all reports of one true basket."""
    p, size = Fraction(4, 5), 3
    v, w1, w0 = p * (1 - p) / (2 * p - 1) ** 2, p / (2 * p - 1), (p - 1) / (2 * p - 1)
    for truth in product((0, 1), repeat=size):
        second = Fraction(0)
        for report in product((0, 1), repeat=size):
            chance = value = Fraction(1)
            for x, y in zip(truth, report, strict=True):
                chance, value = chance * (p if x == y else 1 - p), value * (w1 if y else w0)
            second += chance * value**2
        sigma = [Fraction(int(all(truth[a] for a in part))) for part in subsets(range(size))]
        formula = sum(s * v ** (size - len(part)) for s, part in zip(sigma, subsets(range(size)), strict=True))
        assert second == formula


def test_pairs_are_the_supports_of_pairs() -> None:
    held = np.random.default_rng(9).integers(0, 2, (777, 4))
    baskets = ReportedBaskets.of(packed(held), item_bits(DESIGN))
    support, error = baskets.pair_supports()
    assert np.allclose(support, support.T)
    for a, b in product(range(4), repeat=2):
        one = baskets.support([f"i{place}" for place in {a, b}])
        assert (support[a, b], error[a, b]) == pytest.approx((one.support, one.standard_error), rel=1e-10)


def test_confidence_is_a_ratio_of_means() -> None:
    """Its error is that of the linear form; the jackknife over baskets agrees within a hundredth."""
    random = np.random.default_rng(2)
    held = random.random((900, 4)) < [0.8, 0.6, 0.5, 0.7]
    baskets = ReportedBaskets.of(packed(held), item_bits(DESIGN))
    rule = baskets.confidence(["i0", "i2"], ["i1"])
    u, v = products(held, DESIGN, [0, 2, 1]), products(held, DESIGN, [0, 2])
    assert rule.confidence == pytest.approx(u.mean() / v.mean()) and rule.support == pytest.approx(u.mean())
    linear = (u - rule.confidence * v).std(ddof=1) / np.sqrt(900) / v.mean()
    assert rule.standard_error == pytest.approx(linear, rel=1e-9)
    left_out = (u.sum() - u) / (v.sum() - v)
    jackknife = np.sqrt(899 / 900 * ((left_out - left_out.mean()) ** 2).sum())
    assert rule.standard_error == pytest.approx(jackknife, rel=0.01)
    assert baskets.confidence([], ["i1"]).confidence == pytest.approx(baskets.support(["i1"]).support)
    assert (rule.given, rule.then) == (("i0", "i2"), ("i1",))


def test_a_confidence_over_nothing_is_refused() -> None:
    held = np.random.default_rng(3).random((200, 4)) < 0.1
    with pytest.raises(InputError, match="within 2 standard errors of 0"):
        ReportedBaskets.of(packed(held), item_bits(DESIGN)).confidence(["i0"], ["i1"])


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_items_any_chances(data) -> None:
    """Support and pair tables agree with the products for any number of items, also across whole bytes and words."""
    items, n = data.draw(st.integers(1, 20)), data.draw(st.integers(2, 140))
    keep = [Fraction(data.draw(st.integers(6, 19)), 20) + Fraction(1, 50) for _ in range(items)]
    keep = [min(max(p, Fraction(11, 20)), Fraction(49, 50)) for p in keep]
    design = bits([f"i{a}" for a in range(items)], probabilities=keep)
    held = np.random.default_rng(data.draw(st.integers(0, 2**32))).integers(0, 2, (n, items))
    baskets = ReportedBaskets.of(packed(held), item_bits(design))
    chosen = data.draw(st.lists(st.integers(0, items - 1), unique=True, max_size=5))
    w = products(held, design, chosen)
    found = baskets.support([f"i{a}" for a in chosen])
    assert found.support == pytest.approx(w.mean(), rel=1e-9, abs=1e-9 * np.abs(w).max())
    assert baskets.support([f"i{a}" for a in chosen[::-1]]).support == pytest.approx(
        found.support, abs=1e-9 * np.abs(w).max()
    )


def test_true_baskets_have_supports_that_never_grow_with_the_set() -> None:
    """Bits that are kept for certain: the estimate is the share itself, and anti-monotone."""
    truth = np.random.default_rng(8).random((400, 5)) < 0.5
    baskets = ReportedBaskets(
        ReportedBaskets.of(packed(truth), item_bits(bits(list("abcde"), p="0.9")))._columns,
        400,
        list("abcde"),
        np.zeros(5),
        np.ones(5),
    )
    for items in subsets(range(5)):
        found = baskets.support(["abcde"[a] for a in items]).support
        assert found == pytest.approx(truth[:, list(items)].all(axis=1).mean())
        for more in {*range(5)} - {*items}:
            assert baskets.support(["abcde"[a] for a in (*items, more)]).support <= found + 1e-12


def test_counting_bits_without_the_processors_help() -> None:
    """What NumPy before version 2 uses gives the same numbers."""
    words = np.random.default_rng(1).integers(0, 2**63, (3, 5), dtype=np.int64).astype(np.uint64)
    expected = [sum(int(word).bit_count() for word in row) for row in words]
    assert ones_in(words).tolist() == expected
    assert _BITS_OF_BYTE[words.view(np.uint8)].sum(axis=-1).tolist() == expected


def test_wrong_questions_are_refused() -> None:
    baskets = ReportedBaskets.of(packed(np.eye(4)), item_bits(DESIGN))
    with pytest.raises(UnknownCategoryError, match="no item is called 'soap'"):
        baskets.support(["soap"])
    with pytest.raises(LabelError, match="named twice"):
        baskets.support(["i1", "i1"])
    with pytest.raises(LabelError, match="named twice"):
        baskets.confidence(["i1"], ["i1"])
    with pytest.raises(InputError, match="1 basket: standard errors need at least two"):
        ReportedBaskets.of(packed(np.eye(4)[:1]), item_bits(DESIGN))
    with pytest.raises(ReportError, match="for baskets of 4 items"):
        ReportedBaskets.of(packed(np.ones((3, 5))), item_bits(DESIGN))
    many = bits([str(a) for a in range(20)], p="0.9")
    with pytest.raises(TooLargeError, match="a set of 13 items"):
        ReportedBaskets.of(packed(np.ones((3, 20))), item_bits(many)).support([str(a) for a in range(13)])

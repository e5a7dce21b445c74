"""Baskets: what a product of bits says about each item, both parities, and its draws."""

import math
from fractions import Fraction

import numpy as np
import pytest

import maskwell as mw
from maskwell import Categories, SeededRandom
from maskwell.designs import Dense, Kronecker, Uniform
from maskwell.designs.basket_bits import find_item_bits, item_bits
from maskwell.errors import LabelError, ParameterError, TooLargeError, WrongTypeError
from maskwell.procedures.category_encodings import bits

NAMES = [f"item{i}" for i in range(70)]


def test_seventy_items_are_never_numbered_and_unequal_bits_have_their_parities(tmp_path) -> None:
    design = bits(NAMES, p="0.9")
    assert design.k == design.m == 2**70
    assert design.parity_exact() == 9**70 and design.rank() == 2**70 and design.identifiable
    with pytest.raises(TooLargeError, match="cells, too many for one code"):
        design.sample(np.array([0]))
    assert mw.certify(design).to_dict() and mw.audit(design).to_dict()["k"] == 2**70
    design = bits(NAMES, probabilities=[Fraction(6 + i % 3, 10) for i in range(70)])
    design.save(tmp_path / "d.json")
    again = item_bits(mw.load_design(tmp_path / "d.json"))
    assert again.names == tuple(NAMES) and again.present == item_bits(design).present
    assert again.present[:3] == (Fraction(3, 5), Fraction(7, 10), Fraction(4, 5))
    told = item_bits(bits(["a", "b", "c"], probabilities=["0.9", "0.8", "0.75"]))
    assert (told.item_parity, told.basket_parity) == (9, 9 * 4 * 3)
    assert told.parities_in_words() == "parity 108 for a whole basket of 3 items, 9 for one item"
    both = told.both_parities()
    assert both["basket_epsilon"] == pytest.approx(math.log(108)) and both["item_parity"] == 9
    P = [["0.3", "0.9"], ["0.7", "0.1"]]  # rows: reports 1, 0; columns: truths 0, 1
    leaf = Dense.of(P, Categories.of([0, 1]), Categories.of([1, 0]))
    told = item_bits(Kronecker.of([leaf, leaf]))
    assert told.present == (Fraction(9, 10),) * 2 and told.absent == (Fraction(7, 10),) * 2
    assert told.item_parity == 7 == max(Fraction(9, 10) / Fraction(3, 10), Fraction(7, 10) / Fraction(1, 10))


def test_draws_keep_each_bit_and_go_on_from_batch_to_batch() -> None:
    """44 shares of 20,000 draws lie within 5.5 standard errors, all but 2e-6 of the time; a wrong share does not."""
    leaf = Dense.of([["0.3", "0.9"], ["0.7", "0.1"]], Categories.of([0, 1]), Categories.of([1, 0]))
    flip = Uniform.of("1/2", Categories.of((1, 0)))  # keeps three in four
    design = item_bits(Kronecker.of([leaf, flip] * 11))
    truth = np.zeros((40_000, 22), dtype=np.uint8)
    truth[:20_000] = 1
    drawn = design.sampler(SeededRandom(3)).sample(np.packbits(truth, axis=1, bitorder="little"))
    share = np.unpackbits(drawn.data, axis=1, count=22, bitorder="little").reshape(2, 20_000, 22).mean(axis=1)
    chance = np.array([[0.9, 0.75] * 11, [0.3, 0.25] * 11])
    error = np.sqrt(chance * (1 - chance) / 20_000)
    assert (np.abs(share - chance) < 5.5 * error).all()
    assert not (np.abs(share - (chance + 0.03)) < 5.5 * error).any()
    design = item_bits(bits(NAMES, p="0.8"))
    truth = np.packbits(np.random.default_rng(1).integers(0, 2, (500, 70)), axis=1, bitorder="little")
    whole = design.sampler(SeededRandom(7)).sample(truth)
    parts = design.sampler(SeededRandom(7))
    pieces = [parts.sample(piece).data for piece in (truth[:123], truth[123:])]
    assert (np.concatenate(pieces) == whole.data).all()
    assert not whole.private and design.sampler().sample(truth).private
    assert not (whole.data[:, -1] >> 6).any()  # nothing beyond the last item


@pytest.mark.parametrize(
    "design",
    [
        Uniform.from_gamma(3, Categories.of(["yes", "no"])),
        Uniform.from_gamma(3, Categories.numbered(5)),
        Kronecker.of([Uniform.from_gamma(3, Categories.of(["yes", "no"]))] * 2),
        mw.design("oue", categories=Categories.of(["a", "b", "c"]), epsilon=1),
    ],
    ids=["warner", "k-ary", "yes and no", "unary"],
)
def test_designs_of_another_kind_are_refused(design) -> None:
    assert find_item_bits(design) is None
    with pytest.raises(ParameterError, match="is not available for baskets of items") as raised:
        item_bits(design)
    assert "mw.design('bits'" in raised.value.hint


def test_bits_that_tell_nothing_or_all_and_items_that_read_like_reports_are_refused() -> None:
    one = Categories.of((1, 0))
    sure, flat = Uniform.of(1, one), Dense.of([["1/2", "1/2"]] * 2, one)
    with pytest.raises(ParameterError, match="truth for certain"):
        item_bits(Kronecker.of([Uniform.of("1/2", one), sure]))
    with pytest.raises(ParameterError, match="items 2: a 1 is reported no more often"):
        item_bits(Kronecker.of([Uniform.of("1/2", one), flat]))
    with pytest.raises(WrongTypeError):
        item_bits("bits.json")  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="the item '01' looks like a report of 2 characters 0 or 1"):
        item_bits(bits(["01", "b"], p="0.9")).check_named()


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", ""], ["a", 1], "ab", None, 7])
def test_names_that_do_not_fit_are_no_names(names) -> None:
    """They are a note of the design file, which the fingerprint does not cover."""
    design = bits(["a", "b"], p="0.9").with_provenance(items=names)
    assert item_bits(design).names == ()
    with pytest.raises(LabelError, match="the design has no names for its 2 items, and baskets are lists of names"):
        item_bits(design).check_named()

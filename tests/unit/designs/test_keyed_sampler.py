"""Sampling by record: exact, whatever the order, the batches and the kernels."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from tests.support.chisquare import fits
from tests.support.examples import EXAMPLES

from maskwell.core import Categories, KeyedRandom
from maskwell.core.arguments import Array, Words
from maskwell.core.draws import WordReader
from maskwell.designs import Sparse, Uniform, kernels, sampler
from maskwell.designs.sampler import KeyedSampler
from maskwell.errors import ParameterError, UnknownCategoryError, WrongTypeError

KEYED = KeyedRandom.of(bytes(range(32)), "labour-2025")
each = pytest.mark.parametrize("name", list(EXAMPLES))


@each
def test_reports_are_those_of_the_definition_for_each_record(name: str) -> None:
    design = EXAMPLES[name]
    codes, ids = np.arange(60) % design.k, np.arange(60) * 31 + 5
    reports = KeyedSampler(design, KEYED, "v").sample(codes, ids).data
    stream = KEYED.stream("v", design.fingerprint)
    for row, (code, own) in enumerate(zip(codes.tolist(), ids.tolist(), strict=True)):
        name = KEYED.names([own])
        words = stream.words(name, [code], design.words_per_row)[0].tolist()
        reader = WordReader(words, more=partial(stream.spill, name[0], code))
        assert (reports[row] == design.encode_report(design.draw(code, reader))).all()


@each
def test_order_batches_and_kernels_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    design = EXAMPLES[name]
    codes, ids = np.arange(500) % design.k, np.arange(500)
    drawn = KeyedSampler(design, KEYED, "v")
    whole = drawn.sample(codes, ids).data
    order = np.random.default_rng(1).permutation(500)
    assert (drawn.sample(codes[order], ids[order]).data == whole[order]).all()
    monkeypatch.setattr(sampler, "CHUNK_BYTES", 100)
    assert (drawn.sample(codes, ids).data == whole).all()
    for path in (kernels.compiled, kernels.plain):
        if path is not None:
            monkeypatch.setattr(kernels, "active", path)
            assert (drawn.sample(codes, ids).data == whole).all()


def test_names_made_once_serve_every_variable() -> None:
    design = Uniform.from_gamma(3, Categories.numbered(4))
    ids = [f"p{i}" for i in range(100)]
    names, codes = KEYED.names(ids), np.arange(100) % 4
    for variable in ("a", "b"):
        drawn = KeyedSampler(design, KEYED, variable)
        assert (drawn.sample_named(codes, names).data == drawn.sample(codes, ids).data).all()


def test_reports_follow_the_design_and_variables_are_independent() -> None:
    """False-alarm rate 1e-6 each; a wrong design is found out."""
    design = Sparse.of_columns([{0: 6, 1: 3, 2: 1}, {0: 1, 1: 2, 2: 1}, {2: 1}])
    n = 200_000
    codes, ids = np.zeros(n, dtype=int), np.arange(n)
    first, second = (KeyedSampler(design, KEYED, v).sample(codes, ids).data.astype(int) for v in ("a", "b"))
    law = np.array([0.6, 0.3, 0.1])
    assert fits(np.bincount(first, minlength=3), law)
    assert fits(np.bincount(first * 3 + second, minlength=9), np.outer(law, law).reshape(-1))
    wrong = np.array([0.61, 0.29, 0.1])
    assert not fits(np.bincount(first, minlength=3), wrong)


def two_waves(draw: Callable[[Array, Array], Array]) -> tuple[Array, Array, Array, Array]:
    """Truths and reports of 14,000 people whose truth changed from one wave to the next."""
    rng = np.random.default_rng(11)
    ids, before = np.arange(14_000), rng.integers(0, 16, 14_000)
    after = (before + rng.integers(1, 16, 14_000)) % 16
    return before, after, draw(before, ids), draw(after, ids)


def share_found(before: Array, after: Array, first: Array, later: Array) -> float:
    """How often an intruder is right who takes two reports that differ for the truths."""
    differ = first != later
    assert differ.sum() > 1000
    return float(((first == before) & (later == after))[differ].mean())


def test_a_changed_report_does_not_tell_both_truths() -> None:
    """Of independent draws that differ both are true in 2.5 %; 4 % of some 13,000 would be 11 standard errors more.

    Negative control: words that do not depend on the truth. Then the decision to keep is the same in both waves, and
    whoever's report changed was truthful twice.
    """
    design = Uniform.from_epsilon(1, Categories.numbered(16))
    keyed = KeyedSampler(design, KEYED, "job")
    assert share_found(*two_waves(lambda codes, ids: keyed.sample(codes, ids).data)) < 0.04
    assert share_found(*two_waves(partial(draw_whatever_the_truth, design))) == 1


def draw_whatever_the_truth(design: Uniform, codes: Array, ids: Array) -> Array:
    """With words by key, data set, variable and id alone."""
    stream, names = KEYED.stream("job", design.fingerprint), KEYED.names(ids)
    words, out = (
        stream.words(names, np.zeros(len(ids), dtype=int), design.words_per_row),
        design.empty_reports(len(ids)),
    )
    assert not len(design.draw_rows(codes.astype(np.uint8), words, out))
    return out


def test_a_changed_matrix_does_not_couple_the_draws() -> None:
    """Of two matrices, drawn for the same truth: with shared words a record whose report differs lies between two
    thresholds, and its second report is the truth for sure. False-alarm rate 1e-6; that coupling is caught.
    """
    weak, strong = (Uniform.from_gamma(gamma, Categories.numbered(2)) for gamma in (2, 4))
    codes, ids = np.zeros(60_000, dtype=int), np.arange(60_000)
    first, later = (KeyedSampler(design, KEYED, "v").sample(codes, ids).data for design in (weak, strong))
    law = np.outer([2 / 3, 1 / 3], [4 / 5, 1 / 5]).reshape(-1)
    assert fits(np.bincount(2 * first.astype(int) + later, minlength=4), law)
    shared = [
        KeyedSampler(design, KEYED, "v", "one name").sample(codes, ids).data.astype(int) for design in (weak, strong)
    ]
    coupled = np.bincount(2 * shared[0] + shared[1], minlength=4)
    assert not fits(coupled, law)
    assert coupled[1] == 0, "whoever's report moved away from the truth did so under both matrices"


def test_the_same_matrix_under_other_labels_is_another_design() -> None:
    codes, ids = np.zeros(2000, dtype=int), np.arange(2000)
    reports = [
        KeyedSampler(Uniform.from_gamma(3, Categories.of(labels)), KEYED, "v").sample(codes, ids).data
        for labels in (["yes", "no"], ["no", "yes"])
    ]
    assert (reports[0] != reports[1]).any()


def test_same_truth_and_design_give_the_same_report_beside_changed_ones() -> None:
    design = Uniform.from_gamma(3, Categories.numbered(4))
    drawn = KeyedSampler(design, KEYED, "v")
    codes, ids = np.arange(1000) % 4, np.arange(1000)
    changed = np.where(ids % 7 == 0, (codes + 1) % 4, codes)
    first, later = drawn.sample(codes, ids).data, drawn.sample(changed, ids).data
    assert (first == later)[ids % 7 != 0].all()
    assert (first != later)[ids % 7 == 0].any()


class Thirsty(Uniform):
    """Leaves every row to the definition, which reads beyond the row's own words."""

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        return np.arange(len(codes))

    def draw(self, truth: int, words: WordReader) -> int:
        return words.take(self.words_per_row + 6)[-1] % self.k


def test_further_words_are_those_of_the_record() -> None:
    honest = Uniform.from_gamma(3, Categories.numbered(200))
    design = Thirsty(categories=honest.categories, truth=honest.truth)
    ids = ["a", 5, "b", 7]
    reports = KeyedSampler(design, KEYED, "v").sample(np.full(4, 3), ids).data
    stream = KEYED.stream("v", design.fingerprint)
    assert reports.tolist() == [stream.spill(name, 3, 1)[1] % 200 for name in KEYED.names(ids)]


def test_bad_input_is_refused() -> None:
    drawn = KeyedSampler(Uniform.from_gamma(3, Categories.numbered(4)), KEYED, "v")
    with pytest.raises(ParameterError, match="2 codes and 3 record ids"):
        drawn.sample(np.array([0, 1]), [1, 2, 3])
    with pytest.raises(UnknownCategoryError):
        drawn.sample(np.array([4]), [1])
    with pytest.raises(WrongTypeError, match="secret"):
        pickle.dumps(drawn)
    assert drawn.sample(np.array([0]), [1]).private

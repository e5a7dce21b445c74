"""Sampling by record: exact, whatever the order, the batches and the kernels."""

import pickle
from functools import partial

import numpy as np
import pytest
from tests.support.examples import EXAMPLES

from maskwell import Categories, KeyedRandom
from maskwell.core.arguments import Array, Words
from maskwell.core.draws import WordReader
from maskwell.designs import Uniform, kernels, sampler
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


def test_names_serve_every_variable_and_other_labels_are_another_design() -> None:
    design = Uniform.from_gamma(3, Categories.numbered(4))
    ids = [f"p{i}" for i in range(100)]
    names, codes = KEYED.names(ids), np.arange(100) % 4
    for variable in ("a", "b"):
        drawn = KeyedSampler(design, KEYED, variable)
        assert (drawn.sample_named(codes, names).data == drawn.sample(codes, ids).data).all()
    codes, ids = np.zeros(2000, dtype=int), np.arange(2000)
    reports = [
        KeyedSampler(Uniform.from_gamma(3, Categories.of(labels)), KEYED, "v").sample(codes, ids).data
        for labels in (["yes", "no"], ["no", "yes"])
    ]
    assert (reports[0] != reports[1]).any()


class Thirsty(Uniform):
    """Leaves every row to the definition, which reads beyond the row's own words."""

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        return np.arange(len(codes))

    def draw(self, truth: int, words: WordReader) -> int:
        return words.take(self.words_per_row + 6)[-1] % self.k


def test_further_words_are_those_of_the_record_and_bad_input_is_refused() -> None:
    honest = Uniform.from_gamma(3, Categories.numbered(200))
    design = Thirsty(categories=honest.categories, truth=honest.truth)
    ids = ["a", 5, "b", 7]
    reports = KeyedSampler(design, KEYED, "v").sample(np.full(4, 3), ids).data
    stream = KEYED.stream("v", design.fingerprint)
    assert reports.tolist() == [stream.spill(name, 3, 1)[1] % 200 for name in KEYED.names(ids)]
    drawn = KeyedSampler(Uniform.from_gamma(3, Categories.numbered(4)), KEYED, "v")
    with pytest.raises(ParameterError, match="2 codes and 3 record ids"):
        drawn.sample(np.array([0, 1]), [1, 2, 3])
    with pytest.raises(UnknownCategoryError):
        drawn.sample(np.array([4]), [1])
    with pytest.raises(WrongTypeError, match="secret"):
        pickle.dumps(drawn)
    assert drawn.sample(np.array([0]), [1]).private

"""What is audited is bit for bit what is sampled: every structure, every random word.

First the definition (:meth:`Design.draw`), with words of a few bits so that every run of words can be tried. Then the
kernels with their real 32-bit words, where the leading bits decide; then words at the edge of every decision, on which
the compiled kernels, the NumPy kernels and the definition must agree.
"""

from collections import Counter
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.support.examples import DYADIC, EXAMPLES, LEADING_BITS, exact_columns
from tests.support.together import together
from tests.support.words import (
    HandmadeRandom,
    HandmadeStream,
    edge_words,
    law_of_reports,
    leading_patterns,
    reader,
    unit_of,
)

from maskwell import Categories, Design, SeededRandom
from maskwell.core.draws import WordReader
from maskwell.designs import LocalDiversity, Subset, Unary, Uniform, kernels, sampler

PATHS = ["compiled", "plain"]


def smallest_width(design: Design) -> int:
    """Bits of a word from which on a choice among all categories is not always rejected; even, for halves of words."""
    bits = 2 if design.kind == "unary" else max(1, (largest_choice(design) - 1).bit_length())
    return bits + bits % 2 if design.kind == "unary" else bits


def largest_choice(design: Any) -> int:
    """The largest number of equally likely values that a draw chooses among."""
    parts = [*getattr(design, "factors", ()), *getattr(design, "parts", ())]
    parts += [design.first, design.then] if design.kind == "composed" else []
    own = design.k if design.kind in ("uniform", "subset", "l-diverse") else 1
    return max([own, *map(largest_choice, parts)])


def widths(design: Design) -> list[int]:
    """Word widths for which all runs of words of a row can be tried."""
    step = 2 if design.kind == "unary" else 1
    first, most = smallest_width(design), 12 if design.words_per_row <= 2 else 10
    return [bits for bits in range(first, first + 5 * step, step) if bits * design.words_per_row <= most][:3]


def is_tried(design: Design) -> bool:
    """Not the largest, nor independent bits of 64-bit probabilities: several ties at once need too many words."""
    return design.k <= 5 and not (design.kind == "unary" and design.keep.denominator * design.flip.denominator > 10**6)


TRIED = [(name, bits) for name, design in EXAMPLES.items() if is_tried(design) for bits in widths(design)]


def report_rows(design: Design) -> dict[bytes, int]:
    return {row.tobytes(): i for i, row in enumerate(design.report_space())}


@together(("name", "bits"), TRIED)
def test_every_word_of_a_small_width_gives_the_exact_matrix(name: str, bits: int) -> None:
    design = EXAMPLES[name]
    rows = report_rows(design)
    columns = exact_columns(design)
    for truth in range(design.k) if design.k <= 4 else (0, 1, design.k - 1):
        column = columns[truth]
        unit = max(unit_of(column), Fraction(1, 10**25))  # a tiny entry has a huge denominator
        law, rest = law_of_reports(design, truth, bits=bits, unit=unit)
        assert set(law) <= set(rows)
        drawn = [Fraction(0)] * design.m
        for report, mass in law.items():
            drawn[rows[report]] = mass
        assert sum(drawn) + rest == 1
        assert rest < unit
        for exact, mass in zip(column, drawn, strict=True):
            assert mass <= exact <= mass + rest, (truth, exact, mass)
        if rest == 0:
            assert drawn == column


def test_every_structure_was_tried_with_small_words() -> None:
    assert {EXAMPLES[name].kind for name, _ in TRIED} == {design.kind for design in EXAMPLES.values()}
    assert len(TRIED) > 60


@together("name", list(DYADIC))
def test_probabilities_that_fit_into_the_words_leave_nothing_unsettled(name: str) -> None:
    """No rejection and no tie without end: the draws equal the matrix with no remainder at all."""
    design = DYADIC[name]
    for truth, column in enumerate(exact_columns(design)):
        law, rest = law_of_reports(design, truth, bits=2 if design.words_per_row > 3 else 4, unit=Fraction(1, 10**9))
        assert [law.get(report, Fraction(0)) for report in report_rows(design)] == column
        assert rest == 0


def kernel_rows(design: Design, codes: Any, words: Any, path: str) -> tuple[Any, list[int]]:
    """Reports and unsettled rows of one of the two paths."""
    chosen = getattr(kernels, path)
    if chosen is None:
        pytest.skip("no compiled kernels here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "active", chosen)
        out = design.empty_reports(len(codes))
        unsettled = design.draw_rows(codes, words, out)
    return out, unsettled.tolist()


@together("path", PATHS)
@together("fill", [0xFFFF, 0x5A5B, 0x0001], ids=hex)
@together("name", list(DYADIC))
def test_all_leading_bits_of_real_words_give_the_exact_numerators(name: str, fill: int, path: str) -> None:
    design = DYADIC[name]
    words = leading_patterns(LEADING_BITS[name], fill)
    assert words.shape[1] == design.words_per_row
    rows = report_rows(design)
    for truth, column in enumerate(exact_columns(design)):
        reports, unsettled = kernel_rows(design, np.full(len(words), truth, dtype=np.uint8), words, path)
        assert unsettled == []
        kinds, times = np.unique(reports, axis=0, return_counts=True)
        counts = Counter({rows[kind.tobytes()]: n for kind, n in zip(kinds, times.tolist(), strict=True)})
        assert [Fraction(counts[i], len(words)) for i in range(design.m)] == column


@together("path", PATHS)
@together("name", list(DYADIC))
def test_a_word_at_a_threshold_is_left_to_the_definition(name: str, path: str) -> None:
    """With zeros below the leading bits some words equal a threshold: those rows, and only those, stay unsettled."""
    design = DYADIC[name]
    words = leading_patterns(LEADING_BITS[name], 0)
    for truth in range(design.k):
        codes = np.full(len(words), truth, dtype=np.uint8)
        reports, unsettled = kernel_rows(design, codes, words, path)
        if design.kind not in ("l-diverse", "unary"):  # nothing ties with probabilities that end within 16 bits
            assert unsettled
        settled = np.setdiff1d(np.arange(len(words)), unsettled)
        for row in settled[:: max(1, len(settled) // 500)]:
            drawn = design.encode_report(design.draw(truth, reader(words[row].tolist(), design.words_per_row)))
            assert np.array_equal(reports[row], drawn)


@together("name", list(EXAMPLES))
@together("seed", [1, 2])
def test_compiled_plain_and_definition_agree_on_edge_words(name: str, seed: int) -> None:
    design = EXAMPLES[name]
    words = edge_words(design, 400, seed)
    codes = np.random.default_rng(seed).integers(0, design.k, len(words)).astype(np.uint32)
    plain, open_plain = kernel_rows(design, codes, words, "plain")
    if kernels.compiled is None:
        check_against_definition(design, codes, words, plain, open_plain)
        return
    compiled, open_compiled = kernel_rows(design, codes, words, "compiled")
    assert set(open_compiled) <= set(open_plain)  # the compiled kernels go on to words that are left over
    check_against_definition(design, codes, words, compiled, open_compiled)
    assert open_plain == sorted({*open_plain})
    settled = np.setdiff1d(np.arange(len(words)), open_plain)
    assert np.array_equal(plain[settled], compiled[settled])


def check_against_definition(design: Design, codes: Any, words: Any, reports: Any, unsettled: list[int]) -> None:
    open_rows = set(unsettled)
    assert unsettled == sorted(open_rows)
    for row in range(len(words)):
        words_of_row = words[row].tolist()
        if row not in open_rows:
            drawn = design.draw(int(codes[row]), reader(words_of_row, design.words_per_row))
            assert np.array_equal(reports[row], design.encode_report(drawn)), (row, words_of_row, int(codes[row]))


READS_ON = {name: design for name, design in EXAMPLES.items() if design.further_words is not None}


def with_further(design: Design, rows: int, further: int, seed: int) -> Any:
    """Rows of words at the edges, each with so many further ones, which are at the edges as well."""
    wide = np.concatenate([edge_words(design, rows, seed + part) for part in range(1 + further)], axis=1)
    return np.ascontiguousarray(wide[:, : design.words_per_row + further])


def drawn_or_none(design: Design, truth: int, words: Any) -> Any:
    """The report by the definition, None where it asks for more words than these."""
    try:
        return design.encode_report(design.draw(truth, reader(words.tolist(), design.words_per_row)))
    except EOFError:
        return None


@together("name", list(EXAMPLES))
def test_only_designs_of_one_part_read_on(name: str) -> None:
    """Parts of a design share the further words of a row, and one does not know how many another took."""
    parts = ("kronecker", "blocks", "composed", "mixture", "dense", "sparse", "patterns")
    assert (EXAMPLES[name].further_words is None) == (EXAMPLES[name].kind in parts)


@pytest.mark.skipif(kernels.compiled is None, reason="the kernels are not compiled")
@together("further", [0, 1, 2, 3, 9])
@together("name", list(READS_ON))
def test_further_words_are_read_as_the_definition_reads_them(name: str, further: int) -> None:
    """What is settled is the definition's report, and nothing is settled with words that the row does not have.

    What is left unsettled although the words suffice is a tie with all digits of a threshold that the kernel is given.
    """
    design = READS_ON[name]
    words = with_further(design, 200, further, 20)
    codes = np.random.default_rng(further).integers(0, design.k, len(words)).astype(design.empty_reports(0).dtype)
    reports, unsettled = kernel_rows(design, codes, words, "compiled")
    by_definition = [drawn_or_none(design, int(code), row) for code, row in zip(codes, words, strict=True)]
    for row in np.setdiff1d(np.arange(len(words)), unsettled):
        assert np.array_equal(reports[row], by_definition[row]), (row, words[row].tolist())
    left = [row for row in unsettled if by_definition[row] is not None]
    assert all(ties_to_the_end(design, words[row]) for row in left)


def ties_to_the_end(design: Any, words: Any) -> bool:
    """Whether the words meet a threshold in all the digits that a kernel compares."""
    pair = int(words[0]) | int(words[1]) << 32
    if design.kind == "uniform":
        return int(words[1]) == min((design.truth.numerator << 32) // design.truth.denominator, 2**32 - 1)
    if design.kind == "unary":
        next32 = {(q.numerator << 48) // q.denominator & 0xFFFFFFFF for q in (design.keep, design.flip)}
        return bool(next32 & set(words[(design.k + 1) // 2 :].tolist()))
    return design.kind == "subset" and pair == (design.chance.numerator << 64) // design.chance.denominator


def large(name: str, k: int) -> Any:
    categories = Categories.numbered(k)
    return {
        "subset": lambda: Subset.from_gamma(3, categories, size=k // 4),
        "a small subset": lambda: Subset.from_gamma(3, categories, size=5),
        "a subset of most": lambda: Subset.from_gamma(3, categories, size=k - 2),
        "l-diverse": lambda: LocalDiversity.of(k // 3, categories),
        "unary": lambda: Unary.rappor_from_gamma(3, categories),
        "unary that ends": lambda: Unary.oue_from_gamma(3, categories),
        "uniform": lambda: Uniform.from_gamma(3, categories),
    }[name]()


LARGE = ["subset", "a small subset", "a subset of most", "l-diverse", "unary", "unary that ends", "uniform"]


@pytest.mark.skipif(kernels.compiled is None, reason="the kernels are not compiled")
@together("k", [63, 64, 65, 66, 257, 70_001])
@together("name", LARGE)
def test_many_rejected_words_and_ties_in_a_row(name: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that are rejected for many bounds, and halves that tie, strewn over rows: the sampler, on both paths, gives
    what the definition gives."""
    design = large(name, k)
    rows = 3 if k > 1000 else 30
    rng = np.random.default_rng(k)
    words = rng.integers(0, 1 << 32, (rows, design.words_per_row), dtype=np.uint32)
    words[rng.random(words.shape) < min(0.2, 20 / words.shape[1])] = 0  # rejected by all bounds but powers of two
    if design.kind == "unary":
        halves = words.view(np.uint16)
        halves[rng.random(halves.shape) < min(0.2, 6 / k)] = (design.flip.numerator << 16) // design.flip.denominator
    codes = rng.integers(0, k, rows)
    codes[:2] = 0, k - 1
    reports = design.sample(codes, random=HandmadeRandom(words)).data
    stream = HandmadeStream(words)
    for row in range(rows):
        read = WordReader(words[row].tolist(), more=partial(stream.spill, row))
        assert np.array_equal(reports[row], design.encode_report(design.draw(int(codes[row]), read)))
    if k < 1000:
        monkeypatch.setattr(kernels, "active", kernels.plain)
        assert np.array_equal(design.sample(codes, random=HandmadeRandom(words)).data, reports)


@pytest.mark.skipif(kernels.compiled is None, reason="the kernels are not compiled")
@together("name", LARGE)
def test_no_row_of_a_million_categories_is_left_to_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine rows: one that two passes of a kernel leave unsettled has a chance below 1e-8."""
    design = large(name, 10**6)

    def never(*_: Any) -> Any:
        raise AssertionError("a row was drawn in Python")

    monkeypatch.setattr(type(design), "draw", never)
    codes = np.arange(9) * 111_111
    counts = design.tally(design.sample(codes, random=SeededRandom(3)))
    assert counts.n == 9


@together("name", list(EXAMPLES))
def test_the_sampler_equals_the_definition_with_spill(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    design = EXAMPLES[name]
    monkeypatch.setattr(sampler, "CHUNK_BYTES", 100 * 4 * design.words_per_row)  # many chunks, rows go on
    words = edge_words(design, 300, 7)
    codes = np.random.default_rng(7).integers(0, design.k, len(words))
    stream, by_definition = HandmadeStream(words), design.empty_reports(len(words))
    for row, truth in enumerate(codes.tolist()):
        read = WordReader(words[row].tolist(), more=partial(stream.spill, row))
        by_definition[row] = design.encode_report(design.draw(truth, read))
    for path in filter(None, (kernels.compiled, kernels.plain)):
        monkeypatch.setattr(kernels, "active", path)
        assert np.array_equal(design.sample(codes, random=HandmadeRandom(words)).data, by_definition)


@together("path", PATHS)
@together("name", list(EXAMPLES))
def test_words_may_lie_apart_in_memory(name: str, path: str) -> None:
    """A factor of a product reads its columns of a wider table of words."""
    design = EXAMPLES[name]
    words = edge_words(design, 400, 3)
    codes = (np.arange(len(words)) % design.k).astype(np.uint32)
    reports, unsettled = kernel_rows(design, codes, words, path)
    wide = np.zeros((2 * len(words), words.shape[1] + 5), dtype=np.uint32)
    wide[::2, 3:-2] = words
    strided, open_strided = kernel_rows(design, codes, wide[::2, 3:-2], path)
    assert unsettled == open_strided
    settled = np.setdiff1d(np.arange(len(words)), unsettled)
    assert np.array_equal(reports[settled], strided[settled])


@together("path", PATHS)
@together("k", [2, 3, 5, 6, 7, 16, 100, 255, 256, 257, 1000, 65536, 65537, 10**6, 2**32 - 1])
def test_uniform_rejects_exactly_the_words_that_would_favour_some_category(k: int, path: str) -> None:
    design = Uniform.of("1/2", Categories.numbered(k))
    edges = sorted({0, k // 3, k - 2, k - 1})
    firsts = [-(-(j << 32) // k) for j in edges]  # the first word that chooses j: rejected when its low half is small
    lows = sorted({(first + d) % (1 << 32) for first in firsts for d in (-1, 0, 1)})
    words = np.array([[low, high] for low in lows for high in (1 << 31 | 1, (1 << 32) - 1)] * 17, dtype=np.uint32)
    codes = np.full(len(words), k - 1, dtype=design.empty_reports(0).dtype)
    reports, unsettled = kernel_rows(design, codes, words, path)
    expected = [i for i, low in enumerate(words[:, 0].tolist()) if low * k % (1 << 32) < (1 << 32) % k]
    assert unsettled == expected
    settled = np.setdiff1d(np.arange(len(words)), unsettled)
    assert reports[settled].tolist() == [low * k >> 32 for low in words[settled, 0].tolist()]


@together("path", PATHS)
@together("k", [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100])
def test_unary_bits_of_every_length_land_where_they_belong(k: int, path: str) -> None:
    """Every category in turn is the only one below its threshold; the unused bits stay zero."""
    if k == 1:
        pytest.skip("a design has at least two categories")
    design = Unary.of("3/4", "1/4", Categories.numbered(k))
    halves = np.full((k, 2 * design.words_per_row), 0xFFFF, dtype=np.uint16)
    halves[np.arange(k), np.arange(k)] = 0x1234
    reports, unsettled = kernel_rows(design, np.zeros(k, dtype=np.uint32), halves.view(np.uint32), path)
    assert unsettled == []
    assert np.array_equal(np.unpackbits(reports, axis=1, bitorder="little")[:, :k], np.eye(k))
    assert (np.unpackbits(reports, axis=1, bitorder="little")[:, k:] == 0).all()


@together("path", PATHS)
@together("k", [5, 31, 32, 33, 64, 65, 100])
def test_a_single_tie_of_a_unary_bit_is_settled_by_the_last_word(k: int, path: str) -> None:
    """Every category in turn ties with the leading bits of its threshold; the last word decides, unless it ties too."""
    design = Unary.of("5/7", "2/7", Categories.numbered(k))
    rng = np.random.default_rng(k)
    rows = 3 * k
    halves = rng.integers(0, 1 << 16, size=(rows, 2 * design.words_per_row), dtype=np.uint16)
    codes = rng.integers(0, k, rows).astype(np.uint32)
    tied = np.arange(rows) // 3
    keep, flip = (int(p * 2**48) for p in (design.keep, design.flip))
    at = np.where(tied == codes, keep, flip)
    halves[halves == keep >> 32] += 1
    halves[halves == flip >> 32] += 1
    halves[np.arange(rows), tied] = at >> 32
    words = halves.view(np.uint32).copy()
    words[:, -1] = (at & 0xFFFFFFFF) + np.arange(rows) % 3 - 1
    reports, unsettled = kernel_rows(design, codes, words, path)
    assert unsettled == [row for row in range(rows) if row % 3 == 1]
    check_against_definition(design, codes, words, reports, unsettled)

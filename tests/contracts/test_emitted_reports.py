"""The whole report, as it is emitted, tells no more than the design allows; a report that tells more is caught."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.examples import ABC, DYADIC, EXAMPLES, LEADING_BITS, SETS, exact_columns
from tests.support.together import together
from tests.support.words import Drawn, HandmadeRandom, law_of_reports, leading_patterns, unit_of

from maskwell import Design, SeededRandom
from maskwell.core.arguments import Array
from maskwell.core.draws import WordReader, coin, others
from maskwell.core.report_data import Reports
from maskwell.designs import Subset, kernels


def parity_seen(laws: Sequence[tuple[Drawn, Fraction]]) -> Fraction | float:
    """What the parity of the emitted reports is at least, given their laws under each truth.

    A law is given up to a mass that was left unsettled; it is counted against the claim that something leaks.
    """
    seen: set[Hashable] = {report for law, _ in laws for report in law}
    worst: Fraction | float = Fraction(1)
    for report in seen:
        high = max(law.get(report, Fraction(0)) for law, _ in laws)
        low = min(law.get(report, Fraction(0)) + rest for law, rest in laws)
        worst = max(worst, high / low if low else math.inf)
    return worst


def law_of_sample(emitted: Iterable[Hashable]) -> tuple[Drawn, Fraction]:
    """The law of reports of which each was emitted by an equally likely run of words."""
    counts = Counter(emitted)
    return {report: Fraction(n, counts.total()) for report, n in counts.items()}, Fraction(0)


SMALL = {
    design.kind: name
    for name, design in EXAMPLES.items()
    if design.k <= 5
    and design.words_per_row <= 4
    and max(p.denominator for row in design.exact_matrix() for p in row) < 10**6
}
"""One of each structure: test_exact_sampling shows that the reports of all have exactly the law of their matrices."""


def laws_by_definition(design: Design) -> list[tuple[Drawn, Fraction]]:
    """The law of the emitted bytes under each truth, from every word of a small width."""
    bits = 2 if design.kind == "unary" or design.k <= 4 else 3
    unit = min(unit_of(column) for column in exact_columns(design))
    return [law_of_reports(design, truth, bits=bits, unit=unit) for truth in range(design.k)]


def laws_through_the_sampler(design: Design, name: str, show: Any) -> list[tuple[Drawn, Fraction]]:
    """The law of what is emitted under each truth, from every pattern of the leading bits of real words."""
    words = leading_patterns(LEADING_BITS[name], 0x5A5B)
    sampled = [design.sample(np.full(len(words), j), random=HandmadeRandom(words)) for j in range(design.k)]
    return [law_of_sample(show(design, reports)) for reports in sampled]


def as_bytes(design: Design, reports: Reports) -> Iterable[Hashable]:
    return [row.tobytes() for row in reports.data]


def as_labels(design: Design, reports: Reports) -> Iterable[Hashable]:
    return design.labels_of(reports, like=[])


@together("name", [*SMALL.values()])
def test_no_report_tells_more_than_the_design(name: str) -> None:
    design = EXAMPLES[name]
    assert parity_seen(laws_by_definition(design)) <= design.parity_exact()


@together("path", ["compiled", "plain"])
@together("show", [as_bytes, as_labels])
@together("name", list(DYADIC))
def test_what_the_sampler_emits_has_exactly_the_parity_of_the_design(
    name: str, show: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if getattr(kernels, path) is None:
        pytest.skip("no compiled kernels here")
    monkeypatch.setattr(kernels, "active", getattr(kernels, path))
    design = DYADIC[name]
    assert parity_seen(laws_through_the_sampler(design, name, show)) == design.parity_exact()


@together("name", list(SETS))
def test_bit_j_is_category_j_and_unused_bits_are_zero(name: str) -> None:
    design = SETS[name]
    reports = design.sample(np.arange(2000) % design.k, random=SeededRandom(1))
    assert (np.unpackbits(reports.data, axis=1, bitorder="little")[:, design.k :] == 0).all()
    texts = reports.texts()
    assert all(len(text) == design.k and set(text) <= set("01") for text in texts)
    for truth in range(design.k):
        reports = design.sample(np.full(1000, truth), random=SeededRandom(truth))
        named = np.array([[c == "1" for c in text] for text in reports.texts()]).sum(axis=0)
        assert named.argmax() == truth
        assert (named == design.tally(reports).values).all()
        held = [(reports.data[:, j // 8] >> (j % 8) & 1).sum() for j in range(design.k)]
        assert (named == held).all()


class TruthFirst(Subset):
    """Emits the chosen categories as a list with the kept true one first: the known leak."""

    def draw(self, truth: int, words: WordReader) -> Any:
        words = words.part(self.words_per_row)
        includes = coin(self.chance, words)
        drawn = sorted(c + (c >= truth) for c in others(self.size - includes, self.k - 1, words))
        return self.ordered([truth, *drawn] if includes else drawn)

    def ordered(self, report: list[int]) -> list[int]:
        return report

    def draw_rows(self, codes: Array, words: Array, out: Array) -> Array:
        return np.arange(len(codes))

    def empty_reports(self, n: int) -> Array:
        return np.zeros((n, self.size), dtype=np.uint8)

    def encode_report(self, report: Any) -> Array:
        return np.array(report, dtype=np.uint8)


class Sorted(TruthFirst):
    """The same list in order: a canonical form that tells nothing more."""

    def ordered(self, report: list[int]) -> list[int]:
        return sorted(report)


class Padded(Subset):
    """Sets an unused bit of the last byte when the truth was kept."""

    def draw(self, truth: int, words: WordReader) -> Any:
        report = super().draw(truth, words)
        return report, truth in report

    def draw_rows(self, codes: Array, words: Array, out: Array) -> Array:
        return np.arange(len(codes))

    def encode_report(self, report: Any) -> Array:
        chosen, kept = report
        bits = super().encode_report(chosen).copy()
        bits[-1] |= np.uint8(128 * kept)
        return bits


@together(("kind", "caught"), [(TruthFirst, True), (Sorted, False), (Padded, True)])
def test_the_audit_catches_reports_that_tell_more(kind: type[Subset], caught: bool) -> None:
    honest = Subset.of("3/4", 2, ABC)
    design = kind(categories=ABC, size=2, chance=honest.chance)
    by_definition = parity_seen(laws_by_definition(design))
    emitted = parity_seen(laws_through_the_sampler(design, "subset k=3 q=2", as_bytes))
    assert (by_definition > honest.parity_exact()) == caught
    assert (emitted > honest.parity_exact()) == caught
    if not caught:
        assert emitted == honest.parity_exact() == Fraction(3, 2)


def test_the_leak_is_caught_where_truth_first_only_changes_the_odds() -> None:
    """Where every order of the list can occur under several truths, the odds still give it away."""
    honest = EXAMPLES["subset k=4 q=2"]
    assert isinstance(honest, Subset)
    leaky = TruthFirst(categories=honest.categories, size=honest.size, chance=honest.chance)
    assert parity_seen(laws_by_definition(leaky)) > honest.parity_exact()
    assert parity_seen(laws_by_definition(honest)) <= honest.parity_exact() < math.inf

"""Every structure against its dense twin: one suite, all examples."""

import copy
import dataclasses
import json
import math
import pickle
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.examples import EXAMPLES, SETS
from tests.support.quiet import quiet, told
from tests.support.together import together
from tests.support.twin import Twin

from maskwell import Categories, Design, SeededRandom
from maskwell.designs import Dense, kernels, sampler, wire
from maskwell.designs.coded import CodedDesign
from maskwell.errors import MaskwellError, NotIdentifiableError, ParameterError, ReportError, TooLargeError

NAMES = list(EXAMPLES)
COMPOSITE = ("kronecker", "blocks", "composed")
each = together("name", NAMES)
each_matrix = together("name", [name for name in NAMES if name != "uniform k=256"])
"""What is computed from matrices; one more category, where codes need a second byte, is among them."""


@cache
def twin_of(name: str) -> Twin:
    return Twin.of(EXAMPLES[name])


def proportions(k: int) -> list[Real]:
    """Uniform, skew, one empty category, all in one."""
    skew = np.arange(1, k + 1) / (k * (k + 1) / 2)
    hole = np.where(np.arange(k) == 0, 0, skew)
    return [np.full(k, 1 / k), skew, skew[::-1].copy(), hole / hole.sum(), np.eye(k)[k - 1]]


def close(actual: Any, expected: Any, scale: float = 1.0) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-11 * scale)


@each_matrix
def test_matrix_and_transitions_are_those_of_the_twin(name: str) -> None:
    rows = twin_of(name).rows
    assert [sum(column) for column in zip(*rows, strict=True)] == [1] * EXAMPLES[name].k
    assert all(isinstance(p, Fraction) and p >= 0 for row in rows for p in row)
    design = EXAMPLES[name]
    assert design.matrix().shape == (design.m, design.k)
    design.matrix()[:] = 7  # a copy
    np.testing.assert_allclose(design.matrix(), twin_of(name).P, rtol=4e-16, atol=0)
    design, P = EXAMPLES[name], EXAMPLES[name].matrix()
    truths, reports = np.nonzero(P.T)
    transitions = design.transitions()
    np.testing.assert_array_equal(transitions.reports, reports)
    np.testing.assert_array_equal(transitions.truths, truths)
    np.testing.assert_allclose(transitions.p, P[reports, truths], rtol=1e-15)
    assert transitions.starts.tolist() == np.searchsorted(truths, np.arange(design.k + 1)).tolist()
    columns = [dict(enumerate(column)) for column in zip(*twin_of(name).rows, strict=True)]
    expected = [{report: p for report, p in column.items() if p} for column in columns]
    assert EXAMPLES[name].transitions_exact() == expected


@each_matrix
def test_reports_are_all_different_and_as_many_as_rows(name: str) -> None:
    design = EXAMPLES[name]
    space = design.report_space()
    assert len(space) == design.m == len({row.tobytes() for row in space})
    assert space.dtype == design.empty_reports(0).dtype
    assert space.shape[1:] == design.empty_reports(0).shape[1:]
    if name in SETS:
        assert (np.unpackbits(space, axis=1, bitorder="little")[:, design.k :] == 0).all()


@each_matrix
def test_privacy_and_chances_of_reports_are_those_of_the_matrix(name: str) -> None:
    design, expected = EXAMPLES[name], twin_of(name).parity()
    assert design.parity_exact() == expected
    assert type(design.parity_exact()) in (Fraction, float)
    close(design.parity(), float(expected))
    logarithm = math.log(expected.numerator) - math.log(expected.denominator) if expected != math.inf else math.inf
    close(design.epsilon(), logarithm)
    design, twin = EXAMPLES[name], twin_of(name)
    close(design.guess_probability(), twin.guess(np.full(design.k, 1 / design.k)))
    ties = np.repeat([3.0, 1.0], [1, design.k - 1]) / (design.k + 2)
    for prior in [*proportions(design.k), ties]:
        close(design.guess_probability(prior), twin.guess(prior))
    close(EXAMPLES[name].total_variation(), twin_of(name).total_variation())
    assert EXAMPLES[name].is_admissible() == twin_of(name).is_admissible()
    for pi in proportions(EXAMPLES[name].k):
        close(EXAMPLES[name].apply(pi), twin_of(name).apply(pi))


@together("name", [name for name in NAMES if name not in SETS])
def test_forward_and_its_adjoint(name: str) -> None:
    design, P = EXAMPLES[name], twin_of(name).P
    assert isinstance(design, CodedDesign)
    truths, reports = (np.random.default_rng(7).normal(size=(3, 2, count)) for count in (design.k, design.m))
    close(design.forward(truths), truths @ P.T)
    close(design.forward_adjoint(reports), reports @ P)
    some = np.arange(design.m)[::-2], np.arange(design.k)[1:]
    close(design.entries(*some), P[np.ix_(*some)])
    parts = design.separate()
    assert sum(part.k for part in parts) == design.k
    assert sum(part.m for part in parts) == design.m
    scale, contrasts = design.contrast_scale(), truths - truths.mean(axis=-1, keepdims=True)
    if scale is not None:
        close(design.forward(contrasts), scale * contrasts)


@each_matrix
def test_the_largest_in_each_row(name: str) -> None:
    design, P = EXAMPLES[name], twin_of(name).P
    if not isinstance(design, CodedDesign):
        pytest.skip("reports are sets")
    for pi in proportions(design.k):
        most, where = design.largest_in_rows(pi)
        close(most, (P * pi).max(axis=1))
        close((P * pi)[np.arange(design.m), where], most)


@each_matrix
def test_rank_condition_and_solve(name: str) -> None:
    design, P = EXAMPLES[name], twin_of(name).P
    assert design.rank() == np.linalg.matrix_rank(P)
    assert design.identifiable == (design.rank() == design.k)
    if design.identifiable:
        np.testing.assert_allclose(design.condition(), np.linalg.cond(P), rtol=1e-7)
    else:
        assert design.condition() == math.inf
    design = EXAMPLES[name]
    for pi in proportions(design.k):
        if design.identifiable:
            np.testing.assert_allclose(design.solve(design.apply(pi)), pi, atol=1e-9)
        else:
            with pytest.raises(NotIdentifiableError, match=str(design.rank())):
                design.solve(design.apply(pi))
    design, twin = EXAMPLES[name], twin_of(name)
    if not design.identifiable:
        pytest.skip("not identifiable")
    counts = np.arange(1, design.m + 1) % 5 + 1
    share = twin.indicator.T @ counts / counts.sum()
    close(design.solve(share), twin.scores.T @ counts / counts.sum(), np.abs(twin.scores).max())


@each_matrix
def test_second_moment_covariance_and_added_variance(name: str) -> None:
    design, twin = EXAMPLES[name], twin_of(name)
    if not design.identifiable:
        for call in (design.second_moment, design.second_moment_diagonal):
            with pytest.raises(NotIdentifiableError):
                call(design.apply(design.uniform_prior()))
        with pytest.raises(NotIdentifiableError):
            design.covariance(design.uniform_prior())
        return
    for pi in proportions(design.k):
        expected = twin.second_moment(pi)
        scale = float(np.abs(expected).max())
        close(design.second_moment(design.apply(pi)), expected, scale)
        close(design.second_moment_diagonal(design.apply(pi)), np.diag(expected), scale)
        close(design.covariance(pi), expected - np.outer(pi, pi), scale)
        close(design.added_variance(pi), np.trace(expected) - 1, scale)
        close(np.trace(design.covariance(pi)) - (pi * (1 - pi)).sum(), design.added_variance(pi), scale)
    close(design.added_variance(), design.added_variance(design.uniform_prior()))


@each_matrix
def test_how_a_recovery_spreads_where_it_belongs(name: str) -> None:
    """At the shares of one category alone, the second moment of its recovery; and the one count that tells a share.

    There is one where recoveries take two values over the reports.
    """
    design, twin = EXAMPLES[name], twin_of(name)
    if not design.identifiable:
        with pytest.raises(NotIdentifiableError):
            design.second_moment_of_truth()
        return
    expected = (twin.scores**2 * twin.P).sum(axis=0)  # of category j: the squares of its score over its reports
    close(design.second_moment_of_truth(), expected, float(expected.max()))
    chances = design.count_chances()
    if chances is None:
        return
    a, b = chances
    assert (a > b).all()
    for j, scores in enumerate(twin.scores.T):
        counted = scores > scores.mean()
        close(np.where(counted, 1 - b[j], -b[j]) / (a[j] - b[j]), scores, float(np.abs(scores).max()))
        others = np.full(design.k, b[j])
        others[j] = a[j]
        close(counted @ twin.P, others)


@each
@together("path", ["compiled", "plain"])
def test_tally_counts_what_was_sampled(name: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if getattr(kernels, path) is None:
        pytest.skip("no compiled kernels here")
    monkeypatch.setattr(kernels, "active", getattr(kernels, path))
    design, twin = EXAMPLES[name], twin_of(name)
    codes = np.arange(700) % design.k
    reports = design.sample(codes, random=SeededRandom(5))
    rows = {row.tobytes(): i for i, row in enumerate(design.report_space())}
    seen = np.bincount([rows[row.tobytes()] for row in reports.data], minlength=design.m)
    counts = design.tally(reports)
    assert counts.n == 700
    assert counts.fingerprint == design.fingerprint
    np.testing.assert_array_equal(counts.values, twin.indicator.T @ seen)
    assert (seen[twin.P.sum(axis=1) == 0] == 0).all(), "a report that cannot occur did"


@each
def test_randomize_is_sample_with_labels_also_of_no_rows(name: str) -> None:
    design = EXAMPLES[name]
    codes = np.arange(60) % design.k
    values = [design.inputs.labels[c] for c in codes]
    shown, reports = design.randomize(values, random=SeededRandom(3)), design.sample(codes, random=SeededRandom(3))
    assert shown == design.labels_of(reports, like=[])
    assert (design.tally(shown).values == design.tally(reports).values).all()
    told = reports.describe()
    assert (told["design"], told["k"], told["private"]) == (design.fingerprint, design.k, False)
    assert told["encoding"] == ("bits" if design.reports_are_sets else "codes")
    assert ("bit_order" in told) == design.reports_are_sets and "not private" in repr(reports)
    reports = design.sample(np.empty(0, dtype=np.int64))
    assert len(reports) == 0
    assert reports.data.shape == design.empty_reports(0).shape
    assert design.tally(reports).values.sum() == 0
    assert design.randomize([]) == []


@each
def test_reports_depend_neither_on_how_the_rows_are_cut_nor_on_threads(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = EXAMPLES[name]
    codes = np.arange(500) % design.k
    whole = design.sample(codes, random=SeededRandom(2)).data
    for cuts in ([1, 2, 3, 499], [250], [0, 0, 7, 8, 9]):
        going_on = design.sampler(SeededRandom(2))
        pieces = [going_on.sample(piece).data for piece in np.split(codes, cuts)]
        assert (np.concatenate(pieces) == whole).all()
    alone = design.sample(codes, random=SeededRandom(2), threads=1).data
    monkeypatch.setattr(sampler, "BYTES_PER_THREAD", 256)
    monkeypatch.setattr(sampler, "CHUNK_BYTES", 100)
    for threads in (1, 7):
        assert (design.sample(codes, random=SeededRandom(2), threads=threads).data == alone).all()


@each
@together("kind", ["u1", "u2", "u4", "u8", "i1", "i4", "i8", ">i4"])
def test_codes_of_any_integer_type(name: str, kind: str) -> None:
    design = EXAMPLES[name]
    codes = np.arange(40) % min(design.k, 100)
    expected = design.sample(codes, random=SeededRandom(2)).data
    assert (design.sample(codes.astype(kind), random=SeededRandom(2)).data == expected).all()
    backwards = codes.astype(kind)[::-1]
    flipped = design.sample(np.ascontiguousarray(backwards), random=SeededRandom(2)).data
    assert (design.sample(backwards, random=SeededRandom(2)).data == flipped).all()


@each
def test_a_design_file_gives_the_same_design_back(name: str) -> None:
    design = EXAMPLES[name]
    again = wire.design_from_dict(json.loads(wire.dumps(design)))
    assert again == design
    assert type(again) is type(design)
    assert again.fingerprint == design.fingerprint
    assert again.provenance == json.loads(json.dumps(dict(design.provenance)))
    assert again.inputs.labels == design.inputs.labels
    assert again.exact_matrix() == twin_of(name).rows
    codes = np.arange(50) % design.k
    assert (again.sample(codes, random=SeededRandom(4)).data == design.sample(codes, random=SeededRandom(4)).data).all()


@each
def test_equality_and_hash_follow_the_fingerprint_and_nothing_changes_a_design(name: str) -> None:
    design = EXAMPLES[name]
    design.randomize([design.inputs.labels[0]], random=SeededRandom(1))
    again = copy.deepcopy(design)
    assert again == design == copy.copy(design) == pickle.loads(pickle.dumps(design)) == design.with_provenance(a="b")
    assert "a" not in design.provenance
    assert hash(again) == hash(design)
    assert design != "a design"
    assert sum(other == design for other in EXAMPLES.values()) == 1
    assert design.fingerprint.startswith("sha256:")
    assert len(design.fingerprint) == 71
    for field in dataclasses.fields(design):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(design, field.name, None)
    shown = repr(EXAMPLES[name])
    assert shown.startswith(type(EXAMPLES[name]).__name__)
    assert f"k={EXAMPLES[name].k}" in shown
    assert len(shown) <= 100
    assert "\n" not in shown


@each
def test_other_labels_change_the_fingerprint_and_nothing_else(name: str) -> None:
    design = EXAMPLES[name]
    labels = Categories.of([f"label {j}" for j in range(design.k)])
    if design.kind in COMPOSITE:
        with told(ParameterError):
            design.with_labels(labels)
        return
    other = design.with_labels(labels)
    assert other.inputs.labels == labels.labels
    assert other.fingerprint != design.fingerprint
    assert other.exact_matrix() == twin_of(name).rows
    assert other.provenance == design.provenance
    codes = np.arange(20) % design.k
    assert (other.sample(codes, random=SeededRandom(4)).data == design.sample(codes, random=SeededRandom(4)).data).all()


@each
def test_bad_codes_shares_and_reports_of_another_design_are_refused(name: str) -> None:
    design = EXAMPLES[name]
    bad: list[Any] = [[design.k], [-1], [0, design.k + 5], [[0]], [0.0], [True], ["0"], np.array(0), None]
    for codes in bad:
        with told(MaskwellError):
            design.sample(codes)
    with quiet(MaskwellError, match="outside is in row 1", values=str(design.k + 5)):
        design.sample([0, design.k + 5])
    size = len(design.apply(design.uniform_prior()))
    for bad in (np.full(size + 1, 0.1), np.full((size, 1), 0.1), np.full(size, np.nan)):
        for method in (design.solve, design.second_moment, design.second_moment_diagonal):
            with told(MaskwellError):
                method(bad)
    other = next(d for d in EXAMPLES.values() if (d != design and d.k == design.k) or d.kind != design.kind)
    with told(ReportError, match="come from"):
        design.tally(other.sample(np.zeros(3, dtype=int), random=SeededRandom(1)))


@each
@together("method", ["apply", "covariance", "added_variance", "guess_probability"])
def test_bad_proportions_are_refused(name: str, method: str) -> None:
    design = EXAMPLES[name]
    k = design.k
    good = np.full(k, 1 / k)
    moved = good + np.where(np.arange(k) == 0, 1e-6, 0)
    negative = np.concatenate([[-1e-12, 1 + 1e-12], np.zeros(k - 2)])
    for bad in (good[:-1], np.append(good, 0), moved, negative, np.full(k, np.nan), np.full(k, np.inf), np.eye(k)):
        with told(MaskwellError) as raised:
            getattr(design, method)(bad)
        assert "pi" in raised.value.message or "prior" in raised.value.message


def huge() -> dict[str, Design]:
    from maskwell.designs import Kronecker, Mixture, Subset, Unary, Uniform

    many = Categories.numbered(10_000)
    kary = Uniform.from_epsilon(1, many)
    return {
        "uniform": kary,
        "mixture": Mixture.of("1/2", [Fraction(1, 20_000)] * 10_000, many),
        "subset": Subset.from_epsilon(1, Categories.numbered(1000), size=269),
        "unary": Unary.oue_from_epsilon(1, Categories.numbered(1000)),
        "kronecker": Kronecker.of([kary, kary, kary]),
    }


@together("kind", list(huge()))
def test_a_huge_design_works_but_its_matrix_is_refused_with_its_size(kind: str) -> None:
    design = huge()[kind]
    for method in (design.matrix, design.exact_matrix, design.transitions, design.transitions_exact):
        with told(TooLargeError, match=r"has .* by .* entries, more than") as raised:
            method()
        assert raised.value.objects["design"] is design
    if design.m < 10**12:
        with pytest.raises(TooLargeError, match=f"{design.m:,} by"):
            design.matrix()
    codes = np.array([0, 1, design.k - 1])
    reports = design.sample(codes, random=SeededRandom(1))
    assert design.parity() > 1
    assert design.epsilon() > 0
    assert len(repr(design)) < 100
    assert len(wire.dumps(design)) < 10**6
    if design.kind != "kronecker":
        assert design.tally(reports).n == 3
        assert design.added_variance() > 0
        assert 0 < design.guess_probability() < 1
        assert design.condition() >= 1
        assert design.identifiable


def test_the_registry_covers_every_kind() -> None:
    assert {design.kind for design in EXAMPLES.values()} == set(wire.KINDS)
    assert any(isinstance(d, Dense) and d.m > d.k for d in EXAMPLES.values())
    assert any(isinstance(d, Dense) and d.m < d.k for d in EXAMPLES.values())
    assert any(d.empty_reports(1).dtype == np.uint16 for d in EXAMPLES.values())

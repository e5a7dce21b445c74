"""Maximum likelihood: boundary, uniqueness, errors, several paths to the same answer; several samples together."""

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.estimates import JAR, KUK, WARNER, estimate_of, likeliest

from maskwell import Categories, Counts, Design, SeededRandom
from maskwell import design as make_design
from maskwell.designs import Blocks, Composed, Dense, Kronecker, Mixture, Subset, Uniform
from maskwell.designs.coded import CodedDesign
from maskwell.errors import ReportError
from maskwell.estimation import Sample, estimate_by_moments, estimate_samples, maximum_likelihood
from maskwell.estimation.maximisation import log_likelihood as log_likelihood_module
from maskwell.estimation.maximisation import maximum as generating
from maskwell.estimation.maximisation.log_likelihood import Operators, Written, log_likelihood
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood, fisher_information, unit_covariance
from maskwell.estimation.stacked_samples import chance_of_stack


def test_inside_and_at_the_boundary_and_with_a_share_held() -> None:
    found = likeliest([30, 50, 20], JAR)
    np.testing.assert_allclose(found.pi_hat, estimate_of([30, 50, 20], JAR).pi_hat, atol=1e-12)
    np.testing.assert_allclose(found.covariance, JAR.covariance(found.pi_hat) / 100, atol=1e-12)
    np.testing.assert_allclose(found.sampling_variance + found.randomization_variance, found.variance, rtol=1e-12)
    assert (found.method, found.flags) == ("ml", ())
    found = likeliest([5, 60, 35], JAR)
    assert np.isnan(found.standard_error[0]) and (found.standard_error[1:] > 0).all()
    assert np.isnan(found.covariance[0]).all()  # type: ignore[index]
    assert any("use profile intervals" in flag for flag in found.flags)
    assert any("boundary test" in flag for flag in found.flags)
    counts = np.array([30, 50, 20])
    for t in (0.0, 0.1, 0.5, 1.0):
        found = maximise([JAR], [counts], fixed=(1, t))
        assert found.pi[1] == t and found.gap <= 1e-10
        others = np.linspace(0, 1 - t, 2001)
        lam = JAR.matrix() @ np.stack([others, np.full(2001, t), 1 - t - others])
        assert found.log_likelihood >= (counts @ np.log(lam)).max() - 1e-9


def sparse_counts(design: Design, n: int, seed: int) -> Real:
    generator = np.random.default_rng(seed)
    pi = generator.dirichlet(np.full(design.k, 0.1))
    return generator.multinomial(n, np.asarray(design.apply(pi)) / design.apply(pi).sum())


LABELS = Categories.numbered(12)
STRUCTURED = {
    "uniform": Uniform.from_gamma(6, LABELS),
    "mixture": Mixture.of("1/2", ["1/4", "1/8", "1/16", "1/32", "1/64", "1/64", *["0"] * 6], LABELS),
    "composed": Composed.of(Uniform.from_gamma(9, LABELS), Uniform.from_gamma(7, LABELS)),
    "kronecker": Kronecker.of(
        [Uniform.from_gamma(4, Categories.numbered(2)), Uniform.from_gamma(5, Categories.numbered(6))]
    ),
    "blocks": Blocks.of(
        {"a": Uniform.from_gamma(4, Categories.numbered(5)), "b": Uniform.from_gamma(4, Categories.numbered(7))}
    ),
}


@pytest.mark.parametrize("name", list(STRUCTURED))
@pytest.mark.parametrize("n", [7, 300])
def test_structured_designs_agree_with_their_twins(name: str, n: int) -> None:
    design = STRUCTURED[name]
    twin, counts = Dense.of(design.exact_matrix()), sparse_counts(design, n, 3)
    for held in (None, (2, 0.03)):
        own, other = (maximise([one], [counts], fixed=held) for one in (design, twin))
        np.testing.assert_allclose(own.log_likelihood, other.log_likelihood, rtol=1e-10)
        if own.unique and other.unique:
            np.testing.assert_allclose(own.pi, other.pi, atol=1e-6)
        assert max(own.gap, other.gap) <= 1e-10


def test_sets_are_refused_and_diagonal_designs_are_never_written_out() -> None:
    design = Subset.from_gamma(3, Categories.numbered(4), size=2)
    with pytest.raises(ReportError, match="maximum likelihood is not available") as caught:
        estimate_by_likelihood(Counts(np.array([50, 40, 20, 10]), 60, design.fingerprint), design)
    assert "moments" in caught.value.hint
    pi = np.array([0.4, 0.3, 0.2, 0.1])
    found = maximise([design], [1e6 * design.matrix() @ pi])
    np.testing.assert_allclose(found.pi, pi, atol=1e-6)
    design = Uniform.from_gamma(20, Categories.numbered(100_000))
    counts = np.zeros(design.k)
    counts[:5] = [50, 40, 30, 20, 10]
    assert isinstance(log_likelihood([design], [counts]), Operators)
    found = maximise([design, design], [counts, counts])
    assert found.gap <= 1e-10 and found.unique and found.pi[5:].sum() == 0


@pytest.mark.parametrize("held", [None, (3, 0.02), (3, 1e-6)])
def test_columns_find_what_the_matrix_finds(monkeypatch: pytest.MonkeyPatch, held: tuple[int, float] | None) -> None:
    design = Kronecker.of([Uniform.from_gamma(4, Categories.numbered(2))] * 6)
    counts = sparse_counts(design, 150, 8)
    assert isinstance(log_likelihood([design], [counts]), Written)
    expected = maximise([design], [counts], fixed=held)
    monkeypatch.setattr(log_likelihood_module, "WRITTEN_LIMIT", 10)
    assert isinstance(log_likelihood([design], [counts]), Operators)
    found = maximise([design], [counts], fixed=held)
    assert found.algorithm == "SQUAREM, then Newton on columns"
    assert held is None or found.pi[3] == held[1]
    assert found.gap <= 1e-10
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-11)
    monkeypatch.setattr(generating, "COLUMN_LIMIT", 10)
    slow = maximise([design], [counts], fixed=held)
    assert slow.algorithm == "SQUAREM"
    monkeypatch.setattr(generating, "LAST_STEPS", (1, 1))
    early = maximise([design], [counts], fixed=held)
    assert early.gap > 1e-9
    assert not early.unique  # nothing is known of a maximum that was not reached
    assert expected.log_likelihood - slow.log_likelihood <= 150 * slow.gap + 1e-9


PI = np.array([0.2, 0.5, 0.3])
NAMED = Categories.numbered(3)
STACKS: dict[str, tuple[list[CodedDesign], list[float]]] = {
    "square": ([JAR], [1.0]),
    "rows": ([JAR, Dense.of([["1/2", "1/3", "1/4"], ["1/2", "2/3", "3/4"]], NAMED)], [0.4, 0.6]),
    "contrasts": ([Uniform.from_gamma(4, NAMED), Mixture.of("1/2", ["1/4", "1/8", "1/8"], NAMED)], [0.3, 0.7]),
}


@pytest.mark.parametrize("name", list(STACKS))
def test_covariance_by_every_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``J' I^-1 J`` from the information of the samples; without room for the matrix variances are the same."""
    designs, weights = STACKS[name]
    total = sum(w * fisher_information(d, PI) for d, w in zip(designs, weights, strict=True))
    J = np.column_stack([np.eye(2), -np.ones(2)])
    found = unit_covariance(designs, weights, PI)
    np.testing.assert_allclose(found.covariance, J.T @ np.linalg.inv(total) @ J, rtol=1e-9)
    np.testing.assert_allclose(found.variance, np.diagonal(found.covariance), rtol=1e-12)  # type: ignore[arg-type]
    if name != "rows":
        monkeypatch.setattr(maximum_likelihood, "COVARIANCE_LIMIT", 2)
        without = unit_covariance(designs, weights, PI)
        assert without.covariance is None
        np.testing.assert_allclose(without.variance, found.variance, rtol=1e-12)


def test_too_large_to_work_out_is_an_upper_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    tall, pi = Kronecker.of([KUK, KUK]), np.outer([0.3, 0.7], [0.6, 0.4]).ravel()
    whole = unit_covariance([tall], [1.0], pi)
    monkeypatch.setattr(maximum_likelihood, "COVARIANCE_LIMIT", 2)
    found = unit_covariance([tall], [1.0], pi)
    assert (found.variance >= whole.variance - 1e-12).all() and "moment estimates" in found.flags[0]


def test_reports_that_do_not_occur_leave_cells_empty_or_several_answers() -> None:
    wide = Dense.of([["0.8", "0.1", "0.1"], ["0.1", "0.5", "0.5"], ["0.1", "0.4", "0.4"]])
    assert not maximise([wide], [np.array([0, 9, 4])]).unique
    assert maximise([JAR], [np.array([30, 50, 20])]).unique
    tie = Dense.of([["1/2", "1/2", "1/8"], ["1/4", "0", "1/8"], ["1/4", "1/2", "3/4"]])
    corner = maximise([tie], [np.array([9, 0, 0])], start=np.array([1.0, 0.0, 0.0]))
    assert (corner.pi[0], corner.unique) == (1, False)  # the second category would do as well
    sparse = Dense.of([["0.5", "0.1", "0.3"], ["0.3", "0.1", "0.2"], ["0.2", "0.8", "0.5"]])
    assert maximise([sparse], [np.array([3, 0, 0])]).unique  # one corner is best
    part = Uniform.from_gamma(4, Categories.numbered(3))
    design = Blocks.of({"a": part, "b": part, "c": part})
    found = maximise([design], [np.array([30, 5, 9, 0, 0, 0, 8, 2, 1])])
    assert found.pi[3:6].tolist() == [0, 0, 0]
    np.testing.assert_allclose(found.pi[:3].sum(), 44 / 55)
    assert found.unique
    with pytest.raises(ReportError, match="at least one report is needed for an estimate"):
        maximise([design], [np.zeros(9)])
    mangat = Dense.of([["1", "0.3", "0"], ["0", "0.5", "0"], ["0", "0.2", "0.4"], ["0", "0", "0.6"]])
    found = unit_covariance([mangat], [1.0], np.array([0.6, 0.4, 0.0]))
    assert found.covariance[2].tolist() == [0, 0, 0]
    alone = unit_covariance([Dense.of([["1", "0.3"], ["0", "0.5"], ["0", "0.2"]])], [1.0], np.array([0.6, 0.4]))
    np.testing.assert_allclose(found.covariance[:2, :2], alone.covariance, rtol=1e-9)


SHARP = make_design("warner", p="0.9")
PAIRS = Categories.of([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")])


def unrelated(p: str) -> Dense:
    share = float(p)
    return Dense.of([[1, share, round(1 - share, 9), 0], [0, round(1 - share, 9), share, 1]], PAIRS)


def test_weights_are_those_of_the_most_likely_proportions() -> None:
    designs, counts = (WARNER, SHARP), (np.array([34, 66]), np.array([9, 191]))
    guess = (300 * maximise(designs, counts).pi + 1) / 302
    M, right = np.zeros((2, 2)), np.zeros(2)
    for design, x in zip(designs, counts, strict=True):
        P = design.matrix()
        weighted = P.T / (P @ guess)
        M, right = M + x.sum() * weighted @ P, right + weighted @ x
    found = estimate_samples([Sample.of(x, d) for x, d in zip(counts, designs, strict=True)])
    np.testing.assert_allclose(found.pi_hat, np.linalg.solve(M, right), rtol=1e-9)
    assert any("two steps" in flag for flag in found.flags)
    sharper = estimate_samples([Sample.of([50, 50], WARNER), Sample.of([20, 80], SHARP)])
    assert 0.125 < sharper.pi_hat[0] < (0.5 + 0.125) / 2 - 0.1


def test_margins_are_named_after_the_variables_and_stay_inside_by_likelihood() -> None:
    designs = [unrelated(p).with_provenance(variables=["own", "other"]) for p in ("0.75", "0.25")]
    found = estimate_samples([Sample.of([200, 400], designs[0]), Sample.of([140, 260], designs[1])])
    assert found.categories == (("own", "yes"), ("own", "no"), ("other", "yes"), ("other", "no"))
    np.testing.assert_allclose(found.pi_hat, [0.325, 0.675, 0.3583333333, 0.6416666667], atol=1e-9)
    parts = (0.75**2 * (1 / 3) * (2 / 3) / 599 + 0.25**2 * 0.35 * 0.65 / 399) / 0.5**2
    np.testing.assert_allclose(found.variance[0], parts, rtol=1e-12)
    assert "own and other" in found.flags[0]
    samples = [Sample.of([30, 570], unrelated("0.75")), Sample.of([100, 300], unrelated("0.25"))]
    raw, found = estimate_samples(samples), estimate_samples(samples, method="ml")
    assert raw.pi_hat[0] < 0 and found.pi_hat[0] <= 1e-12 and np.isnan(found.standard_error[0])
    assert found.standard_error[2] > 0
    np.testing.assert_allclose(found.raw, raw.pi_hat)
    beside = estimate_samples(
        [Sample.of([0, 5], unrelated("0.75")), Sample.of([0, 5], unrelated("0.25"))], method="ml"
    )  # where the search stops beside the bound
    assert beside.pi_hat.tolist() == [0, 1, 0, 1] and np.isnan(beside.standard_error).all()
    for one in (found, beside):
        assert any("no standard error" in flag for flag in one.flags)


def test_one_sample_is_its_own_estimate_and_large_or_set_samples_are_pooled() -> None:
    labels = Categories.numbered(6)
    sets, plain = Subset.from_gamma(5, labels, size=2), Uniform.from_gamma(3, labels)
    codes = np.repeat(np.arange(6), 400)
    samples = [Sample(d.tally(d.sample(codes, random=SeededRandom(1))), d) for d in (sets, plain)]
    found = estimate_samples(samples)
    alone = [estimate_by_moments(s.counts, s.design) for s in samples]
    assert (found.variance < np.minimum(alone[0].variance, alone[1].variance)).all()
    np.testing.assert_allclose(found.pi_hat, 1 / 6, atol=4 * found.standard_error.max())
    weights = np.array([1 / (d.added_variance() + 5 / 6) for d in (sets, plain)])
    np.testing.assert_allclose(found.pi_hat, weights @ [one.pi_hat for one in alone] / weights.sum(), rtol=1e-12)
    assert "pooled" in found.flags[0]
    with pytest.raises(ReportError, match="maximum likelihood is not available"):
        estimate_samples(samples, method="ml")
    for method, alone in (("moments", estimate_of), ("ml", likeliest)):
        found = estimate_samples([Sample.of([30, 50, 20], JAR)], method=method)
        np.testing.assert_array_equal(found.pi_hat, alone([30, 50, 20], JAR).pi_hat)
    L, counts, error = [np.linalg.inv(WARNER.matrix())], [np.array([30, 70])], np.full(2, 1e-4)
    assert chance_of_stack([WARNER], counts, np.array([-1e-16, 1 + 2e-16]), error, L) == 1
    assert chance_of_stack([WARNER], counts, np.array([-1e-6, 1 + 1e-6]), error, L) < 1

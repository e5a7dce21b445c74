"""Improvement: what comes back for designs of every kind, and what is refused."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.examples import ABC, EXAMPLES, YES_NO, numbered
from tests.support.twin import Twin

from maskwell import Design, SeededRandom
from maskwell.designs import Composed, Dense, Kronecker, LocalDiversity, Mixture, Subset, Unary, Uniform, wire
from maskwell.designs.patterns import Patterns
from maskwell.errors import MaskwellError, TooLargeError
from maskwell.planning import improvement as module
from maskwell.planning import replacement
from maskwell.planning.improvement import Improvement, improve
from maskwell.planning.replacement import best_added_variance

METHODS = ["layers", "lemmas"]
BOUNDED = {n: d for n, d in EXAMPLES.items() if 1 < d.parity_exact() < math.inf and d.k <= 5 and d.m <= 100}


def check(found: Improvement) -> None:
    """C and P in fractions: columns sum to one, A = C P, P admissible at the bound."""
    C, P, A = found.garbling(), found.design.exact_matrix(), found.original.exact_matrix()
    assert [sum(column) for column in zip(*C, strict=True)] == [1] * len(P)
    assert min(c for row in C for c in row) >= 0
    product = [[sum(c * p for c, p in zip(row, column, strict=True)) for column in zip(*P, strict=True)] for row in C]
    assert product == A
    if found.improved:
        assert Twin.of(found.design).is_admissible()
        assert found.design.parity_exact() == found.gamma


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", list(BOUNDED))
def test_designs_of_every_structure(name: str, method: str) -> None:
    design = BOUNDED[name]
    for gamma in (None, 2 * design.parity_exact()):
        found = improve(design, gamma=gamma, split=method)
        check(found)
        assert found.gamma == (gamma or design.parity_exact())
        assert found.improved is not (gamma is None and Twin.of(design).is_admissible())
        before, after = found.added_variances()
        assert before is None or (after is not None and after <= before * (1 + 1e-9))


def test_every_structure_was_tried() -> None:
    assert {design.kind for design in BOUNDED.values()} == set(wire.KINDS) - {"l-diverse"}


@pytest.mark.parametrize(
    "design",
    [
        Uniform.from_epsilon(1, numbered(10**6)),
        Subset.from_epsilon(1, numbered(1000), size=269),
        Subset.from_gamma(3, numbered(4), size=2),
        Patterns.of(3, [[0], [1, 2]], ["1/4", "1/4"], ABC),
        Mixture.of("1/4", ["1/4", "1/4", "1/4"], ABC),
    ],
    ids=lambda design: design.kind,
)
@pytest.mark.parametrize("method", METHODS)
def test_admissible_designs_come_back_at_once(design: Design, method: str) -> None:
    found = improve(design, split=method)
    assert (found.design, found.improved, found.sparse) == (design, False, None)
    assert found.reproduced() is design
    assert "nothing to gain" in repr(found)
    told = found.to_dict()
    assert told["improved"] is False
    assert json.loads(json.dumps(told, default=str))
    if design.m >= 10**6:
        assert told["garbling_entries"] == "identity"
        for form in (found.garbling, found.garbling_matrix):
            with pytest.raises(TooLargeError) as raised:
                form()
            assert raised.value.hint


def test_admissible_designs_need_not_be_identifiable_and_are_left() -> None:
    """A factor that says nothing leaves rows of two values: no design of this parity tells all that and more."""
    silent = Kronecker.of([Uniform.from_gamma(3, YES_NO), Mixture.of(0, ["1/2", "1/2"], YES_NO)])
    found = improve(silent)
    assert (found.improved, found.design) == (False, silent)
    assert found.to_dict()["identifiable"] == {"before": False, "after": False}
    assert found.added_variances() == (None, None)
    design = Dense.of([["1/4", "1/12"], ["1/2", "1/6"], [0, 0], ["1/4", "3/4"]])
    found = improve(design)
    assert (found.improved, found.design) == (False, design)


def test_rounding_is_no_room_and_a_tiny_gamma_is_no_rounding() -> None:
    """A design made from epsilon is rounded down by some 1e-19: nothing is to be gained from that."""
    design = Uniform.from_epsilon(1, ABC)
    from maskwell import Demand

    gamma = Demand.from_epsilon(1).reachable
    assert gamma > design.parity_exact()
    assert improve(design, gamma=gamma).improved is False
    found = improve(design, gamma=gamma, exactly=True)
    assert found.improved
    assert found.design.parity_exact() == gamma
    check(found)
    gamma = math.e
    P = (np.eye(3) * (gamma - 1) + 1) / (gamma + 2)
    P[0, 0] += 1e-14
    P[1, 0] -= 1e-14
    design = Dense.of(P)
    found = improve(design)
    assert (found.improved, found.design) == (False, design)
    exact = improve(design, exactly=True)
    assert exact.improved
    assert exact.design.m > 3
    weights = sorted(exact.design.weights)  # type: ignore[attr-defined]
    assert weights[0] < 1e-13, "what rounding left is a report of its own"
    check(exact)
    # Relative to what it may tell, a design of parity 1 + 1e-12 can be as wasteful as any other.
    tiny = Fraction(1, 10**12)
    first = [(1 + tiny) / 2, (1 + tiny / 2) / 2, Fraction(1, 2)]
    design = Dense.of([first, [1 - p for p in first]])
    found = improve(design)
    assert found.improved
    check(found)


def test_the_original_can_be_drawn_and_a_large_garbling_is_told_by_its_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    for design in (Unary.rappor_from_gamma(4, ABC), Dense.of([["0.4", "0.3"], ["0.4", "0.3"], ["0.2", "0.4"]], YES_NO)):
        again = improve(design).reproduced()
        assert isinstance(again, Composed)
        assert again.exact_matrix() == design.exact_matrix()
        assert again.sample(np.arange(30) % design.k, random=SeededRandom(1)).data.max() < design.m
    rng = np.random.default_rng(1)
    monkeypatch.setattr(replacement, "SHOWN_ENTRIES", 10**5)
    P = rng.uniform(0.2, 1, (150, 14))
    found = improve(Dense.of(P / P.sum(axis=0)))
    assert found.sparse is not None
    told = found.to_dict()
    assert told["garbling"] is None
    C = np.zeros(found.sparse.shape)
    for i, u, c in told["garbling_entries"]:
        C[i, u] = c
    np.testing.assert_allclose(C @ found.design.matrix(), found.original.matrix(), atol=1e-14)


def test_what_is_handed_out_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong splitting is noticed before anyone sees it."""

    right = module.ALGORITHMS["layers"]

    def wrong(rows: Any, level: Any) -> Any:
        logged = right(rows, level)
        part = next(part for part in logged.values() if len(part) > 1)
        low, high = sorted(part)[:2]
        part[low], part[high] = part[low] + 1, part[high] - 1
        return logged

    monkeypatch.setitem(module.ALGORITHMS, "layers", wrong)
    with pytest.raises(ArithmeticError, match="does not give the original back"):
        improve(Dense.of([["0.4", "0.3"], ["0.5", "0.3"], ["0.1", "0.4"]]))


REVEALING = Dense.of([["1/2", 0], ["1/2", 1]], YES_NO)


def test_the_truth_dominates_any_design_and_needs_no_bound_on_parity() -> None:
    found = improve(REVEALING, allow_identity=True)
    assert found.design == Uniform.of(1, YES_NO)
    assert found.garbling() == REVEALING.exact_matrix()
    assert (found.improved, found.gamma, found.to_dict()["gamma_exact"]) == (True, math.inf, "inf")
    truth = Uniform.of(1, ABC)
    found = improve(truth, allow_identity=True)
    assert (found.improved, found.design) == (False, truth)
    permuted = Dense.of([[0, 1], [1, 0]], YES_NO)
    assert improve(permuted, allow_identity=True).improved is False
    design = Uniform.from_gamma(3, ABC)
    found = improve(design, gamma=math.inf, allow_identity=True)
    assert found.design == Uniform.of(1, ABC)
    assert found.garbling() == design.exact_matrix()
    assert improve(design, allow_identity=True).design is design, "its own parity is the bound"
    diverse = improve(LocalDiversity.of(2, ABC), allow_identity=True)
    assert diverse.garbling() == LocalDiversity.of(2, ABC).exact_matrix()


WARNER = Uniform.from_gamma(3, YES_NO)
SKEW, SILENT = Dense.of([["1/2", "1/4"], ["1/2", "3/4"]], YES_NO), Dense.of([["1/2", "1/2"], ["1/2", "1/2"]])


@pytest.mark.parametrize(
    ("design", "options", "saying"),
    [
        (WARNER, {"gamma": 2}, "parity 3, above gamma = 2"),
        (WARNER, {"gamma": "2999999999999999/1000000000000000"}, "parity 3, above gamma = 3 minus 1e-15"),
        (SKEW, {"gamma": 1}, "parity 2, above gamma = 1"),
        (SILENT, {"gamma": 1}, "gamma must be above 1, not 1"),
        (SILENT, {"gamma": "1/2"}, "parity 1, above gamma = 1/2"),
        (SILENT, {}, r"the design reveals nothing about the true category \(parity 1\)"),
        (REVEALING, {}, "the parity of the design is unbounded: some report rules out some true category"),
        (REVEALING, {"gamma": 10}, "has parity infinite, above gamma = 10"),
        (WARNER, {"gamma": math.inf}, "gamma must be finite"),
        (WARNER, {"gamma": "three"}, "three"),
        (WARNER, {"gamma": -3}, "-3"),
        (WARNER, {"split": "magic"}, "split must be 'layers' or 'lemmas', not 'magic'"),
        (Dense.of([[1], [0]]), {}, "k must be at least 2, not 1"),
        (Uniform.from_gamma(3, numbered(2000)), {"gamma": 4}, "more than 1,000,000"),
    ],
)
def test_bad_input(design: Design, options: dict[str, Any], saying: str) -> None:
    with pytest.raises(MaskwellError, match=saying) as raised:
        improve(design, **options)
    assert raised.value.hint


def test_too_many_sets_are_refused_and_the_best_added_variance_is_of_all_estimators() -> None:
    rng = np.random.default_rng(1)
    P = rng.integers(500, 1000, (250, 200)).astype(object)
    with pytest.raises(TooLargeError, match="sets of 200 categories") as raised:
        improve(Dense.of([[Fraction(p, total) for p, total in zip(row, P.sum(axis=0), strict=True)] for row in P]))
    assert raised.value.hint
    oue = Unary.oue_from_gamma(4, numbered(3))
    assert best_added_variance(oue) == pytest.approx(oue.added_variance_of("best-linear"))
    assert best_added_variance(oue) < oue.added_variance()  # type: ignore[operator]
    huge = Subset.from_epsilon(1, numbered(1000), size=269)
    assert best_added_variance(huge) == huge.added_variance()
    assert best_added_variance(SILENT) is None

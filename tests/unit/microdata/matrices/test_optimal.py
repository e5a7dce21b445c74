"""The optimal matrix: what it keeps, what it never does, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from maskwell.errors import CountsError, InfeasibleError, ParameterError
from maskwell.microdata.matrices import Bounds, optimal_matrix
from maskwell.microdata.matrices.matrix_checks import invariance_error


def zipf(k: int, *, seed: int = 1) -> list[int]:
    extra = np.random.default_rng(seed).integers(1, 20, k)
    return [int(10_000 / (i + 1)) + int(x) for i, x in enumerate(extra)]


def test_caps_of_single_states() -> None:
    found = optimal_matrix([30, 20, 10, 5], Bounds.of(posterior_own="0.9", caps={2: "0.2", 0: 1}))
    diagonal = [found.design.columns_exact(j)[j] for j in range(4)]
    assert diagonal[2] == Fraction(1, 5)
    assert max(diagonal[1], diagonal[3]) <= Fraction(9, 10)
    exempt = optimal_matrix([30, 20, 10, 5], Bounds.of(posterior_own="0.5", caps={0: 1})).design
    assert exempt.diagonal()[0] > 0.5


@pytest.mark.parametrize(
    "asked",
    [
        {"guess": 0.5},
        {"parity": 10},
        {"parity": 10, "guess": 0.3},
        {"posterior": 0.6, "odds": 1.2, "guess": 0.45, "least_kept": 0.2, "changed_at_least": 0.3},
    ],
)
def test_many_states_as_few_states(asked: dict[str, Any]) -> None:
    """Large programs go to another solver; what it finds is as good and kept as exactly."""
    from maskwell.microdata.matrices import flow_solver

    bounds, v = Bounds.of(**asked), zipf(32)
    inside = optimal_matrix(v, bounds)
    before, flow_solver.TIED_FLOWS = flow_solver.TIED_FLOWS, 10**9
    try:
        outside = optimal_matrix(v, bounds)
    finally:
        flow_solver.TIED_FLOWS = before
    assert inside.optimum == pytest.approx(outside.optimum, abs=1e-7)
    assert invariance_error(inside.design, v) < 1e-15


def test_a_bound_at_its_limit_as_a_float_is_taken_for_the_limit() -> None:
    found = optimal_matrix([12, 8, 3], Bounds.of(guess=12 / 23))
    assert found.optimum == pytest.approx(12 / 23)
    assert any("12/23" in note for note in found.notes)


def test_no_library_decides_how_sums_are_made_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """A largest flow of SciPy did: another one, as of another version, gave the matrix another fingerprint."""
    import scipy.sparse.csgraph

    monkeypatch.delattr(scipy.sparse.csgraph, "maximum_flow")
    found = optimal_matrix([2, 100, 5, 100, 3, 1], Bounds.of(guess="0.8"), cost="ordinal")
    assert found.achieved["guess"] <= 0.8
    assert found.invariance_error == 0


# ---- refused


def refused(v: list[int], *, hint: str, forbidden: Any = (), band: int | None = None, **asked: Any) -> InfeasibleError:
    with pytest.raises(InfeasibleError) as caught:
        optimal_matrix(v, Bounds.of(**asked), forbidden=forbidden, band=band)
    assert hint in caught.value.hint
    assert len(caught.value.message) <= 93
    assert len(caught.value.hint) <= 94
    return caught.value


def test_a_category_that_is_too_large() -> None:
    error = refused([80, 15, 5], posterior_own="0.7", hint="posterior_own = 0.75")
    assert "80 %" in error.message
    assert "75 % must stay" in error.message
    assert error.objects["nearest"] == {"posterior_own": 0.75}
    assert "odds = 3" in refused([80, 15, 5], odds=1, hint="odds = 3").hint
    pairs = [(0, 1), (1, 0), (0, 2), (2, 0)]
    error = refused([30, 20, 10, 5], forbidden=pairs, posterior_own="0.5", hint="0.8334")
    assert error.objects["senders"] == [0]
    assert error.objects["receivers"] == [3]
    error = refused([30, 20, 10, 5], posterior="0.5", changed_at_most="0.2", hint="posterior at least 0.8")
    assert "changed_at_most at least 0.5" in error.hint
    refused([30, 20, 10, 5], factor=2, changed_at_most="0.2", hint="changed_at_most at least 0.4379")
    refused([30, 20, 10, 5], posterior="0.5", least_kept="0.6", hint="least_kept at most 0.5")
    # State 0 gives and takes 30 (1 - beta), so that 5 + 60 beta records of 65 stay.
    asked = {"posterior_own": "0.2", "caps": {1: 1}, "changed_at_most": "0.5"}
    error = refused([30, 20, 10, 5], hint="posterior_own at least 0.4584", **asked)
    assert error.objects["nearest"] == {"posterior_own": 0.4584, "changed_at_most": 0.7385}
    refused([30, 20, 10], factor=2, band=1, hint="leave out factor")
    refused([30, 20], forbidden=[(0, 0), (1, 0)], posterior="0.9", hint="allow that it stays")
    from maskwell.core.phrases import HINT
    from maskwell.microdata.matrices.infeasibility import _in_words

    near = dict.fromkeys(("posterior", "posterior_own", "guess", "changed_at_most", "least_kept"), 0.1235)
    hint = _in_words(near)
    assert len(hint) <= HINT and hint.endswith("0.1235") and "…" not in hint


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="no linear one"):
        optimal_matrix([3, 2], Bounds.of(match=0.5))
    with pytest.raises(CountsError):
        optimal_matrix([3, -2], Bounds())
    with pytest.raises(ParameterError, match="costs"):
        optimal_matrix([3, 2], Bounds(), cost=[[0, float("nan")], [1, 0]])
    with pytest.raises(ParameterError, match="far"):
        optimal_matrix([3, 2], Bounds(), cost="far")
    with pytest.raises(ParameterError, match="pair"):
        optimal_matrix([3, 2], Bounds(), forbidden=[(0, 2)])
    with pytest.raises(ParameterError, match="band"):
        optimal_matrix([3, 2], Bounds(), band=-1)

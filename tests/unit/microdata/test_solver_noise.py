"""Matrices and kept draws do not depend on the last bits, or on the choice, of a solver."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from maskwell import KeyedRandom, ReleasePlan
from maskwell.microdata.matrices import Bounds, lower_until, optimal_matrix
from maskwell.microdata.matrices import flow_solver as solver
from maskwell.microdata.publication import release_into
from maskwell.planning import extremal_design

HARSH = [7, 7, 7, 7, 1, 1, 300, 52_000]
LONG = [int(3_000 / (i + 1)) + i % 7 for i in range(33)]


@pytest.fixture
def trembling(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Solvers with results off by up to four units in the last place, and unknowns in another order."""
    linprog, lu_solve, read = scipy.optimize.linprog, scipy.linalg.lu_solve, solver._read

    def start(seed: int) -> None:
        random = np.random.default_rng(seed)

        def moved(x: Any) -> Any:
            return x * (1 + random.integers(-4, 5, np.shape(x)) * 2.0**-52)

        def program(
            c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None, *more: Any, **rest: Any
        ) -> Any:
            order = random.permutation(len(c))
            bounds = rest.pop("bounds", more[0] if more else None)
            bounds = bounds[order] if isinstance(bounds, np.ndarray) else bounds
            parts = [None if A is None else A[:, order] for A in (A_ub, A_eq)]
            result = linprog(c[order], parts[0], b_ub, parts[1], b_eq, bounds, **rest)
            if result.status == 0:
                back = np.argsort(order)
                result.x = moved(result.x[back])
                for part in (result.lower, result.upper):
                    part.marginals = moved(part.marginals[back])
                for part in (result.eqlin, result.ineqlin):
                    part.marginals = moved(part.marginals)
            return result

        def inside(result: Any, *more: Any) -> Any:
            names = ("x", "y", "z_bl", "z_bu", "z_u", "s_u")
            return read(type("Moved", (), {name: moved(getattr(result, name)) for name in names}), *more)

        monkeypatch.setattr(scipy.optimize, "linprog", program)
        monkeypatch.setattr(scipy.linalg, "lu_solve", lambda *given: moved(lu_solve(*given)))
        monkeypatch.setattr(solver, "_read", inside)

    return start


PROGRAMS: list[tuple[list[int], dict[str, Any], dict[str, Any]]] = [
    ([12, 8, 3, 3], {"posterior_own": "0.6"}, {}),
    ([5] * 9, {"posterior": "1/3"}, {"cost": "ordinal"}),
    ([30, 20, 10, 5, 5], {"guess": "0.6", "changed_at_least": "0.45"}, {}),
    (HARSH, {"parity": 12}, {}),
    ([40, 7, 7, 12, 1, 1, 30], {"factor": 9, "parity": 30, "least_kept": "1/20"}, {}),
    ([4, 9, 1, 6, 6, 2, 8], {"posterior_own": "0.4"}, {"band": 3, "cost": "ordinal"}),
    (LONG, {"guess": "0.4"}, {}),
]


@pytest.mark.parametrize(("v", "asked", "options"), PROGRAMS)
def test_the_optimal_matrix_is_the_same(
    v: list[int], asked: dict[str, Any], options: dict[str, Any], trembling: Callable[[int], None]
) -> None:
    still = optimal_matrix(v, Bounds.of(**asked), **options)
    for seed in (1, 2, 3):
        trembling(seed)
        moved = optimal_matrix(v, Bounds.of(**asked), **options)
        assert moved.design.fingerprint == still.design.fingerprint


def test_the_control_sees_a_solver_that_decides(trembling: Callable[[int], None]) -> None:
    """What the solver itself gives does differ: the rule makes it the same."""
    A, b = np.ones((1, 9)), np.array([1.0])
    still = scipy.optimize.linprog(np.zeros(9), A_eq=A, b_eq=b, method="highs-ds").x
    trembling(4)
    others = [scipy.optimize.linprog(np.zeros(9), A_eq=A, b_eq=b, method="highs-ds").x for _ in range(5)]
    assert any(not np.array_equal(still, other) for other in others)


def test_diagonals_are_lowered_alike(trembling: Callable[[int], None]) -> None:
    still = lower_until([1, 2, 4, 10, 30], "0.4")
    trembling(1)
    moved = lower_until([1, 2, 4, 10, 30], "0.4")
    assert moved.design.fingerprint == still.design.fingerprint


@pytest.mark.parametrize("average", [False, True])
def test_extremal_designs_are_the_same(average: bool, trembling: Callable[[int], None]) -> None:
    cases = [
        (pi, gamma, utility)
        for pi in (["1/6"] * 6, ["1/2", "1/8", "1/8", "1/8", "1/8"], ["0.4", "0.3", "0.2", "0.1"])
        for gamma in ("1.05", 2, 30)
        for utility in ("mutual-information", "chi-square", "total-variation", "guess")
    ]
    still = [extremal_design(pi, gamma, utility=by, average=average).design.fingerprint for pi, gamma, by in cases]
    trembling(1)
    moved = [extremal_design(pi, gamma, utility=by, average=average).design.fingerprint for pi, gamma, by in cases]
    assert moved == still


def test_kept_draws_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trembling: Callable[[int], None]
) -> None:
    """3,000 records drawn by key under optimal matrices: every value is that of before, and the ledger says so."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    with Path("people.csv").open("w", encoding="utf-8", newline="") as file:
        rows = zip(range(3000), random.choice(list("abcdefg"), 3000), random.choice(list("fm"), 3000), strict=True)
        csv.writer(file).writerows([("pid", "region", "sex"), *rows])
    protect = {"variables": ["region"], "within": ["sex"], "method": "optimal", "posterior": "0.6", "guess": "0.55"}
    plan = ReleasePlan.of([protect], id="pid", dataset="people")
    key, released = KeyedRandom.of(bytes(range(32)), "people"), []
    for folder in ("one", "two"):
        last = release_into("people.csv", plan, folder, key=key, ledger="k.ledger")
        released.append(sorted(Path(folder, "public", "data.csv").read_text(encoding="utf-8").splitlines()))
        trembling(2)
    assert released[0] == released[1]
    assert last.drawn_again == ()
    assert any("the matrix is that of release 1" in note for note in last.notes)

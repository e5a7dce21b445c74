"""A trembling run computes differently in the last bits, alike wherever it is repeated; what is decided stays."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.support import trembling
from tests.support.decided import ALL

SEEDS = [str(seed) for seed in range(1, 21)]
ALGEBRA = (
    "import numpy as np; print(np.linalg.inv([[.8, .3], [.2, .7]]).tobytes().hex(), np.linalg.inv(np.eye(2)).sum())"
)


@pytest.fixture(params=["1", "2"])
def seed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(trembling.SEED, request.param)
    return str(request.param)


def test_results_move_by_last_bits_and_again_by_the_same(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).random(1000)
    moved = trembling.moved(values, "name")
    units = np.abs(moved - values) / np.spacing(values)
    assert 2 < units.max() <= 2 * trembling.ULPS
    assert (trembling.moved(values, "name") == moved).all()
    assert (trembling.moved(values, "another") != moved).any()
    monkeypatch.setenv(trembling.SEED, "3")
    assert (trembling.moved(values, "name") != moved).any()


def test_what_is_exact_stays(seed: str) -> None:
    for value in (3, Fraction(1, 3), "text", None, np.arange(3), np.array([Fraction(1, 3)], dtype=object), 0.0):
        assert np.all(trembling.moved(value, "name") == value)
    assert trembling.of_library("log", np.log, 1.0) == 0
    whole = np.array([[0.0, 1], [1, 0]])
    assert (trembling.plain("inv", np.linalg.inv, whole) == whole).all()


def test_decompositions_are_still_decompositions(seed: str) -> None:
    A = np.diag([2.0, 1, 1, 0]) + 0.0
    values, vectors = trembling.spectrum("eigh", np.linalg.eigh, A)
    np.testing.assert_allclose(vectors * values @ vectors.T, A, atol=1e-14)
    B = np.random.default_rng(2).random((3, 5))
    left, values, right = trembling.singular("svd", np.linalg.svd, B)
    np.testing.assert_allclose(left * values @ right[:3], B, atol=1e-14)
    assert np.abs(B @ right[3:].T).max() < 1e-14


def test_programs_with_several_solutions_give_several(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for seed in SEEDS:
        monkeypatch.setenv(trembling.SEED, seed)
        asked: dict[str, Any] = {"A_eq": [[1, 1, 1, 0]], "b_eq": [1], "bounds": [(0, 1)] * 3 + [(2, 3)]}
        made = trembling.program("linprog", linprog, [1, 1, 1, 1], **asked)
        assert made.x[:3].sum() == pytest.approx(1) and made.x[3] == pytest.approx(2) and made.fun == pytest.approx(3)
        found.append(int(np.argmax(made.x[:3])))
    assert len(set(found)) == 3


def run(root: Path, *words: str, seed: str | None = None) -> str:
    env = trembling.environment(seed or "")
    return subprocess.run(
        [sys.executable, *words], env=env, cwd=root, check=True, capture_output=True, text=True
    ).stdout


def test_processes_that_tests_start_tremble(root: Path) -> None:
    plain, one, again, two = (run(root, "-c", ALGEBRA, seed=seed) for seed in (None, "1", "1", "2"))
    assert one == again and len({plain, one, two}) == 3
    assert {text.split()[1] for text in (plain, one, two)} == {"2.0"}


@pytest.fixture(scope="module")
def decided(root: Path) -> list[dict[str, Any]]:
    """As the processor at hand computes, and with two seeds."""
    return [json.loads(run(root, "-m", "tests.support.decided", seed=seed)) for seed in (None, "1", "2")]


@pytest.mark.parametrize("name", [one.__name__ for one in ALL])
def test_nothing_that_is_decided_moves(name: str, decided: list[dict[str, Any]]) -> None:
    plain, one, two = (each[name] for each in decided)
    assert plain == one == two

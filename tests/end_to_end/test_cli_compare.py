"""``maskwell compare``."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.command_line import run


@pytest.fixture
def designs() -> tuple[str, str]:
    run("design", "warner", "--p", "0.8", "-o", "w.json")
    run("design", "simmons", "--p", "0.8", "--beta", "0.1", "-o", "s.json")
    return "w.json", "s.json"


def test_json(designs: tuple[str, str]) -> None:
    found = run("compare", *designs, "--pi", "0.05,0.95", "--json").json()
    assert found["order"] == "second" and found["parity"] == {"first": 4, "second": 41}
    P = np.array([[0.82, 0.02], [0.18, 0.98]])
    np.testing.assert_allclose(np.array(found["proof"]["garbling"]) @ P, [[0.8, 0.2], [0.2, 0.8]], atol=1e-12)
    assert found["less_variance"] is None
    fair = found["equalised"]
    assert fair["order"] == "first" and fair["less_variance"] == "first" and fair["parity"]["second"] == 4
    assert fair["information"]["first"] > fair["information"]["second"]


def test_text(designs: tuple[str, str]) -> None:
    shown = run("compare", *designs).out
    assert shown.startswith("At equal protection (parity 4) w.json tells all that s.json does, and more.")
    assert "their variances say nothing" in shown and max(map(len, shown.splitlines())) <= 100
    assert shown.splitlines()[-1].startswith("Next: maskwell improve s.json")


def test_bad_input(designs: tuple[str, str]) -> None:
    run("design", "k-ary", "--k", "3", "--gamma", "3", "-o", "k.json")
    assert "categories differ" in run("compare", designs[0], "k.json", status=2).err
    assert "1 share for 2 categories" in run("compare", *designs, "--pi", "0.5", status=2).err
    assert "none.json" in run("compare", designs[0], "none.json", status=2).err


def test_a_gain_matrix_proves_that_neither_can_be_made_from_the_other() -> None:
    run("design", "k-ary", "--k", "4", "--gamma", "3", "-o", "a.json")
    run("design", "subset", "--k", "4", "--gamma", "3", "--size", "2", "-o", "b.json")
    found = run("compare", "a.json", "b.json", "--json").json()
    assert found["order"] == "incomparable" and found["proof"]["exact"]
    A, B = (np.array(run("audit", f, "--json").json()["matrix"]) for f in ("a.json", "b.json"))
    for P, Q, proof in (
        (A, B, found["proof"]["first_for_second"]),
        (B, A, found["proof"]["second_for_first"]),
    ):
        G = np.array(proof["gain"])
        assert (G * Q).sum() > (P @ G.T).max(axis=1).sum() + 1e-9

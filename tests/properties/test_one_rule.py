"""Decimals and fractions: every command and every function gives the same verdict about a design and a demand.

Fractions are compared exactly; what was given as decimals or floats has a slack of 1e-9 relative to gamma. Where the
slack decides, every answer says so.
"""

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import certificates as made
from tests.support.command_line import run

from maskwell import Demand, Design
from maskwell.core.exact import to_text
from maskwell.designs import Dense, Kronecker, Sparse, design_from_dict
from maskwell.designs.wire import save_design
from maskwell.errors import ParameterError
from maskwell.planning.comparison import compare
from maskwell.planning.improvement import improve
from maskwell.planning.tuning import at_parity
from maskwell.privacy.certificate import certify
from maskwell.privacy.certificate_check import verify_text
from maskwell.privacy.criteria import SLACK
from maskwell.privacy.design_audit import audit
from maskwell.reports.demand_words import explain
from maskwell.reports.pictures.revelation import plot_revealed


def at_its_bound(rng: np.random.Generator) -> tuple[np.ndarray, Fraction]:
    """A matrix in floats whose parity is gamma but for rounding, and gamma: too long to be read as simple fractions."""
    k, gamma = int(rng.integers(2, 6)), Fraction(int(rng.integers(11 * 10**8, 200 * 10**8)), 10**9)
    rows = (np.ones((k, k)) + np.eye(k) * (float(gamma) - 1)) / (float(gamma) + k - 1)
    if rng.random() < 0.5:  # every report split in two, so that there are more reports than truths
        share = rng.random()
        rows = np.vstack([rows * share, rows * (1 - share)])
    return rows, gamma


COUNT = 20
MATRICES = [at_its_bound(np.random.default_rng(seed)) for seed in range(COUNT)]


def verdicts(design: Design, demand: Demand, gamma: Any) -> set[tuple[bool, bool]]:
    """Whether the demand is met, and whether by slack, in the words of everything that says so."""
    judged, found = audit(design, demand), {(demand.met_by(design), demand.verdict(design).slack_used)}
    told, proof = judged.to_dict(), certify(design, demand)
    found |= {(bool(judged.meets), bool(judged.slack_used)), (told["meets"], told["slack_used"])}
    found |= {(proof.claims["meets"], "slack" in proof.claims)}
    checked = verify_text(proof.text(), design=design)
    assert checked.ok
    assert checked.slack_used == any("slack for decimals" in check.words for check in checked.checks)
    found |= {(bool(checked.meets), checked.slack_used)}
    assert made.page_holds(proof.text())
    used = next(iter(found))[1]
    met = not any("does not keep" in sentence for sentence in explain(design, demand))
    drawn = plot_revealed(design.parity_exact(), demand=demand, decimals=design.decimals)
    found |= {(met, used), ("Not met" not in drawn.text, used)}
    try:
        better = improve(design, gamma=gamma)
    except ParameterError:
        return found | {(False, False)}
    assert demand.met_by(better.design)
    return found | {(True, better.slack_used)}


@pytest.mark.parametrize("number", range(COUNT))
def test_a_matrix_of_floats_at_its_bound_meets_it(number: int) -> None:
    rows, gamma = MATRICES[number]
    design = Dense.of(rows)
    assert design.decimals
    found = verdicts(design, Demand.from_gamma(gamma), gamma)
    assert found == {(True, design.parity_exact() > gamma)}
    assert at_parity(design, gamma).design is design
    restored = design_from_dict(json.loads(json.dumps(design.to_dict())))
    assert verdicts(restored, Demand.from_gamma(gamma), gamma) == found
    assert verdicts(Sparse.of_matrix(rows), Demand.from_gamma(gamma), gamma) == found


def test_the_matrices_are_a_trial() -> None:
    """Compared without slack, many of them would be refused."""
    refused = sum(Dense.of(rows).parity_exact() > gamma for rows, gamma in MATRICES)
    assert COUNT // 3 <= refused <= COUNT - 4


@pytest.mark.parametrize("number", range(0, COUNT, 5))
def test_the_same_fractions_are_compared_exactly(number: int) -> None:
    rows, gamma = MATRICES[number]
    design = Dense.of(Dense.of(rows).exact_matrix())
    assert not design.decimals
    assert design == Dense.of(rows), "the same integers have the same fingerprint, however they were given"
    parity = design.parity_exact()
    assert verdicts(design, Demand.from_gamma(gamma), gamma) == {(parity <= gamma, False)}
    assert verdicts(design, Demand.from_gamma(parity), parity) == {(True, False)}
    assert isinstance(parity, Fraction)
    less = parity - Fraction(1, 10**30)
    assert verdicts(design, Demand.from_gamma(less), less) == {(False, False)}


@pytest.mark.parametrize(("beyond", "met"), [("-1e-12", True), ("0", True), ("9e-10", True), ("1.1e-9", False)])
@pytest.mark.parametrize(("decimal_design", "decimal_demand"), list(product([False, True], repeat=2)))
def test_slack_is_for_decimals_of_either_side(
    beyond: str, met: bool, decimal_design: bool, decimal_demand: bool
) -> None:
    gamma = Fraction(5, 2)
    parity = gamma * (1 + Fraction(beyond))
    p = parity / (1 + parity)
    design = Dense.of([[p, 1 - p], [1 - p, p]])
    if decimal_design:
        design = design.with_provenance(given="decimals")
    stated: Any = "2.5" if decimal_demand else gamma
    exactly = Fraction(beyond) <= 0
    allowed = exactly or (met and (decimal_design or decimal_demand))
    assert verdicts(design, Demand.from_gamma(stated), stated) == {(allowed, allowed and not exactly)}


@pytest.mark.parametrize("number", range(0, COUNT, 10))
def test_every_command_says_the_same(number: int, tmp_path: Path) -> None:
    rows, gamma = MATRICES[number]
    (tmp_path / "typed.csv").write_text("\n".join(",".join(map(repr, row.tolist())) for row in rows), encoding="utf-8")
    design, proof = str(tmp_path / "d.json"), str(tmp_path / "c.json")

    run("design", "matrix", tmp_path / "typed.csv", "-o", design)
    told = run("audit", design, "--gamma", to_text(gamma), "--certificate", proof, "--json").json()
    assert (told["meets"], told["decimals"]) == (True, True)
    assert run("verify", proof, "--design", design, "--json").json()["meets"] is True
    better = run("improve", design, "--gamma", to_text(gamma), "-o", tmp_path / "better.json", "--json").json()
    assert better["slack_used"] == told["slack_used"]
    run("audit", tmp_path / "better.json", "--gamma", to_text(gamma))
    assert "within 1e-9" in run("audit", design, "--gamma", to_text(gamma)).out or not told["slack_used"]
    save_design(Dense.of(design_from_dict(json.loads(Path(design).read_text())).exact_matrix()), tmp_path / "f.json")
    refused = int(told["slack_used"])
    run("audit", tmp_path / "f.json", "--gamma", to_text(gamma), status=refused)
    run("improve", tmp_path / "f.json", "--gamma", to_text(gamma), status=2 * refused)


def test_equally_private_within_slack_and_products_only_where_decimals_are() -> None:
    two = Dense.of([["2/3", "1/3"], ["1/3", "2/3"]])
    near = Dense.of([["0.6666666666666666", "0.3333333333333333"], ["0.3333333333333333", "0.6666666666666666"]])
    found = compare(two, near)
    assert found.given.equally_private
    assert found.given.to_dict()["slack_used"]
    exact = compare(two, Dense.of(near.exact_matrix()))
    assert not exact.given.equally_private
    near = Dense.of([["0.6666666666666667", "0.3333333333333333"], ["0.3333333333333333", "0.6666666666666667"]])
    both = design_from_dict(json.loads(json.dumps(Kronecker.of([near, near]).to_dict())))
    assert both.decimals
    assert math.isclose(both.parity(), 4)
    assert Demand.from_gamma(4).verdict(both).slack_used
    assert both.is_admissible() == Kronecker.of([near, near]).is_admissible() is False
    alone = Kronecker.of([near, Dense.of([["1/2", "1/2"], ["1/2", "1/2"]])])
    assert design_from_dict(json.loads(json.dumps(alone.to_dict()))).is_admissible() == alone.is_admissible() is True
    assert Fraction(4) < both.parity_exact() <= 4 * (1 + SLACK)  # type: ignore[operator]

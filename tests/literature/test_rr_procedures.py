"""Every published matrix and refusal, by :func:`maskwell.design` and the command line, and printed numbers."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.command_line import refused, run

import maskwell as mw

MATRICES = [f"P{i:02}" for i in range(1, 14)]
REFUSED = [f"B{i:02}" for i in range(1, 13)]
FAMILIES = {"simmons_known": "simmons", "forced_response": "forced", "chow_urn": "chow"}
WORDS = {"T": "t", "reps": "draws", "p_truth": "truth", "p_yes": "yes", "p_no": "no"}
Case = dict[str, Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def request_of(case: Case) -> tuple[str, dict[str, Any], int | None]:
    """Family, parameters and number of categories, from the words of the published list."""
    procedure, params = case["input"]["procedure"], dict(case["input"]["params"])
    family = FAMILIES.get(procedure, procedure.replace("_", "-"))
    given = {WORDS.get(word, word): value for word, value in params.items()}
    if family == "christofides":
        given = {"probabilities": given["p"]}
    k = given.pop("k", None) or (len(given["q"]) if family == "liu-chow" else None)
    return family, given, k or (len(given["weights"]) if family == "bourke-dalenius" else None)


def typed(case: Case) -> list[str]:
    family, given, k = request_of(case)
    words = ["design", family, *(["--k", str(k)] if k else [])]
    for name, value in given.items():
        words += [f"--{name}", ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return words


def made(case: Case) -> mw.Design:
    family, given, k = request_of(case)
    return mw.design(family, categories=mw.Categories.numbered(k) if k else None, **given)


@pytest.mark.parametrize("name", MATRICES)
def test_published_matrices(name: str, rr_vectors: dict[str, Case], here: Path) -> None:
    case = rr_vectors[name]
    expected = np.array(case["expected"]["P"])
    assert np.abs(made(case).matrix() - expected).max() <= case["tol"]
    run(*typed(case), "-o", "d.json")
    assert np.abs(mw.load_design("d.json").matrix() - expected).max() <= case["tol"]


@pytest.mark.parametrize("name", REFUSED)
def test_published_refusals(name: str, rr_vectors: dict[str, Case], here: Path) -> None:
    case = rr_vectors[name]
    with pytest.raises(mw.MaskwellError):
        made(case)
    refused(*typed(case), "-o", "d.json")


def test_a_published_product(rr_vectors: dict[str, Case], here: Path) -> None:
    case = rr_vectors["P14"]
    for t, P in enumerate(case["input"]["P"]):
        Path(f"p{t}.json").write_text(json.dumps(P), encoding="utf-8")
        run("design", "matrix", f"p{t}.json", "-o", f"d{t}.json")
    run("design", "kronecker", "d0.json", "d1.json", "-o", "both.json")
    assert np.abs(mw.load_design("both.json").matrix() - np.array(case["expected"]["P"])).max() <= case["tol"]


def test_the_list_of_vectors_is_complete_and_refused_points_can_be_allowed(rr_vectors: dict[str, Case]) -> None:
    kinds = ("procedure_matrix", "procedure_error", "kronecker")
    assert sorted(name for name, case in rr_vectors.items() if case["kind"] in kinds) == sorted(
        [*MATRICES, *REFUSED, "P14"]
    )
    # All that are inside the range; 1.2 is no probability and 1.15 no sum of shares.
    outside = {"B02", "B04"}
    for name in REFUSED:
        family, given, k = request_of(rr_vectors[name])
        allowed = {"allow_revealing": True} if family == "chow" else {}
        categories = mw.Categories.numbered(k) if k else None
        if name in outside:
            with pytest.raises(mw.MaskwellError):
                mw.design(family, categories=categories, allow_unidentifiable=True, **given)
            continue
        design = mw.design(family, categories=categories, allow_unidentifiable=True, **given, **allowed)
        assert design.identifiable == (name == "B07")


@pytest.mark.parametrize(
    ("family", "given", "yes", "n", "pi_hat"),
    [
        ("warner", {"p": 0.7}, 120, 300, 0.25),
        ("mangat", {"p": 0.7}, 210, 500, 0.171429),
        ("forced", {"truth": "27/36", "yes": "6/36", "no": "3/36"}, 95, 500, 0.031111),
        ("triangular", {"q": 0.25}, 210, 500, 0.226667),
    ],
)
def test_worked_estimates(family: str, given: dict[str, Any], yes: int, n: int, pi_hat: float) -> None:
    assert mw.design(family, **given).solve(np.array([yes, n - yes]) / n)[0] == pytest.approx(pi_hat, abs=5e-7)


def test_printed_products_and_dice() -> None:
    """Source: [Adeshiyan2011, Example 3.2]."""
    delta, gamma = Fraction(4, 5), Fraction(7, 10)
    both = mw.designs.Kronecker.of([mw.design("warner", p=p) for p in (delta, gamma)])
    first = [delta * gamma, delta * (1 - gamma), (1 - delta) * gamma, (1 - delta) * (1 - gamma)]
    assert both.exact_matrix()[0] == first
    assert both.outputs.labels == (("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no"))
    sums = [a + b for a in range(1, 7) for b in range(1, 7)]
    yes, no = sum(s <= 4 for s in sums), sum(s >= 11 for s in sums)
    dice = mw.design("forced", truth=f"{36 - yes - no}/36", yes=f"{yes}/36", no=f"{no}/36")
    assert dice.exact_matrix()[0] == [Fraction(11, 12), Fraction(1, 6)]
    assert mw.design("kuk", theta1=0.7, theta2=0.2, draws=3).parity_exact() == Fraction("42.875")

"""Every published matrix and refusal, by :func:`maskwell.design` and by the command line, as people type them.

The devices whose matrices were derived are held against answers of real surveys and the figures published for them.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.columns import read_columns
from tests.support.command_line import refused, run

import maskwell as mw

MATRICES = [f"P{i:02}" for i in range(1, 14)]
REFUSED = [f"B{i:02}" for i in range(1, 13)]
FAMILIES = {
    "simmons_known": "simmons",
    "forced_response": "forced",
    "chow_urn": "chow",
}
WORDS = {"T": "t", "reps": "draws", "p_truth": "truth", "p_yes": "yes", "p_no": "no"}
Case = dict[str, Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
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
    """The same as it is typed."""
    family, given, k = request_of(case)
    words = ["design", family, *(["--k", str(k)] if k else [])]
    for name, value in given.items():
        words += [f"--{name}", ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return words


def made(case: Case) -> mw.Design:
    family, given, k = request_of(case)
    return mw.design(family, categories=mw.Categories.numbered(k) if k else None, **given)


# ---- the published list


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


def test_the_list_of_vectors_is_complete(rr_vectors: dict[str, Case]) -> None:
    kinds = ("procedure_matrix", "procedure_error", "kronecker")
    assert sorted(name for name, case in rr_vectors.items() if case["kind"] in kinds) == sorted(
        [*MATRICES, *REFUSED, "P14"]
    )


def test_a_published_product(rr_vectors: dict[str, Case], here: Path) -> None:
    case = rr_vectors["P14"]
    for t, P in enumerate(case["input"]["P"]):
        Path(f"p{t}.json").write_text(json.dumps(P), encoding="utf-8")
        run("design", "matrix", f"p{t}.json", "-o", f"d{t}.json")
    run("design", "kronecker", "d0.json", "d1.json", "-o", "both.json")
    assert np.abs(mw.load_design("both.json").matrix() - np.array(case["expected"]["P"])).max() <= case["tol"]


def test_refused_points_can_be_allowed(rr_vectors: dict[str, Case]) -> None:
    """All that are inside the range; 1.2 is no probability and 1.15 no sum of shares."""
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


# ---- several samples, by plain algebra on the matrices


def stacked(*designs: mw.Design) -> Real:
    return np.vstack([design.matrix()[0] for design in designs])


def test_unrelated_question_with_unknown_rate(rr_vectors: dict[str, Case]) -> None:
    case = rr_vectors["S01"]
    yes, n = np.array(case["input"]["yes"]), np.array(case["input"]["n"])
    P = stacked(*(mw.design("simmons", p=p) for p in case["input"]["p"]))
    own, unrelated = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    for wanted, expected in ((own, case["expected"]["pi"]), (unrelated, case["expected"]["beta"])):
        score = np.linalg.lstsq(P.T, wanted, rcond=None)[0]
        assert score @ P == pytest.approx(wanted)
        assert score @ (yes / n) == pytest.approx(expected, abs=1e-9)


def test_statements_in_several_samples(rr_vectors: dict[str, Case]) -> None:
    case = rr_vectors["S03"]
    yes, n = np.array(case["input"]["yes"]), np.array(case["input"]["n"])
    three = mw.Categories.numbered(3)
    P = stacked(*(mw.design("abul-ela", categories=three, probabilities=p) for p in case["input"]["p"]))
    pi = np.linalg.solve(np.vstack([P, np.ones(3)]), np.append(yes / n, 1))
    assert pi == pytest.approx(case["expected"]["pi"], abs=1e-9)


def test_people_who_always_say_no(rr_vectors: dict[str, Case]) -> None:
    case = rr_vectors["S06"]
    yes, n = np.array(case["input"]["yes"]), np.array(case["input"]["n"])
    P = stacked(*(mw.design("cheating-detection", p=p) for p in case["input"]["p_forced_yes"]))
    shares = np.linalg.solve(np.vstack([P, np.ones(3)]), np.append(yes / n, 1))
    assert shares == pytest.approx(list(case["expected"].values()), abs=1e-9)


def test_warner_in_every_stratum(rr_vectors: dict[str, Case]) -> None:
    case = rr_vectors["S04"]
    given = case["input"]
    found = [
        design.solve(np.array([yes / n, 1 - yes / n]))[0]
        for design, yes, n in zip(
            (mw.design("kim-warde", p=p) for p in given["p"]), given["yes"], given["n"], strict=True
        )
    ]
    assert found == pytest.approx(case["expected"]["pi_h"], abs=1e-9)
    assert np.dot(given["W"], found) == pytest.approx(case["expected"]["pi"], abs=1e-9)


# ---- derived matrices against answers of real surveys


def weighted(shared: Path, name: str, design: mw.Design, columns: tuple[str, ...] = ("z",)) -> Real:
    """Estimated totals of the true categories: every answer undone by the design, over its inclusion probability.

    Answers are 1 for yes; the first report of a design is yes.
    """
    data = read_columns(shared / "data" / f"rrtcs_{name}.csv")
    code = np.zeros(len(data["Pi"]), dtype=int)
    for column in columns:
        code = 2 * code + (1 - data[column].astype(int))
    lam = np.bincount(code, weights=1 / data["Pi"], minlength=design.m)
    return np.asarray(lam.sum() * design.solve(lam / lam.sum()))


@pytest.mark.parametrize(
    ("name", "family", "parameters", "population", "published"),
    [
        ("warner", "warner", {"p": "0.7"}, None, "360.9"),
        ("horvitz", "simmons", {"p": "0.5", "beta": "2/3"}, 10777, "0.136253"),
        ("devore", "devore", {"p": "0.7"}, 802, "0.868982"),
        ("mangat_singh", "mangat-singh", {"p": "0.7", "t": "0.55"}, 802, "0.500456"),
        ("mangat_singh_singh", "mangat-singh-singh", {"p": "0.6", "alpha": "0.5"}, None, "1206.5"),
        ("singh_joarder", "singh-joarder", {"p": "0.6"}, 802, "0.334225"),
        ("soberanis_cruz", "soberanis-cruz", {"p": "0.7", "beta": "0.5"}, None, "196.43"),
    ],
)
def test_yes_or_no_devices_on_real_answers(
    shared: Path, name: str, family: str, parameters: dict[str, Any], population: int | None, published: str
) -> None:
    total = weighted(shared, name, mw.design(family, **parameters))[0]
    found = total if population is None else total / population
    digits = len(published.partition(".")[2])
    assert found == pytest.approx(float(published), abs=0.51 * 10**-digits)


def test_two_answers_to_the_unrelated_question_on_real_answers(shared: Path) -> None:
    """The design has an inverse, so its estimate is the published one."""
    totals = weighted(shared, "horvitz_ub", mw.design("simmons-twice", p1="0.6", p2="0.7"), ("I", "J"))
    assert totals[:2].sum() / 802 == pytest.approx(0.121317, abs=5e-7)


def test_two_answers_of_mangat_singh_and_singh_on_real_answers(shared: Path) -> None:
    """The published score is unbiased under the design, and one of several that are.

    It gives 0.656. Merging the two mixed answers, which tell the same, leaves one score, of smaller variance, and
    another estimate.
    """
    p1, p2 = Fraction(3, 5), Fraction(4, 5)
    design = mw.design("mangat-singh-singh-twice", p1=p1, p2=p2)
    score = np.array([((1 - p2) * i - (1 - p1) * j) / (p1 - p2) for i in (1, 0) for j in (1, 0)], dtype=float)
    assert score @ design.matrix() == pytest.approx([1, 0, 0])
    data = read_columns(shared / "data" / "rrtcs_mangat_singh_singh_ub.csv")
    code = 2 * (1 - data["I"].astype(int)) + 1 - data["J"].astype(int)
    lam = np.bincount(code, weights=1 / data["Pi"], minlength=4) / 802
    assert score @ lam == pytest.approx(0.656, abs=5e-7)
    merged = np.array([1, *[-(1 - p1) * (1 - p2) / ((1 - p1) * p2 + p1 * (1 - p2))] * 2, 0], dtype=float)
    assert merged @ design.matrix() == pytest.approx([1, 0, 0])
    assert design.solve(lam)[0] == pytest.approx(merged @ lam)
    pi = np.array([0.6, 0.2, 0.2])
    assert merged**2 @ design.apply(pi) < score**2 @ design.apply(pi)


def test_the_lie_detector_on_real_answers(shared: Path) -> None:
    data = read_columns(shared / "data" / "rrreg_minarets.csv")
    asked = data["RRdesign"] == 1
    groups = [data["rrt"][asked & (data["condition"] == condition)] for condition in (1, 2)]
    lam, n = np.array([group.mean() for group in groups]), np.array([len(group) for group in groups])
    assert n.sum() == 1256
    P = stacked(*(mw.design("lie-detector", p=p) for p in ("2/12", "10/12")))
    L = np.linalg.inv(np.vstack([P, np.ones(3)]))
    honest, lying, _ = L @ np.append(lam, 1)
    pi = honest + lying
    error = np.sqrt((L[:2, :2].sum(axis=0) ** 2 * lam * (1 - lam) / n).sum())
    assert [round(x, 4) for x in (pi, error, honest / pi)] == [0.8707, 0.0411, 0.6358]

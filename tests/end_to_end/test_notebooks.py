"""The notebooks run from their first cell to the last; the numbers of the one about bribes are worked out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.support.regression import gradient_of, hessian_of, mixed_log_likelihood

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
pytest.importorskip("formulaic")


def cells(root: Path, name: str) -> list[dict[str, Any]]:
    return list(json.loads((root / f"docs/notebooks/{name}.ipynb").read_text(encoding="utf-8"))["cells"])


def run(root: Path, name: str) -> dict[str, Any]:
    """What the names of a notebook stand for when all its cells have run."""
    names: dict[str, Any] = {}
    for cell in cells(root, name):
        if cell["cell_type"] == "code":
            assert not cell["outputs"], name
            exec(compile("".join(cell["source"]), f"{name}: {cell['id']}", "exec"), names)
    return names


def test_every_notebook_runs(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sorted(path.stem for path in (root / "docs/notebooks").glob("*.ipynb")) == ["bribes", "first-question"]
    run(root, "first-question")
    check_bribes(run(root, "bribes"))
    assert not list(tmp_path.iterdir())


def check_bribes(names: dict[str, Any]) -> None:
    """Each number again, from the reports and the chances of the cards alone: eight of eleven ask for the truth."""
    reports = names["reports"]
    P = np.full((3, 3), 1 / 11) + np.eye(3) * 8 / 11
    code = reports["bribe"].map({"never": 0, "once": 1, "often": 2}).to_numpy()
    recovered = np.linalg.inv(P)[:, code]  # one unbiased number for each report and category
    scores = {"never": recovered[0], "once": recovered[1], "often": recovered[2], "any": recovered[1] + recovered[2]}
    frame = names["by_sector"].to_frame().set_index(["sector", "category"])
    everyone = names["shares"].to_frame().set_index("category")
    for category, score in scores.items():
        check_row(everyone.loc[category], survey_mean(reports, score, np.ones(len(score))), 60)
        for sector in ("building", "health", "retail"):
            part = reports["sector"].to_numpy() == sector
            check_row(frame.loc[(sector, category)], survey_mean(reports, score, part), 20)
    gap = gap_of(reports, scores["any"])
    assert frame.loc[("gap", "any")][["estimate", "standard_error"]].tolist() == pytest.approx(gap, rel=1e-9)
    check_model(names["model"], reports, code > 0)


def check_row(row: Any, numbers: tuple[float, float, float], firms: int) -> None:
    """With t of as many degrees of freedom as there are firms, less two strata."""
    value, error, deff = numbers
    half = stats.t.ppf(0.975, firms - 2) * error
    expected = [value, error, value - half, value + half, deff]
    assert row[["estimate", "standard_error", "low", "high", "deff"]].tolist() == pytest.approx(expected, rel=1e-9)


def survey_mean(reports: Any, score: Any, part: Any) -> tuple[float, float, float]:
    """A weighted mean over a part of the rows, its error by the firms within strata, and its design effect."""
    weights = reports["weight"].to_numpy() * part
    mean = float((weights * score).sum() / weights.sum())
    variance = between_firms(reports, weights * (score - mean) / weights.sum())
    simple = float((weights * (score - mean) ** 2).sum() / weights.sum() / (part.sum() - 1))
    return mean, variance**0.5, variance / simple


def gap_of(reports: Any, score: Any) -> list[float]:
    """Building less health, with the error of the difference."""
    total, value = np.zeros(len(score)), 0.0
    for sector, sign in (("building", 1), ("health", -1)):
        weights = reports["weight"].to_numpy() * (reports["sector"].to_numpy() == sector)
        mean = (weights * score).sum() / weights.sum()
        value += sign * mean
        total += sign * weights * (score - mean) / weights.sum()
    return [float(value), between_firms(reports, total) ** 0.5]


def between_firms(reports: Any, parts: Any) -> float:
    """The variance of a sum over firms that were drawn with replacement in each stratum."""
    sums = reports.assign(part=parts).groupby(["size", "firm"])["part"].sum()
    return float(sum(len(one) * one.var(ddof=1) for _, one in sums.groupby("size")))


def check_model(model: Any, reports: Any, reported_any: Any) -> None:
    """The estimates are the top of a likelihood that is a plain sum over nodes, and the errors are its curvature."""
    a, b = np.where(reported_any, 10 / 11, 1 / 11), np.where(reported_any, 2 / 11, 9 / 11)
    sector = reports["sector"].to_numpy()
    X = np.column_stack([np.ones(len(a)), sector == "health", sector == "retail", reports["woman"].to_numpy()])
    theta = np.append(model.params.to_numpy(), model.random.deviation)

    def likelihood(x: Any) -> float:
        return mixed_log_likelihood(x, X, a, b, reports["firm"].to_numpy(), nodes=61, reach=6.0)

    assert model.log_likelihood == pytest.approx(likelihood(theta), abs=1e-5)
    assert np.abs(gradient_of(likelihood, theta, 1e-4)).max() < 1e-3
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian_of(likelihood, theta))))[:-1]
    assert model.bse.to_numpy() == pytest.approx(errors, rel=1e-3)


def test_the_page_about_bribes_is_the_notebook(root: Path) -> None:
    """Line by line, but for how a page shows results."""
    page = (root / "docs/tutorials/bribes.md").read_text(encoding="utf-8")
    lines = {line[4:] for line in page.splitlines() if line.startswith((">>> ", "... "))}
    code = [line for cell in cells(root, "bribes") if cell["cell_type"] == "code" for line in cell["source"]]
    other = {line.rstrip("\n") for line in code} - lines - {""}
    assert other == {"choice", "mw.device(design)", "shares", "picture", "model"}

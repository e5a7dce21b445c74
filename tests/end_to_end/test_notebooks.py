"""The notebooks run from their first cell to the last; the numbers of the one about bribes are worked out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats
from tests.support.regression import gradient_of, hessian_of, mixed_log_likelihood

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")


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
    check_population(names["overall"], reports, code > 0)


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
    X, a, b = matrix_of(reports), *chances(reported_any)
    theta = np.append(model.params.to_numpy(), model.random.deviation)

    def likelihood(x: Any) -> float:
        return mixed_log_likelihood(x, X, a, b, reports["firm"].to_numpy(), nodes=61, reach=6.0)

    assert model.log_likelihood == pytest.approx(likelihood(theta), abs=1e-5)
    assert np.abs(gradient_of(likelihood, theta, 1e-4)).max() < 1e-3
    covariance = np.linalg.inv(-hessian_of(likelihood, theta))
    assert model.bse.to_numpy() == pytest.approx(np.sqrt(np.diag(covariance))[:-1], rel=1e-3)
    check_predictions(model, X, theta, covariance)


def matrix_of(reports: Any) -> Any:
    sector = reports["sector"].to_numpy()
    ones = np.ones(len(sector))
    return np.column_stack([ones, sector == "health", sector == "retail", reports["woman"].to_numpy()]).astype(float)


def chances(reported_any: Any) -> tuple[Any, Any]:
    """Of each report, for people who took a bribe and for others."""
    return np.where(reported_any, 10 / 11, 1 / 11), np.where(reported_any, 2 / 11, 9 / 11)


def check_predictions(model: Any, X: Any, theta: Any, covariance: Any) -> None:
    """Everyone in one sector after the other, over all firms; intervals on the scale of log odds."""
    places = ["building", "health", "retail"]
    frame = model.predictions(at={"sector": places}).to_frame()
    points = np.linspace(-8, 8, 801)
    weights = stats.norm.pdf(points) / stats.norm.pdf(points).sum()
    for place, row in zip(places, frame.to_numpy(), strict=True):
        moved = np.column_stack([X[:, 0], np.full((len(X), 2), [place == "health", place == "retail"]), X[:, 3]])

        def mean(x: Any, rows: Any = moved) -> float:
            return float((special.expit((rows @ x[:-1])[:, None] + x[-1] * points) @ weights).mean())

        share, slope = mean(theta), gradient_of(mean, theta, 1e-5)
        error = float(np.sqrt(slope @ covariance @ slope))
        half = stats.norm.ppf(0.975) * error / (share * (1 - share))
        ends = special.expit(special.logit(share) + np.array([-half, half]))
        assert row.tolist() == pytest.approx([share, error, *ends], rel=2e-3)


def check_population(overall: Any, reports: Any, reported_any: Any) -> None:
    """Where the weighted scores of the reports sum to zero."""
    X, a, b = matrix_of(reports), *chances(reported_any)
    weights = reports["weight"].to_numpy()

    def likelihood(x: Any) -> float:
        share = special.expit(X @ x)
        return float((weights * np.log(share * a + (1 - share) * b)).sum() / weights.sum())

    found = optimize.minimize(lambda x: -likelihood(x), np.zeros(4), options={"gtol": 1e-8})
    assert overall.params.to_numpy() == pytest.approx(found.x, abs=1e-4)


def test_the_page_about_bribes_is_the_notebook(root: Path) -> None:
    """Line by line, but for how a page shows results."""
    page = (root / "docs/tutorials/bribes.md").read_text(encoding="utf-8")
    lines = {line[4:] for line in page.splitlines() if line.startswith((">>> ", "... "))}
    code = [line for cell in cells(root, "bribes") if cell["cell_type"] == "code" for line in cell["source"]]
    other = {line.rstrip("\n") for line in code} - lines - {""}
    assert other == {"choice", "mw.device(design)", "shares", "picture", "model"}

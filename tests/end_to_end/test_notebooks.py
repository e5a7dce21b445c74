"""The notebooks and the recipes of the documentation run; numbers of the notebook about bribes are worked out again."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

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


def test_the_page_about_bribes_is_the_notebook(root: Path) -> None:
    """Line by line, but for how a page shows results."""
    page = (root / "docs/tutorials/bribes.md").read_text(encoding="utf-8")
    lines = {line[4:] for line in page.splitlines() if line.startswith((">>> ", "... "))}
    code = [line for cell in cells(root, "bribes") if cell["cell_type"] == "code" for line in cell["source"]]
    other = {line.rstrip("\n") for line in code} - lines - {""}
    assert other == {"choice", "mw.device(design)", "shares", "picture", "model"}


LIBRARIES = {"DuckDB": ["duckdb"], "polars": ["polars"], "Dask": ["dask", "dask.dataframe"], "Message queues": []}


def test_every_recipe_is_tried(root: Path) -> None:
    assert re.findall("^## (.*)$", page(root), flags=re.MULTILINE) == [*LIBRARIES]


@pytest.mark.filterwarnings("default")  # of libraries that are not ours
@pytest.mark.parametrize("title", LIBRARIES)
def test_a_recipe_runs(title: str, root: Path, tmp_path: Path, monkeypatch) -> None:
    for library in ("pyarrow", "pandas", *LIBRARIES[title]):
        pytest.importorskip(library, reason=f"no {library}: its recipe is not tried here")
    start, *sections = page(root).split("\n## ")
    section = next(section for section in sections if section.startswith(f"{title}\n"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in (*blocks(start), *blocks(section)):
        exec(compile(block, "docs/how-to/other-engines.md", "exec"), names)


def test_a_release_in_python(root: Path, tmp_path: Path, monkeypatch) -> None:
    """Every line of the page, and what its comments say."""
    for library in ("pandas", "pyarrow", "jinja2", "matplotlib"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks((root / "docs/how-to/release-in-python.md").read_text()):
        exec(compile(block, "docs/how-to/release-in-python.md", "exec"), names)
    assert names["release"].risk.after.max_risk <= 0.2 + 1e-9
    assert {path.name for path in Path("released/internal").iterdir()} == {
        "report.html",
        "receipt.json",
        "risk.csv",
        "manifest.json",
    }
    assert [point.label for point in names["tried"].points if point.chosen] == ["match 0.2"]
    assert names["kept"].estimate.bias is None and 0 < names["bounded"].estimate.bias.max() <= 0.05
    assert "the plan" in repr(names["tried"]) and Path("map.svg").read_text().startswith("<svg")
    assert {"low", "high"} == set(names["people"]["income"]) and names["fit"].n == 1000


def page(root: Path) -> str:
    return (root / "docs/how-to/other-engines.md").read_text()


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)

"""The recipes for engines that maskwell knows nothing of, as the page has them; skipped by name without the library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

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

"""The recipes for engines that maskwell knows nothing of, as the page has them; skipped by name without the library."""

from __future__ import annotations

import re
from pathlib import Path

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


def page(root: Path) -> str:
    return (root / "docs/how-to/other-engines.md").read_text()


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)

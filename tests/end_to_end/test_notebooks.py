"""The notebooks of the documentation run from their first cell to the last, and are kept without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")


def test_every_notebook_runs(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = sorted((root / "docs/notebooks").glob("*.ipynb"))
    assert [path.stem for path in paths] == ["bribes", "first-question"]
    for path in paths:
        names: dict[str, Any] = {}
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                assert not cell["outputs"], path.name
                exec(compile("".join(cell["source"]), f"{path.name}: {cell['id']}", "exec"), names)
    assert not list(tmp_path.iterdir())

"""Examples of the documentation run in an empty folder, as a reader would type them."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def empty_folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of Markdown are followed from an empty folder."""
    if request.path.suffix == ".md":
        monkeypatch.chdir(tmp_path)

"""Test vectors that stand beside the project; without them the tests that need them are skipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def vectors(shared: Path) -> dict[str, list[dict[str, Any]]]:
    """Worked-out numbers about privacy and designs, by group."""
    text = (shared / "spec" / "privacy_vectors.json").read_text(encoding="utf-8")
    content: dict[str, list[dict[str, Any]]] = json.loads(text)
    return content

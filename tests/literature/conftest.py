"""Worked-out numbers of the literature, in ``vectors``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parent / "vectors"


@pytest.fixture(scope="session")
def vector_folder() -> Path:
    """The folder of the worked-out numbers."""
    return VECTORS


@pytest.fixture(scope="session")
def vectors() -> dict[str, list[dict[str, Any]]]:
    """Worked-out numbers about privacy and designs, by group."""
    text = (VECTORS / "privacy_vectors.json").read_text(encoding="utf-8")
    content: dict[str, list[dict[str, Any]]] = json.loads(text)
    return content


@pytest.fixture(scope="session")
def rr_vectors() -> dict[str, dict[str, Any]]:
    """Worked-out numbers about randomized response surveys: each case by its id, such as ``P01``."""
    text = (VECTORS / "rr_vectors.json").read_text(encoding="utf-8")
    return {case["id"]: case for case in json.loads(text)["cases"]}


@pytest.fixture(scope="session")
def pram_vectors() -> dict[str, list[dict[str, Any]]]:
    """Worked-out numbers about released files: the cases of each kind, with ``input``, ``expected`` and ``tol``."""
    text = (VECTORS / "pram_vectors.json").read_text(encoding="utf-8")
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for case in json.loads(text)["cases"]:
        by_kind.setdefault(case["kind"], []).append(case)
    return by_kind


@pytest.fixture(scope="session")
def mixing_vectors() -> list[dict[str, Any]]:
    """Worked-out numbers about files whose small cells are mixed: matrices, and risks given one or all counts."""
    text = (VECTORS / "pram_mixing_vectors.json").read_text(encoding="utf-8")
    cases: list[dict[str, Any]] = json.loads(text)["cases"]
    return cases

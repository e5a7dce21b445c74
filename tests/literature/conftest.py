"""Worked-out numbers of the literature, in ``vectors``."""

import json
from pathlib import Path
from typing import Any

import pytest


def read(name: str) -> Any:
    return json.loads((Path(__file__).parent / "vectors" / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def vectors() -> dict[str, list[dict[str, Any]]]:
    return read("privacy_vectors.json")


@pytest.fixture(scope="session")
def rr_vectors() -> dict[str, dict[str, Any]]:
    """Worked-out numbers about randomized response surveys: each case by its id, such as ``P01``."""
    return {case["id"]: case for case in read("rr_vectors.json")["cases"]}


@pytest.fixture(scope="session")
def pram_vectors() -> dict[str, list[dict[str, Any]]]:
    """Worked-out numbers about released files: the cases of each kind, with ``input``, ``expected`` and ``tol``."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for case in read("pram_vectors.json")["cases"]:
        by_kind.setdefault(case["kind"], []).append(case)
    return by_kind


@pytest.fixture(scope="session")
def mixing_vectors() -> list[dict[str, Any]]:
    """Worked-out numbers about files whose small cells are mixed: matrices, and risks given one or all counts."""
    return read("pram_mixing_vectors.json")["cases"]

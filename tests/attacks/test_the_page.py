"""The page about promises names every attack, and no test that does not exist."""

from __future__ import annotations

import re
from pathlib import Path


def test_the_page_of_promises_and_the_attacks_name_each_other(root: Path) -> None:
    page = (root / "docs/theory/promises.md").read_text(encoding="utf-8")
    named = {*re.findall(r"`(tests/[^`]+\.py)`", page)}
    assert sorted(name for name in named if not (root / name).exists()) == []
    attacks = {path.relative_to(root).as_posix() for path in (root / "tests/attacks").glob("test_*.py")}
    assert sorted(attacks - named - {Path(__file__).relative_to(root).as_posix()}) == []


def test_the_page_is_found_from_the_others(root: Path) -> None:
    for name in ("README.md", "docs/index.md"):
        assert "theory/promises.md" in (root / name).read_text(encoding="utf-8")

from __future__ import annotations

from itertools import pairwise

import pytest

from maskwell.reports.pictures.palette import PALETTE, contrast, levels

TEXT = 4.5
GRAPHIC = 3.0


@pytest.mark.parametrize("light", ["light", "dark"])
@pytest.mark.parametrize("paper", ["paper", "panel"])
def test_text_and_marks_stand_out(light: str, paper: str) -> None:
    ground = getattr(PALETTE[paper], light)
    measured = {name: contrast(getattr(shade, light), ground) for name, shade in PALETTE.items()}
    assert all(measured[name] >= TEXT for name in ("ink", "muted", "accent", "truth", "risk", *levels(5)))
    assert measured["report"] >= GRAPHIC


@pytest.mark.parametrize("light", ["light", "dark"])
def test_levels_are_told_apart_by_lightness(light: str) -> None:
    ground = getattr(PALETTE["paper"], light)
    steps = [contrast(getattr(PALETTE[name], light), ground) for name in levels(5)]
    assert all(after / before > 1.2 for before, after in pairwise(steps))

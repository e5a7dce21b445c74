from itertools import pairwise

import pytest

from maskwell.reports.pictures.palette import PALETTE, levels

TEXT = 4.5
GRAPHIC = 3.0


def contrast(first: str, second: str) -> float:
    """Contrast of two colours, from 1 to 21, as WCAG 2 defines it."""
    bright, dim = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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

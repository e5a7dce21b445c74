"""The colours and letters of pictures and pages, named by what they mean; the hues lie near those of Okabe and Ito.

Meaning never rests on colour alone, and text and lines reach WCAG AA on both papers, which a test measures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType

TEXT_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"
MONO_FONTS = "ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace"


@dataclass(frozen=True)
class Colour:
    """One meaning in two lights."""

    light: str
    dark: str


PALETTE: dict[str, Colour] = {
    "paper": Colour("#fffefc", "#15191d"),
    "panel": Colour("#f5f4f0", "#1e2429"),
    "ink": Colour("#1b2024", "#e8eaeb"),
    "muted": Colour("#59626a", "#a4aeb6"),
    "rule": Colour("#cfd3d5", "#3c454c"),
    "grid": Colour("#e6e8e8", "#2a3137"),
    "accent": Colour("#00615a", "#5fc4b8"),
    "truth": Colour("#0b4f8f", "#79b4ea"),
    "report": Colour("#bd5700", "#f39a3d"),
    "risk": Colour("#a8123a", "#f2849c"),
    "sampling": Colour("#8fb4d6", "#3f6f9c"),
    "randomization": Colour("#f3c48e", "#8a571c"),
    "level1": Colour("#a348b9", "#b770c9"),
    "level2": Colour("#813ea4", "#bd8bd8"),
    "level3": Colour("#613192", "#c6a6e5"),
    "level4": Colour("#451f7b", "#d5c2f0"),
    "level5": Colour("#260f56", "#e8dff9"),
}
LEVELS = 5


def levels(count: int) -> list[str]:
    """Names of colours for an ordered list, from the faintest to the strongest; neighbours share one beyond five."""
    if count == 1:
        return [f"level{LEVELS}"]
    return [f"level{1 + (2 * i * (LEVELS - 1) + count - 1) // (2 * (count - 1))}" for i in range(count)]


_CHOSEN: ContextVar[Mapping[str, str]] = ContextVar("chosen", default=MappingProxyType({}))


def colour(name: str) -> str:
    """The colour for light paper, as drawing libraries want it; another where a reader has chosen one."""
    return _CHOSEN.get().get(name, PALETTE[name].light)


@contextmanager
def chosen_colours(chosen: Mapping[str, str]) -> Iterator[None]:
    """Drawings from within have these colours in place of those of the palette."""
    token = _CHOSEN.set(chosen)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def with_variables(text: str) -> str:
    """Colours of the palette replaced by variables of the page, so that a drawing follows its light."""
    for name, shade in PALETTE.items():
        text = text.replace(shade.light, f"var(--{name})")
    return text


def variables(light: str) -> str:
    """The palette as CSS variables for one light, ``"light"`` or ``"dark"``."""
    return " ".join(f"--{name}: {getattr(shade, light)};" for name, shade in PALETTE.items())

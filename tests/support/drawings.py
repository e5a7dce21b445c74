"""What a drawing looks like, as far as a test can tell: words that touch, words that leave it, colours that stay."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

from matplotlib.figure import Figure
from matplotlib.text import Text

from maskwell.plots import Picture

SLACK = 1.0


def words_of(figure: Figure) -> list[Text]:
    """Every piece of text that is drawn."""
    found = figure.findobj(Text)
    return [text for text in found if isinstance(text, Text) and text.get_text().strip() and text.get_visible()]


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of words that touch."""
    figure.canvas.draw()
    boxes = [(text.get_text(), text.get_window_extent()) for text in words_of(figure)]
    return [
        (a, b)
        for (a, first), (b, second) in itertools.combinations(boxes, 2)
        if min(first.x1, second.x1) - max(first.x0, second.x0) > SLACK
        and min(first.y1, second.y1) - max(first.y0, second.y0) > SLACK
    ]


def texts_outside(figure: Figure) -> list[str]:
    """Words that leave the drawing."""
    figure.canvas.draw()
    page = figure.bbox
    return [
        text.get_text()
        for text in words_of(figure)
        for box in [text.get_window_extent()]
        if box.x0 < -SLACK or box.y0 < -SLACK or box.x1 > page.x1 + SLACK or box.y1 > page.y1 + SLACK
    ]


def fixed_colours(picture: Picture, *, narrow: bool = False) -> set[str]:
    """Colours of a drawing inside a page that do not follow the light of the page; the drawing must be well formed."""
    drawn = picture.inline_svg(narrow=narrow)
    assert ET.fromstring(drawn).find("desc") is not None
    return set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{3,6})", drawn))

"""What a drawing looks like, as far as a test can tell: words that touch, words that leave it, colours that stay."""

import itertools
import re
import xml.etree.ElementTree as ET
from functools import lru_cache

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from maskwell.plots import Picture

SLACK = 1.0


def drawn(picture: Picture) -> tuple[Figure, str]:
    """The figure of a picture, which is made once, and the drawing inside a page."""
    return picture.figure(), picture.inline_svg()


def words_of(figure: Figure) -> list[Text]:
    """Every piece of text that is drawn."""
    beyond = {label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in _labels_beyond(axis)}
    words = (text for text in figure.findobj(Text) if isinstance(text, Text) and text not in beyond)
    return [text for text in words if text.get_text().strip() and text.get_visible()]


def _labels_beyond(axis: Axis) -> list[Text]:
    """Labels of ticks that the axis does not reach: it keeps them, and never draws them."""
    low, high = sorted(axis.get_view_interval())
    room = (high - low) * 1e-9
    ticks = (tick for tick in axis.get_major_ticks() if not low - room <= tick.get_loc() <= high + room)
    return [label for tick in ticks for label in (tick.label1, tick.label2)]


@lru_cache(maxsize=1)
def _boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every piece of text with its place; both questions about a drawing are asked one after the other."""
    figure.draw_without_rendering()  # a legend places its words when it is drawn
    return [(text.get_text(), text.get_window_extent()) for text in words_of(figure)]


PHONE = 328
"""Pixels that a page has for a picture on a phone of 360 pixels."""


def smallest_letters(figure: Figure) -> float:
    """Pixels of the smallest letters where a phone shows the drawing."""
    return min(float(text.get_fontsize()) for text in words_of(figure)) * PHONE / figure.bbox.width


def said(picture: Picture, *, page: int = 0) -> str:
    """All words of a drawing, one after the other; wrapped ones in one line."""
    return " ".join(" ".join(text.get_text().split()) for text in words_of(picture.figure(page=page)))


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of words that touch."""
    return [
        (a, b)
        for (a, first), (b, second) in itertools.combinations(_boxes(figure), 2)
        if min(first.x1, second.x1) - max(first.x0, second.x0) > SLACK
        and min(first.y1, second.y1) - max(first.y0, second.y0) > SLACK
    ]


def texts_outside(figure: Figure) -> list[str]:
    """Words that leave the drawing."""
    page = figure.bbox
    return [
        text
        for text, box in _boxes(figure)
        if box.x0 < -SLACK or box.y0 < -SLACK or box.x1 > page.x1 + SLACK or box.y1 > page.y1 + SLACK
    ]


def fixed_colours(drawing: str) -> set[str]:
    """Colours of a drawing inside a page that do not follow the light of the page; the drawing must be well formed."""
    assert ET.fromstring(drawing).find("desc") is not None
    return set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{3,6})", drawing))


def words_in(drawing: str) -> list[str]:
    """Every piece of text of a drawing, alone or inside a page."""
    return ["".join(part.itertext()) for part in ET.fromstring(drawing).iter() if part.tag.rpartition("}")[2] == "text"]


def check_drawing(picture: Picture) -> str:
    """Words neither touch nor leave, colours follow the page, rows fit their columns; gives the drawing."""
    figure, drawing = drawn(picture)
    assert texts_outside(figure) == [], picture.title
    assert overlapping(figure) == [], picture.title
    assert fixed_colours(drawing) == set(), picture.title
    assert all(len(row) == len(picture.columns) for row in picture.rows), picture.title
    return drawing

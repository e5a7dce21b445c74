"""Pages printed and measured by a real browser, where there is one."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# The first does without windows, in half the processor time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
MM = 25.4 / 72
MEASURE = """() => {
  const wide = e => e.scrollWidth > e.clientWidth + 1, tall = e => e.scrollHeight > e.clientHeight + 1;
  const all = [...document.querySelectorAll('.card')];
  const inside = (e, box) => [...e.querySelectorAll('*')].every(x => x.getBoundingClientRect().right <= box.right + 1);
  return {
    cards: all.length,
    overflowing: all.filter(e => wide(e) || tall(e) || !inside(e, e.getBoundingClientRect())).length,
    width: Math.max(...[...document.querySelectorAll('.page')].map(e => e.scrollWidth - e.clientWidth)),
  };
}"""


def browser() -> str:
    """The path of a browser, or a skip."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on the path: pages cannot be printed here")
    return found


@contextmanager
def opened(browser: Any, file: Path) -> Iterator[Any]:
    """The file as a page of the browser."""
    page = browser.new_page(viewport={"width": 1200, "height": 1600})
    try:
        page.goto(file.resolve().as_uri())
        yield page
    finally:
        page.close()


def printed(page: Any, *, headers: bool = False) -> Any:
    """What a printer gets, read by pypdf: with the date and address that browsers add by default, or without."""
    pypdf = pytest.importorskip("pypdf", reason="no pypdf: pip install pypdf")
    pdf = page.pdf(display_header_footer=headers, prefer_css_page_size=True, print_background=True)
    return pypdf.PdfReader(io.BytesIO(pdf))


def boxes_of(pdf: Any) -> set[tuple[int, int]]:
    """Sizes of the pages in millimetres."""
    return {(round(float(box.width) * MM), round(float(box.height) * MM)) for box in (p.mediabox for p in pdf.pages)}


def text_of(pdf: Any) -> list[str]:
    """The text of each page."""
    return [" ".join(page.extract_text().split()) for page in pdf.pages]


def measured(page: Any) -> dict[str, Any]:
    """How many cards there are, and how many of them do not hold their text."""
    content: dict[str, Any] = page.evaluate(MEASURE)
    return content

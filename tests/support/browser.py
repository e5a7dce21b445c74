"""Pages printed and measured by a real browser, where there is one."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
MEASURE = """<script>
const wide = e => e.scrollWidth > e.clientWidth + 1, tall = e => e.scrollHeight > e.clientHeight + 1;
const all = [...document.querySelectorAll('.card')];
const inside = (e, box) => [...e.querySelectorAll('*')].every(x => x.getBoundingClientRect().right <= box.right + 1);
document.body.setAttribute('data-measured', JSON.stringify({
  cards: all.length,
  overflowing: all.filter(e => wide(e) || tall(e) || !inside(e, e.getBoundingClientRect())).length,
  width: Math.max(...[...document.querySelectorAll('.page')].map(e => e.scrollWidth - e.clientWidth)),
}));
</script>"""


def browser() -> str:
    """The path of a browser, or a skip."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on the path: pages cannot be printed here")
    return found


def printed(page: Path, *, to: Path, headers: bool = False) -> bytes:
    """The page as PDF, with the date and address that browsers add by default, or without."""
    plain = [] if headers else ["--no-pdf-header-footer"]
    _run([f"--print-to-pdf={to}", *plain, page.resolve().as_uri()])
    return to.read_bytes()


def pages_of(pdf: bytes) -> int:
    """Pages of a PDF as browsers write it."""
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def boxes_of(pdf: bytes) -> set[tuple[int, int]]:
    """Sizes of the pages in millimetres."""
    found = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", pdf)
    return {(round(float(w) * 25.4 / 72), round(float(h) * 25.4 / 72)) for w, h in found}


def text_of(pdf: Path) -> list[str]:
    """The text of each page, or a skip where the tool for it is missing."""
    tool = shutil.which("pdftotext")
    if tool is None:
        pytest.skip("pdftotext is not on the path: the text of a PDF cannot be read here")
    done = subprocess.run([tool, "-layout", str(pdf), "-"], check=True, capture_output=True, text=True)
    return done.stdout.split("\f")[:-1]


def measured(page: Path) -> dict[str, Any]:
    """How many cards there are, and how many of them do not hold their text."""
    copy = page.with_name(f"measured-{page.name}")
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", MEASURE + "</body>"), encoding="utf-8")
    dumped = _run(["--window-size=1200,1600", "--dump-dom", copy.resolve().as_uri()])
    found = re.search(r'data-measured="([^"]*)"', dumped)
    assert found is not None, dumped[-500:]
    content: dict[str, Any] = json.loads(html.unescape(found[1]))
    return content


def _run(arguments: list[str]) -> str:
    done = subprocess.run(
        [browser(), *OPTIONS, *arguments], check=True, capture_output=True, text=True, timeout=120, encoding="utf-8"
    )
    return done.stdout

"""The pictures of the pages show what the code would draw today, as far as words tell."""

import importlib.util
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

MOST_BYTES = 150_000
DESC = "{http://www.w3.org/2000/svg}desc"


@pytest.fixture(scope="module", name="pages")
def fixture_pages(root: Path) -> dict[str, Any]:
    """The pictures as the program of the pages makes them, by name."""
    spec = importlib.util.spec_from_file_location("make_images", root / "docs/images/make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.pages())


def test_every_picture_of_the_pages_is_up_to_date(root: Path, pages: dict[str, Any]) -> None:
    for name, picture in pages.items():
        path = root / "docs/images" / f"{name}.svg"
        described = ET.parse(path).getroot().find(DESC)
        assert described is not None
        assert described.text == picture.text, f"{path.name} is old: run python docs/images/make.py"
        assert path.stat().st_size < MOST_BYTES


def test_every_picture_is_shown_and_every_picture_shown_exists(root: Path, pages: dict[str, Any]) -> None:
    texts = [*(root / "docs").rglob("*.md"), root / "README.md"]
    shown = {name for page in texts for name in re.findall(r"images/([\w-]+)\.svg", page.read_text(encoding="utf-8"))}
    drawn = {path.stem for path in (root / "docs/images").glob("*.svg")}
    assert shown == drawn == {*pages, "story"}


def test_the_picture_of_the_readme_is_small_and_described(root: Path) -> None:
    text = (root / "docs/images/story.svg").read_text(encoding="utf-8")
    drawn = ET.fromstring(text)
    assert len(text.encode()) < MOST_BYTES and drawn.get("aria-labelledby")
    assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    identifiers = [element.get("id") for element in drawn.iter() if element.get("id")]
    assert len(identifiers) == len(set(identifiers))

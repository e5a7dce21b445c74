import re
import xml.etree.ElementTree as ET
from pathlib import Path

MOST_BYTES = 150_000


def test_the_picture_of_the_readme_is_small_and_described(root: Path) -> None:
    path = root / "docs/images/story.svg"
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < MOST_BYTES
    drawn = ET.fromstring(text)
    assert drawn.get("aria-labelledby")
    assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    identifiers = [element.get("id") for element in drawn.iter() if element.get("id")]
    assert len(identifiers) == len(set(identifiers))

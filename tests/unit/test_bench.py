"""Every measurement is run by ``make bench`` and has its section on the page about speed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _sections() -> dict[str, str]:
    text = (ROOT / "bench/__main__.py").read_text(encoding="utf-8")
    return {module: title for title, module in re.findall(r'^    "(.+)": (\w+),$', text, flags=re.MULTILINE)}


def test_every_module_is_run() -> None:
    measuring = {path.stem for path in (ROOT / "bench").glob("*.py") if "\ndef lines(" in path.read_text("utf-8")}
    assert measuring == set(_sections())


def test_the_page_has_every_section() -> None:
    page = (ROOT / "docs/reference/speed.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", page, flags=re.MULTILINE)
    assert headings[: len(_sections())] == list(_sections().values())

"""Plain words: what people read names things by the terms of the field, not by words that only seem plainer."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

NOT_NO = r"(?! longer| more than| less than)"
FOREIGN = re.compile(
    rf"\b(?:told|tells?|telling|is no{NOT_NO}|are no{NOT_NO}|from which on|worked out|found out|whoever|somebody who"
    r"|as it came out|if left out|written down|made up of|has a hand in|stands? (?:in|for|between|before|beside)"
    r"|in every language|(?:goes|go) with the keys|weighs? (?:all|how|the)|take the signs off|nobody else is like)\b",
    re.IGNORECASE,
)
"""Words by which a text reads as translated; docs/glossary.md has those to use."""

FIELD = re.compile(r"\{[^{}]*\}")
"""What a sentence of the catalogue fills in."""

WRITTEN = ("*.py", "*.html", "*.txt", "*.json", "*.toml", "*.md")
"""Programs, templates, wording, messages, help and pages."""

COVERED = ("src/maskwell", "docs", "README.md", "CONTRIBUTING.md")
"""Folders and pages that people read."""

ALLOWED: dict[str, str] = {
    "docs/adr": "records of decisions, for developers",
    "docs/reference/check_certificate.py": "short on purpose: it has to fit a page",
}
"""Places that may use such words, and why."""


def english(text: str, path: Path) -> Iterator[tuple[int, str]]:
    """Lines that people read, with their numbers: strings of Python, values of TOML, all of templates."""
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield node.lineno, node.value
    elif path.suffix == ".toml":
        yield from ((1, FIELD.sub("", value)) for value in values_of(tomllib.loads(text)))
    else:
        yield from enumerate(text.splitlines(), 1)


def values_of(content: object) -> Iterator[str]:
    """All texts of a document, at any depth."""
    if isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from values_of(part)
    elif isinstance(content, str):
        yield content


def found_in(root: Path, places: tuple[str, ...] = COVERED) -> list[str]:
    """Each place with such a word, with the word in its surroundings."""
    found = []
    for place in places:
        inside = [one for pattern in WRITTEN for one in sorted((root / place).rglob(pattern))]
        for path in inside if (root / place).is_dir() else [root / place]:
            name = path.relative_to(root).as_posix()
            if any(name.startswith(place) for place in ALLOWED):
                continue
            for line, text in english(path.read_text(encoding="utf-8"), path):
                around = [text[max(0, one.start() - 30) : one.end() + 30] for one in FOREIGN.finditer(text)]
                found += [f"{name}:{line}: {words!r}" for words in around]
    return found


def test_what_people_read_is_in_plain_words(root: Path) -> None:
    assert found_in(root) == []


def test_such_words_are_found_wherever_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "one.py").write_text('"""Whoever reads this."""\nTEXT = f"{1} is no number"\nPLAIN = "it is no longer"\n')
    (folder / "two.toml").write_text('# whoever\n[code]\ntext = "the share is told"\nhint = ["worked out"]\n')
    (folder / "three.html").write_text("<p>plain</p>\n<p>It tells nothing.</p>\n")
    (tmp_path / "README.md").write_text("A page\nthat weighs the words\n")
    places = [found.partition(": ")[0] for found in found_in(tmp_path, ("pages", "README.md"))]
    inside = ["pages/one.py:1", "pages/one.py:2", "pages/three.html:2", "pages/two.toml:1", "pages/two.toml:1"]
    assert places == [*inside, "README.md:2"]

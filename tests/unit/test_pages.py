"""The pages of the documentation: their formulas become MathML, and the citation names this version."""

import re
import tomllib
from pathlib import Path

import pytest

FENCED = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)
PLAIN = re.compile(r"[\u0302\u2080-\u2089\u1d62\u2c7c\u2211\u221a]")
"""Hats, indices, sums and roots that are typed as letters."""
GENERATED = {"coverage.md", "reproduction.md"}


def test_every_formula_of_the_pages_becomes_mathml(root: Path) -> None:
    """A command that the converter does not know, or an ampersand out of place, would stay in the page as it is."""
    converter = pytest.importorskip("latex2mathml.converter")
    texts = [FENCED.sub("", page.read_text(encoding="utf-8")) for page in (root / "docs").rglob("*.md")]
    formulas = {displayed or inline for text in texts for displayed, inline in FORMULA.findall(text)}
    assert len(formulas) > 500
    for formula in sorted(formulas):
        assert not re.search(r"\\[A-Za-z]|<mi>&</mi>", converter.convert(formula)), formula


def test_theory_is_written_in_formulas_and_not_in_letters_that_look_like_them(root: Path) -> None:
    for page in sorted((root / "docs/theory").glob("*.md")):
        text = FORMULA.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))
        lines = [line for line in text.splitlines() if PLAIN.search(line) and not line.startswith("#")]
        assert page.name in GENERATED or not lines, f"{page.name}: write $...$ in {lines[0]!r}"


def test_the_citation_names_this_version(root: Path) -> None:
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")


def test_each_claim_of_the_paper_leads_to_a_test_and_each_key_to_a_source(root: Path) -> None:
    paper, sources, bib = (
        (root / name).read_text(encoding="utf-8")
        for name in ("paper/paper.md", "docs/references.bib", "paper/paper.bib")
    )
    entries = re.findall(r"^@\w+\{.*?^\}$", bib, re.MULTILINE | re.DOTALL)
    assert all(entry in sources for entry in entries)
    cited = set(re.findall(r"@([A-Z]\w+\d{4})", paper))
    assert cited == {entry.partition("{")[2].partition(",")[0] for entry in entries}
    tests = re.findall(r"\]\(\.\./(tests/[^)]+)\)", paper)
    assert len(tests) > 12 and not [path for path in tests if not (root / path).exists()]
    words = re.findall(r"[A-Za-z]\S*", re.sub(r"\(?\[`.*?\)|\$[^$]+\$", "", paper.split("---", 2)[2]))
    assert 750 < len(words) < 1250

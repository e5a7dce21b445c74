"""Labels with signs that no drawing, page or metadata can hold, or that would be taken for something else."""

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import maskwell as mw
from maskwell import Categories
from maskwell.core.phrases import visible
from maskwell.designs import Uniform
from maskwell.estimation import estimate_by_moments
from maskwell.microdata.folder.readme import readme
from maskwell.microdata.folder.release_metadata import Entry, codebook_csv, ddi_codebook, formula_columns
from maskwell.reports.pages.paper_tables import Table, document

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

SPITEFUL = "a\x00\x1b[1m\x08\x9b\u202e\ufffe<script>alert(1)</script>&amp;$x^2_{$"
DESIGN = Uniform.from_gamma(3, Categories.of([SPITEFUL, "no"]))


def estimate() -> mw.estimation.Estimate:
    design = Uniform.from_gamma(3, Categories.of([SPITEFUL, "no"]))
    return estimate_by_moments(mw.Counts(np.array([60, 40]), 100, design.fingerprint), design)


@pytest.mark.parametrize("draw", ["flows", "learned"])
def test_pictures_are_valid_xml(draw: str, tmp_path: Path) -> None:
    from maskwell import plots

    picture = {
        "flows": lambda: plots.plot_flows(DESIGN),
        "learned": lambda: mw.plot(estimate()),
    }[draw]()
    ET.fromstring(picture.svg())
    svg = picture.save(tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "\x1b" not in svg and "<script" not in svg
    assert picture.save(tmp_path / "p.png").stat().st_size > 0


def test_pages_hold_labels_as_text_and_a_notebook_takes_none_for_a_formula() -> None:
    """MathJax would set "$10 to $20" as one, and follow a link within it."""
    from maskwell.reports.pages.survey_page import PageContent, page

    made = page(PageContent(title=SPITEFUL, question=SPITEFUL, lead="x", design=DESIGN, estimate=estimate()))
    made.encode("utf-8")
    assert "<script>alert" not in made and "\x1b" not in made and "\u202e" not in made
    table = Table([SPITEFUL, "b"], [[SPITEFUL, "1"]], caption=SPITEFUL, notes=[SPITEFUL])
    for shown in ("\n".join(document([table], "html")), estimate()._repr_html_()):
        assert "<script" not in shown and "\x1b" not in shown and "\u202e" not in shown
    for shown in (estimate()._repr_html_(), estimate().to_report()._repr_html_()):
        assert shown.startswith('<div class="tex2jax_ignore mathjax_ignore">') and shown.endswith("</div>")


GROUP = {
    "method": "pram",
    "variables": [SPITEFUL],
    "within": ["[a](http://b)", "*bold*"],
    "linked": [],
    "matrix": "withheld",
    "invariance": "counts",
    "changed_expected": None,
    "vif": {SPITEFUL: 1.5, "*bold*": 1.5},
}
RECEIPT = {
    "dataset": "<img src=x onerror=alert(1)>\n# Another heading",
    "demonstration": False,
    "rows": 10,
    "order": "shuffled",
    "weights": "w<b>",
    "program": "maskwell",
    "groups": [GROUP],
    "advice": ["unescaped <b>"],
}
ENTRIES = [
    Entry(SPITEFUL, "text", "=cmd", (("=1+1", "+2x"), ("plain", "<i>")), "randomized", 1),
    Entry("n", "integer", None, ((-1, None), (2, None)), "unchanged", None),
]


def test_the_readme_holds_no_markup_of_others() -> None:
    text = readme(RECEIPT, ENTRIES, "data.csv")
    text.encode("utf-8")
    outside = "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    assert "<" not in outside.replace("\\<", "")
    assert "\n# Another" not in text and "\x1b" not in text
    assert "\\[a](" in outside and "\\*bold\\*" in outside
    assert "spreadsheets take for a formula" in outside.replace("\n", " ")


def test_metadata_and_codebook() -> None:
    names = [
        variable.get("name")
        for variable in ET.fromstring(ddi_codebook(RECEIPT, ENTRIES, "data.csv")).iter()
        if variable.get("name")
    ]
    assert names == [visible(SPITEFUL), "n"]
    lines = codebook_csv(ENTRIES).splitlines()
    assert "'=cmd" in lines[1] and "'=1+1" in lines[1] and "'+2x" in lines[1]
    assert ",-1," in lines[3]
    assert formula_columns(ENTRIES) == [SPITEFUL]

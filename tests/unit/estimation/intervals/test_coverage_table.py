"""The table of coverages on the page about intervals is what the sums give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.coverage import exact_coverage

from maskwell import design as make_design

DESIGNS = {
    "forced": make_design("forced", truth="3/4", yes="1/6", no="1/12"),
    "Warner": make_design("warner", p="0.7"),
}
CELL = re.compile(r"(?P<coverage>0\.\d{3})(?: \((?P<there>\d+) %\))?")


def test_the_page_shows_what_the_sums_give(root: Path) -> None:
    page = (root / "docs/theory/intervals.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(("| forced", "| Warner"))]
    header = next(line for line in page.splitlines() if line.startswith("| design | $n$ | true share"))
    methods = header.strip("| ").split(" | ")[3:]
    assert len(lines) == 12
    for name, n, share, *cells in lines:
        for method, cell in zip(methods, cells, strict=True):
            shown = CELL.fullmatch(cell)
            assert shown, cell
            coverage, there = exact_coverage(DESIGNS[name], float(share), int(n), level=0.95, method=method)
            assert float(shown["coverage"]) == pytest.approx(coverage, abs=0.00051), (name, n, share, method)
            assert int(shown["there"] or 100) == pytest.approx(100 * there, abs=0.51)

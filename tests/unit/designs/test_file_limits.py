"""What a design and its file may hold at most, and what an audit of the largest ones leaves out."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.support.large_designs import band, matrix, nested_blocks
from tests.support.quiet import told

from maskwell import Categories, audit, compare, load_design
from maskwell.designs import Dense, LocalDiversity, Mixture, Sparse, Subset, Unary, Uniform, kernels, wire
from maskwell.designs.wire import save_design
from maskwell.errors import DesignFileError, TooLargeError
from maskwell.reports.text.privacy_report import audit_report

FEW = Categories.numbered(5)


@pytest.mark.parametrize(
    ("limit", "most", "design", "saying"),
    [
        ("MOST_VALUES", 10, Mixture.of("1/2", ["1/10"] * 5, FEW), "more than 10 values"),
        ("MOST_PARTS", 10, nested_blocks(6), "more than 10 designs within it"),
        ("LARGEST_OF_LONG", 1 << 9, matrix(2, 400), "integers of over 300 digits"),
        ("MOST_LABELS", 2, Uniform.from_gamma(3, Categories.of(["a", "b", "c"])), "more than 2 labels"),
        ("MOST_FIXED", 4, Mixture.of("1/2", ["1/10"] * 5, FEW), "mixtures of more than 4 categories"),
    ],
)
def test_a_file_beyond_a_limit(limit, most, design, saying, tmp_path: Path, monkeypatch) -> None:
    save_design(design, tmp_path / "d.json")
    assert load_design(tmp_path / "d.json") == design
    monkeypatch.setattr(wire, limit, most)
    with told(DesignFileError, match=saying):
        load_design(tmp_path / "d.json")
    with pytest.raises(DesignFileError, match=saying):
        save_design(design, tmp_path / "e.json")
    assert not (tmp_path / "e.json").exists()


def test_designs_of_thousands_of_states_are_audited_at_once_and_their_parities_are_exact() -> None:
    design = matrix(20_000, 30, m=2)
    found = audit(design).to_dict()  # takes a second; it was minutes
    assert found["average_security"] is None and found["l1"] is None
    lines = audit_report(found, design, "d.json")
    assert any(line.split()[:2] == ["average", "security"] and "not computed: too many" in line for line in lines)
    with pytest.raises(TooLargeError, match="of which too many depend on each other"):
        compare(band(3000), Uniform.from_gamma(3, Categories.numbered(3000)))
    big = 10**30
    design = Dense.from_integers([[big, big + 1, 1], [big + 1, big, 1], [big, big, 2]])
    rows = design.exact_matrix()
    assert design.row_parities() == [max(row) / min(row) for row in rows]
    assert design.parity_exact() == max(design.row_parities())
    assert design.details()["row_parities"] == [float(parity) for parity in design.row_parities()]
    columns = [[5, 1, 1], [1, 5, 2], [1, 1, 4]]
    dense = Dense.from_integers(columns)
    sparse = Sparse.of_columns([dict(enumerate(column)) for column in columns])
    reasons = [audit(design).to_dict()["inadmissible_because"] for design in (dense, sparse)]
    assert reasons[0] == reasons[1] and reasons[0]


HUGE = Categories(range(2**32 + 3))


def test_too_many_categories():
    for make in (Uniform.from_gamma, partial(Subset.from_gamma, size=1), Unary.oue_from_gamma, LocalDiversity.of):
        with told(TooLargeError, match="4,294,967,299"):
            make(2, HUGE)


@pytest.mark.skipif(kernels.compiled is None, reason="no compiled kernels here")
@pytest.mark.parametrize("k", [0, 2**32, 2**32 + 3])
def test_kernels_refuse_what_does_not_fit_a_word(k):
    codes, words = np.zeros(4, dtype=np.uint32), np.zeros((4, 40), dtype=np.uint32)
    out, bits, unsettled = codes.copy(), np.zeros((4, 1), dtype=np.uint8), np.zeros(4, dtype=np.int64)
    for call in (
        lambda: kernels.compiled.uniform(codes, words, k, 1, out, unsettled),
        lambda: kernels.compiled.subset(codes, words, k, 1, True, 1, bits, unsettled),
        lambda: kernels.compiled.subset(codes, words, 5, k, True, 1, bits, unsettled),
        lambda: kernels.compiled.unary(codes, words, k, 1, False, 1, False, bits, unsettled),
    ):
        with pytest.raises(OverflowError):
            call()

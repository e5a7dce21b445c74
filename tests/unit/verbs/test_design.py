"""Designs that are made of a matrix, of assumed shares or of other designs, by the same verb as all families."""

from pathlib import Path

import pytest

import maskwell as mw
from maskwell.errors import ParameterError
from maskwell.planning import extremal_design
from maskwell.procedures.statement_cards import warner

MATRIX = [["0.7", "0.3"], ["0.3", "0.7"]]


def test_designs_are_made_of_a_matrix_of_objects_and_of_files(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(",yes,no\nred,0.7,0.3\nblue,0.3,0.7\n")
    from_file = mw.design("matrix", matrix=path)
    assert from_file.inputs.labels == ("yes", "no")
    named = mw.design("matrix", matrix=MATRIX, categories=["yes", "no"], reports=["red", "blue"])
    assert named.fingerprint == from_file.fingerprint and named.provenance["family"] == "matrix"
    card, path = warner("0.7"), tmp_path / "w.json"
    card.save(path)
    both = mw.design("kronecker", designs=[card, path])
    assert both.leaves == (both.leaves[0], both.leaves[1])
    assert [leaf.fingerprint for leaf in both.leaves] == [card.fingerprint] * 2
    assert mw.design("repeated", designs=[path, card]).m == 4
    outcomes = [("3/4", [warner(1), warner(1)]), ("1/4", [warner(0), warner(0)])]
    together = mw.design("shared", outcomes=outcomes, allow_unidentifiable=True)
    assert [str(x) for x in together.exact_matrix()[0]] == ["3/4", "0", "0", "1/4"]


def test_an_extremal_design_takes_a_demand_in_any_language() -> None:
    shares = ["1/2", "3/10", "1/5"]
    best = extremal_design(shares, 3).design
    assert mw.design("extremal", pi=shares, gamma=3).fingerprint == best.fingerprint
    assert mw.design("extremal", pi=shares, demand=mw.Demand.from_gamma(3)).fingerprint == best.fingerprint


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        ("kronecker", {}, "kronecker needs designs"),
        ("repeated", {"designs": [], "p": "0.7"}, "repeated has no p"),
        ("matrix", {"matrix": MATRIX, "ratio": 3}, "matrix has no ratio"),
        ("extremal", {"pi": ["1/2", "1/2"]}, "extremal needs a privacy requirement, such as epsilon=1"),
    ],
)
def test_parameters_that_do_not_fit_are_named(family: str, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        mw.design(family, **parameters)  # type: ignore[arg-type]
    assert error.value.message == message

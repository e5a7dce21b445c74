"""``maskwell design FAMILY`` with a demand in place of a parameter."""

from __future__ import annotations

import pytest
from tests.support.command_line import design_file, refused, run


@pytest.mark.parametrize(
    ("args", "parameters"),
    [
        (["warner", "--gamma", "3"], {"p": "3/4"}),
        (["warner", "--max-ratio", "41"], {"p": "41/42"}),
        (["crosswise", "--rho", "0.1", "0.5"], {"q": "9/10"}),
        (["mangat-singh", "--t", "0.3", "--gamma", "4"], {"t": "3/10", "p": "5/7"}),
        (["simmons", "--beta", "0.1", "--max-ratio", "4"], {"p": "3/13", "beta": "1/10"}),
        (["simmons", "--beta", "0.1", "--gamma", "41"], {"p": "4/5", "beta": "1/10"}),
        (["forced", "--yes", "1/6", "--max-ratio", "5"], {"truth": "2/3", "yes": "1/6", "no": "1/6"}),
        (["mangat", "--max-ratio", "10/3"], {"p": "7/10"}),
        (["triangular", "--max-ratio", "4"], {"q": "1/4"}),
        (
            ["kuk", "--theta2", "0.2", "--draws", "3", "--max-ratio", "8"],
            {"theta1": "2/5", "theta2": "1/5", "draws": "3"},
        ),
    ],
)
def test_a_demand_in_place_of_a_parameter(args: list[str], parameters: dict[str, str]) -> None:
    found = run("design", *args, "--json").json()["design"]["provenance"]
    assert found["parameters"] == parameters and found["demand"]


def test_the_demand_is_kept_to_where_it_must_be_rounded() -> None:
    design_file("w.json", "warner", "--epsilon", "1", "--categories", "user,other", "--reports", "true,false")
    found = run("audit", "w.json", "--epsilon", "1", "--json").json()
    assert found["meets"] and found["epsilon"] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["warner"], "missing option '--p'"),
        (["forced", "--truth", "0.7", "--yes", "0.1"], "missing option '--no'"),
        (["warner", "--p", "0.7", "--gamma", "3"], "--p and --gamma 3 both decide"),
        (["warner", "--max-ratio", "4", "--gamma", "3"], "two bounds"),
        (["warner", "--beta", "3", "--gamma", "3"], "are two demands"),
        (["warner", "--gamma", "1"], "leaves no information"),
        (["warner", "--max-ratio", "1"], "give a value above 1"),
        (["simmons", "--gamma", "3"], "give beta"),
        (["forced", "--yes", "0.2", "--max-ratio", "6"], "range from 1 to 5"),
        (["mangat", "--gamma", "3"], "a bound on the ratio is possible"),
    ],
)
def test_refused(args: list[str], said: str) -> None:
    refused("design", *args, saying=said)

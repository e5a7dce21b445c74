"""From sdcMicro: what pram was told, as a plan; its matrices, with rows as truths."""

from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.quiet import refused

from maskwell.errors import LabelError, MatrixError, OrientationError, PlanError
from maskwell.microdata import design_from_sdcmicro, plan_from_sdcmicro
from maskwell.microdata.plans.release_plan import read_plan


def test_each_variable_is_randomized_on_its_own_by_numbers_or_its_matrix() -> None:
    plan = plan_from_sdcmicro(
        ["roof", "walls"],
        pd=["0.95", "0.8"],
        alpha=["0.5", 1],
        strata_variables=["urbrur", "sex"],
        keys=["roof", "sex"],
        weights="w",
    )
    roof, walls = plan.protections
    assert (roof.variables, roof.within, roof.method) == (("roof",), ("urbrur", "sex"), "method2")
    assert (roof.options["diagonal"], roof.strength) == (Fraction(19, 20), Fraction(1, 2))
    assert (walls.options["diagonal"], walls.strength) == (Fraction(4, 5), Fraction(1))
    assert (plan.keys, plan.weights) == (("roof", "sex"), "w")
    assert read_plan(plan.to_toml()) == plan
    roof, walls = plan_from_sdcmicro(["roof", "walls"], pd={"roof": "roof.csv", "walls": "0.5"}).protections
    assert (roof.method, roof.options["matrix"], roof.options["orientation"]) == ("fixed", "roof.csv", "rows")
    assert roof.strength == 1
    assert walls.options["diagonal"] == Fraction(1, 2)
    refused(PlanError, "3 values of pd for 2 variables", plan_from_sdcmicro, ["roof", "walls"], pd=[1, 1, 1])
    refused(PlanError, "alpha has nothing for 'walls'", plan_from_sdcmicro, ["roof", "walls"], alpha={"roof": 1})


def write(folder: Path, text: str) -> str:
    (folder / "mat.csv").write_text(text)
    return str(folder / "mat.csv")


def test_a_matrix_as_r_writes_it(tmp_path: Path) -> None:
    path = write(tmp_path, '"","2","4"\n"2",0.9,0.1\n"4",0.3,0.7\n')
    design = design_from_sdcmicro(path)
    assert design.matrix().tolist() == [[0.9, 0.3], [0.1, 0.7]]  # columns are truths
    assert [*design.inputs.labels] == ["2", "4"]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("0.9,0.1\n0.3,0.7\n", MatrixError, "no names"),
        ('"","2","4"\n"2",0.9,0.1\n"5",0.3,0.7\n', LabelError, "different names"),
        ('"","2","4"\n"2",0.9,0.3\n"4",0.1,0.7\n', OrientationError, "row 0 sums to 1.2"),
    ],
)
def test_a_matrix_that_is_none(tmp_path: Path, text: str, error: type[Exception], said: str) -> None:
    refused(error, said, design_from_sdcmicro, write(tmp_path, text))

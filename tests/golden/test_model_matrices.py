"""Model matrices of 213 formulas as the library formulaic 1.2.2 coded them: names, numbers, and other rows later."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.formulas import predictors, table

from maskwell.engines.formula import read_formula
from maskwell.engines.formula_coding import Coding

pytest.importorskip("pandas")

VECTORS = json.loads((Path(__file__).parent / "model_matrices.json").read_text(encoding="utf-8"))


def test_formulas_are_coded_as_formulaic_codes_them() -> None:
    rows = table()
    for text, vector in VECTORS.items():
        coding, values = Coding.learn(read_formula(text).right, predictors(rows))
        assert [*coding.names] == vector["names"], text
        np.testing.assert_allclose(values[7], vector["fit"], rtol=1e-9, atol=1e-9, err_msg=text)
        np.testing.assert_allclose(values.sum(axis=0), vector["sums"], rtol=1e-9, atol=1e-8, err_msg=text)
        again = coding.apply(predictors(rows.head(9)))
        np.testing.assert_allclose(again[3], vector["again"], rtol=1e-9, atol=1e-9, err_msg=text)
    assert len(VECTORS) == 213

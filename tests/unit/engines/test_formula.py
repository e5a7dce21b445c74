import sys

import numpy as np
import pytest

from maskwell.engines.formula import Coding, read_formula, read_right_side
from maskwell.errors import InputError, MissingExtraError, UnknownCategoryError

pd = pytest.importorskip("pandas")
pytest.importorskip("formulaic")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("y ~ age + C(region)", ("age", "region")),
        ("y ~ age*sex - 1", ("age", "sex")),
        ("y ~ np.log(income) + bs(age, df=4)", ("income", "age")),
        ("y ~ `two words` + log(`more words`)", ("two words", "more words")),
        ("y ~ C(region, contr.treatment(base='north'))", ("region",)),
        ("y ~ {age / 10}", ("age",)),
        ("y ~ 1", ()),
    ],
)
def test_a_formula_names_its_columns(text, columns):
    found = read_formula(text)
    assert found.outcome == "y" and found.columns == columns


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("y", "needs an outcome and a ~"),
        ("~ x", "needs an outcome and a ~"),
        ("y ~ x ~ z", "more than one part"),
        ("y + z ~ x", "the name of one column"),
        ("log(y) ~ x", "the name of one column"),
        ("y ~ x | z", "more than one part"),
        ("y ~ (x", "matching"),
        ("y ~ x +", "ends where a column should follow"),
        ("y ~ x z", "'z' is misplaced"),
        ("y ~ 0", "nothing on the right"),
        ("y ~ y + x", "stands on both sides"),
        ("y ~ .", "formula 'y ~ .'"),
        ("y ~ open('f')", "no function 'open'"),
        ("y ~ __import__('os')", "no function '__import__'"),
        ("y ~ {x.__class__}", "not allowed in a formula"),
        ("y ~ {np.load(x)}", "no function 'np.load'"),
        ("y ~ {[a for a in x]}", "not an expression"),
        ("y ~ {x[0]}", "not allowed in a formula"),
        ("y ~ {(lambda: x)()}", "not allowed in a formula"),
    ],
)
def test_what_is_no_formula_is_refused_in_one_line(text, saying):
    with pytest.raises(InputError, match=r"formula") as caught:
        read_formula(text)
    assert saying in caught.value.message
    assert "\n" not in caught.value.message and len(caught.value.message) <= 93 and len(caught.value.hint) <= 94


def test_the_right_side_alone():
    assert read_right_side("~ age + C(sex)")[1] == ("age", "sex")
    assert read_right_side("1")[1] == ()


def test_terms_with_a_column_can_be_left_out():
    found = read_formula("y ~ x*age + sex").without(["x"])
    assert [[factor.text for factor in term] for term in found] == [[], ["age"], ["sex"]]


def test_coding_is_kept_for_other_rows():
    table = pd.DataFrame({"age": [20.0, 30.0, 40.0], "region": ["b", "a", "c"]})
    coding, values = Coding.learn(read_formula("y ~ center(age) + region").right, table)
    assert coding.names == ("Intercept", "center(age)", "region[T.b]", "region[T.c]")
    np.testing.assert_allclose(values[:, 1], [-10, 0, 10])
    np.testing.assert_allclose(coding.apply(table.tail(1)), [[1, 10, 0, 1]])
    with pytest.raises(UnknownCategoryError, match="a category that the fit did not"):
        coding.apply(pd.DataFrame({"age": [1.0], "region": ["z"]}))


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.split(".")[0] == "formulaic"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "formulaic", None)
    for read in (lambda: read_formula("y ~ x"), lambda: read_right_side("~ x")):
        with pytest.raises(MissingExtraError, match="formulaic") as caught:
            read()
        assert "maskwell[regress]" in caught.value.hint

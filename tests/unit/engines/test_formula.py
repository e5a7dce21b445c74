import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.formulas import predictors

from maskwell.core.expressions import MOST_CHARACTERS, MOST_OPERATORS
from maskwell.engines import formula_coding
from maskwell.engines.formula import MOST_TERMS, read_formula, read_right_side
from maskwell.engines.formula_coding import MOST_COLUMNS, CategoryColumn, Coding, Predictors
from maskwell.engines.formula_functions import FUNCTIONS
from maskwell.errors import InputError, MissingValueError, TooLargeError, UnknownCategoryError, WrongTypeError

pd = pytest.importorskip("pandas")


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
        ("y ~ open('f')", "unknown function 'open'"),
        ("y ~ __import__('os')", "unknown function '__import__'"),
        ("y ~ {x.__class__}", "not allowed in a formula"),
        ("y ~ {np.load(x)}", "unknown function 'np.load'"),
        ("y ~ {[a for a in x]}", "not an expression"),
        ("y ~ {x[0]}", "not an expression"),
        ("y ~ {(lambda: x)()}", "not an expression"),
    ],
)
def test_what_is_no_formula_is_refused_in_one_line(text, saying):
    with pytest.raises(InputError, match=r"formula") as caught:
        read_formula(text)
    assert saying in caught.value.message
    assert "\n" not in caught.value.message and len(caught.value.message) <= 93 and len(caught.value.hint) <= 94


def test_a_coding_refuses_what_the_fit_did_not_hold():
    region = CategoryColumn(np.array([1, 0, 2]), ["a", "b", "c"])
    table = Predictors({"age": np.array([20.0, 30.0, 40.0]), "region": region}, 3)
    coding, _ = Coding.learn(read_formula("y ~ C(age) + region").right, table)
    others = Predictors({"age": np.array([40.0]), "region": CategoryColumn(np.array([0]), ["c", "new"])}, 1)
    np.testing.assert_array_equal(coding.apply(others), [[1, 0, 1, 0, 1]])
    with pytest.raises(UnknownCategoryError, match="a category that the fit did not") as caught:
        coding.apply(replace(others, columns={**others.columns, "age": np.array([50.0])}))
    assert caught.value.values == "50.0"
    with pytest.raises(InputError, match="formula: 'a category or contrast' cannot be computed"):
        coding.apply(replace(others, columns={**others.columns, "region": np.array([1.0])}))


TABLE = pd.DataFrame(
    {
        "a": [1.0, 2.0, 4.0, 3.0, 7.0],
        "b": [2.0, 1.0, 5.0, 3.0, 3.0],
        "log": [1.0, 2.0, 3.0, 5.0, 4.0],
        "np": [3.0, 2.0, 3.0, 5.0, 4.0],
        "r": pd.Categorical(["n", "s", "w", "n", "s"]),
        "t": [True, False, True, True, False],
        "\uff41": [5.0, 6.0, 7.0, 8.0, 9.0],
        "two words": [1.0, 2.0, 3.0, 5.0, 4.0],
    }
)


def coded(text):
    return learned(text, TABLE)


def learned(text, frame):
    return Coding.learn(read_formula(text).right, predictors(frame))


@pytest.mark.parametrize(
    "text",
    [
        "y ~ I('`' == {} == '`')",
        'y ~ I("`" == {} == "`")',
        "y ~ I(a + Q('`') + {} + Q('`'))",
        "Q({}) ~ a",
        "I({}) ~ a",
        "y ~ Q({})",
        "y ~ `a` + I({})",
        "y ~ I(a, _state={})",
        "y ~ C(r, Treatment({}))",
        "y ~ C(r, levels=[{}])",
        "y ~ bs(a, df={})",
        "y ~ {{{}}}",
        "y ~ [{} ~ a]",
        "y ~ {}",
        "y ~ I(a) # `\n + I({})",
    ],
)
@pytest.mark.parametrize(
    "attack", ["open('ran', 'w')", "__import__('os').system('touch ran')", "__\uff49mport__('os')"]
)
def test_no_part_of_a_formula_is_run(text, attack, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for read in (coded, read_right_side):
        with pytest.raises(InputError):
            read(text.format(attack))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("y ~ I(9**9**9)", "power that is too high"),
        ("y ~ I(a**101)", "power that is too high"),
        ("y ~ I(a * 10**99)", "too large"),
        ("y ~ I(a * 1e999)", "too large"),
        ("y ~ I(a + 1 / (1 - 1))", "no result"),
        ("y ~ " + "9" * 50, "too many digits"),
        ("y ~ I('x' * 10**9)", "* needs columns or numbers"),
        ("y ~ I([1] * 10**9)", "* needs columns or numbers"),
        ("y ~ I(1 << 10**9)", "not an expression"),
        ("y ~ bs(a, df=10**9)", "df must be a whole number from 1 to 100"),
        ("y ~ poly(a, 10**6)", "degree must be a whole number from 1 to 100"),
        ("y ~ lag(a, 10**9)", "k must be a whole number"),
        ("y ~ np.log(a, out=b)", "np.log has no parameter 'out'"),
        ("y ~ C(r, 'x')", "must be a contrast"),
        ("y ~ C(r, levels=a)", "levels must be a list"),
        ("y ~ C(r, spans_intercept=3)", "must be True or False"),
        ("y ~ scale(a, center='x')", "center must be True, False or a number"),
        ("y ~ I(a, b)", "I takes at most 1 values"),
        ("y ~ I(data=a)", "I has no parameter 'data'"),
        ("y ~ log(x=a, x=b)", "log is given x twice"),
        ("y ~ log(a, x=b)", "log is given x twice"),
        ("y ~ log()", "log needs x"),
        ("y ~ log(3)", "log is given no column"),
        ("y ~ {3}", "3 names no column"),
        ("y ~ I(Sum)", ""),
        ("y ~ I(Sum())", "Sum belongs into C"),
        ("y ~ {1 < a < 3}", "more than one comparison"),
        ("y ~ I(a and b)", "not an expression"),
        ("y ~ (a + b)**30", "the power '30'"),
        ("y ~ (a + b)**a", "the power 'a'"),
        ("y ~ a:2", "the number 2"),
        ("y ~ 'a'", "is misplaced"),
        ("y ~ " + "*".join(f"x{i}" for i in range(30)), "too many terms"),
        ("y ~ " + ":".join(f"x{i}" for i in range(30)), "an interaction of 13 columns"),
        ("y ~ (" + "+".join(f"x{i}" for i in range(60)) + ")**3", "too many terms"),
        ("y ~ " + "(" * 31 + "a" + ")" * 31, "nested too deeply"),
        ("y ~ I(" + "-" * 101 + "a)", "too much in it"),
        ("y ~ a" + " + a" * 2500, "10,005 characters"),
        ("y ~ a\0", "U+0000"),
        ("y ~ a\ud800", "U+D800"),
        ("y ~ ``", "without a name"),
        ("y ~ `a", "without a name"),
        ("y ~ I('a)", "does not end"),
        ("y ~ I('a\\'')", "does not end"),
        ("y ~ \u202e" * 20, ""),
        ("y ~ `1`", "could be two things"),
        ("y ~ log(a) + `log(a)`", "could be two things"),
    ],
)
def test_formulas_have_limits(text, saying):
    with pytest.raises(InputError) as caught:
        coded(text)
    assert saying in caught.value.message
    assert "\n" not in caught.value.message and len(caught.value.message) <= 93 and 0 < len(caught.value.hint) <= 94


@pytest.mark.parametrize(
    "text",
    [
        "y ~ log(r)",
        "y ~ I(r + 1)",
        "y ~ I(poly(a, 1) * b)",
        "y ~ I(np.where(a > 1, 'x', 'y') * 10**9)",
        "y ~ I(np.where(a > 1, '%999999999d', '') % 3)",
        "y ~ C(r, Treatment('x'))",
        "y ~ C(a, [[1], [2]])",
        "y ~ bs(a, df=4, lower_bound=3)",
        "y ~ `two words` + I(`two words` - r)",
    ],
)
def test_what_does_not_fit_the_rows_is_refused_without_their_values(text):
    with pytest.raises(InputError, match="cannot be computed") as caught:
        coded(text)
    assert caught.value.values and len(caught.value.message) <= 93


def test_names_are_those_of_columns_and_the_matrix_is_bounded_before_it_is_made(monkeypatch):
    coding, values = coded("y ~ log + log(log) + np.log(np) + I(np * `log`)")
    assert coding.names == ("Intercept", "log", "log(log)", "np.log(np)", "I(np * log)")
    np.testing.assert_allclose(values[:, 2:4], np.log(TABLE[["log", "np"]]))
    coding, values = coded("y ~ a + I(\uff41 + 1)")  # a letter of another width is another column
    assert coding.names == ("Intercept", "a", "I(\uff41 + 1)")
    np.testing.assert_allclose(values[:, 2], TABLE["\uff41"] + 1)
    with pytest.raises(InputError, match="unknown function"):
        read_formula("y ~ \uff4cog(a)")
    assert read_formula("y ~ Q('two words') + log(Q('a'))").columns == ("two words", "a")
    np.testing.assert_array_equal(coded("y ~ Q('two words')")[1][:, 1], TABLE["two words"])
    many = pd.DataFrame({name: pd.Categorical([f"{name}{i % 50}" for i in range(100)]) for name in "abc"})
    with pytest.raises(TooLargeError, match="2,601 columns"):
        learned("y ~ a:b + c + 1", many.assign(c=pd.Categorical(range(100))))
    few = pd.DataFrame({name: pd.Categorical(["u", "v"] * 5) for name in "abcdefgh"})
    with pytest.raises(TooLargeError, match="the formula has an interaction of too many categorical columns"):
        learned("y ~ a:b:c:d:e:f:g:h", few)
    monkeypatch.setattr(formula_coding, "MOST_BYTES", 1000)
    with pytest.raises(TooLargeError, match="60 columns for 5 rows"):
        coded("y ~ bs(a, df=60)")
    with pytest.raises(TooLargeError, match="2 columns for 500 rows"):
        Coding.learn(read_formula("y ~ a").right, predictors(TABLE), copies=100)


def test_names_stay_as_they_are_and_the_documents_list_all_functions():
    for read in (read_formula, read_right_side):
        with pytest.raises(WrongTypeError, match="not int"):
            read(3)
    table = TABLE.assign(**{"a:b": TABLE["a"]})
    with pytest.raises(InputError, match="two columns of the model would have the same name"):
        learned("y ~ `a:b` + a:b", table)
    page = (Path(__file__).parents[3] / "docs/how-to/regression.md").read_text(encoding="utf-8")
    words = {*re.findall(r"[\w.]+", page)}
    assert {*FUNCTIONS} <= words
    assert f"{MOST_TERMS:,} terms" in page and f"{MOST_COLUMNS:,} columns in all" in page
    assert f"{MOST_CHARACTERS:,} characters" in page and f"{MOST_OPERATORS} operators" in page


SPITEFUL = {
    "x": [1.0, 2.0, 3.0, 4.0],
    "b": ["A", "__o", "A", "B"],
    "two": ["p", "q", "p", "q"],
    "two[T.q]": [5.0, 6.0, 7.0, 8.0],
    "u": ["1", "1]:v[1", "1", "1]:v[1"],
    "v": ["2", "2", "1]:v[2", "1]:v[2"],
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y ~ b", ("Intercept", "b[T.B]", "b[T.__o]")),
        (
            "y ~ C(two, levels=['__o', 'p', 'q'])",
            ("Intercept", *(f"C(two, levels=['__o', 'p', 'q'])[T.{x}]" for x in "pq")),
        ),
        ("y ~ `two[T.q]` + two:`two[T.q]`", ("Intercept", "two[T.q]", "two[T.q]:two[T.q]")),
    ],
)
def test_no_column_is_lost_because_of_its_name(text, names):
    coding, values = learned(text, pd.DataFrame(SPITEFUL))
    assert coding.names == names and values.shape == (4, len(names))


@pytest.mark.parametrize("text", ["y ~ np.where(x > 2, 1, '1') - 1", "y ~ 0 + u:v", "y ~ two + `two[T.q]`"])
def test_columns_of_the_model_with_one_name_are_refused_without_their_values(text):
    with pytest.raises(InputError, match="two columns of the model would have the same name") as caught:
        learned(text, pd.DataFrame(SPITEFUL))
    assert caught.value.values and caught.value.values not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("text", ["y ~ lag(two)", "y ~ C(log(x - 2))", "y ~ C(lag(x))"])
def test_a_row_without_a_category_is_not_taken_for_the_reference(text):
    with pytest.raises(MissingValueError, match="does not give a category in"):
        learned(text, pd.DataFrame(SPITEFUL))


def test_functions_remember_their_columns_and_truth_values_are_numbers():
    coding, values = coded("y ~ center(a) + center(b) + center(`two words`)")
    np.testing.assert_allclose(values[:, 1:].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(coding.apply(predictors(TABLE.head(2))), values[:2])
    np.testing.assert_array_equal(coded("y ~ exp(t)")[1][:, 1], np.exp(TABLE["t"].astype(float)))
    np.testing.assert_array_equal(coded("y ~ exp10(b)")[1][:, 1], 10 ** TABLE["b"])
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "f": [True, True, False]})
    _, values = learned("y ~ 0 + I(f + (a > 1)) + I(-f) + I(f - f)", table)
    np.testing.assert_array_equal(values, [[1, -1, 0], [2, -1, 0], [1, 0, 0]])
    hat, stars = read_formula("y ~ I(cov.age^2)"), read_formula("y ~ I(cov.age ** 2)")
    assert repr(hat.right) == repr(stars.right) and hat.columns == ("cov.age",)

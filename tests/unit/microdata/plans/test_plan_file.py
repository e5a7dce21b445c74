"""Plans as files: what is read, what is written back, every way to get it wrong; and what their rules forbid."""

import re
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.quiet import quiet, refused

from maskwell.core.phrases import HINT, MESSAGE
from maskwell.errors import PlanError, UnknownCategoryError
from maskwell.microdata import load_plan
from maskwell.microdata.plans.edit_rules import Moves, Rule, Steps, read_rule
from maskwell.microdata.plans.plan_entries import find_levels, unknown_label
from maskwell.microdata.plans.protection import COMMON_ENTRIES, RELEASE_METHODS
from maskwell.microdata.plans.release_plan import RELEASE_ENTRIES, read_plan

COLUMNS = ["urbrur", "roof", "roof_group", "sex", "region", "age", "marital"]
COLUMNS += ["income_class", "sampling_weight", "pid", "name"]
WHOLE = """
[release]
title = "Labour 2025"
keys = ["urbrur", "roof", "sex"]
sensitive = ["income_class"]
weights = "sampling_weight"
id = "pid"
dataset = "2025"
order = "kept"
accept = ["record-order"]
drop = ["name"]
missing = "category"
match = 0.5
formulas = "income_class ~ age"
demonstration = true

[[protect]]
variables = ["urbrur", "roof", "sex"]
within = ["region"]
linked = ["roof_group"]
method = "inverse-frequency"
xi = "1/3"
block_size = 7
exclude = { roof = [9] }

[[protect]]
variables = "age"
within = "marital"
method = "optimal"
posterior = 0.6
changed_at_most = 0.25
cost = "ordinal"
caps = { old = 0.3 }
publish = "included"
clearance = "table 3 is public"

[[protect]]
variables = ["income_class"]
within = ["region"]
method = "fixed"
orientation = "rows"
categories = ["low", "high"]
[protect.matrix]
north = [["0.9", "0.1"], [0.2, 0.8]]
south = "south.csv"

[[rule]]
forbid = { age = ["child"], marital = ["married", "widowed"] }
[[rule]]
variable = "age"
steps = 1
[[rule]]
variable = "age"
never = [["old", "middle"]]

[codebook]
roof = ["1", "2", 3, 9]
age = ["child", "young", "middle", "old"]
"""
SHORT = '[[protect]]\nvariables = "sex"\n'
SEQ = SHORT + 'method = "sequential"\n'
GUESS = SHORT + 'method = "optimal"\nguess = 0.9\n'
RULE = '[[rule]]\nvariable = "sex"\n'
TWO = '[[protect]]\nvariables = ["sex", "age"]\n'
METHOD1, METHOD2, OPTIMAL, UNIFORM, DESIGN = (
    f'{SHORT}method = "{name}"\n' for name in ("method1", "method2", "optimal", "uniform", "design")
)
FIXED, INVERSE = f'{SHORT}method = "fixed"\n', f'{SHORT}method = "inverse-frequency"\n'


def test_every_entry_is_read_written_back_and_published_as_it_says() -> None:
    plan = read_plan(WHOLE)
    joint, age, income = plan.protections
    assert (plan.keys, plan.sensitive, plan.drop) == (("urbrur", "roof", "sex"), ("income_class",), ("name",))
    assert (plan.weights, plan.id, plan.dataset, plan.title) == ("sampling_weight", "pid", "2025", "Labour 2025")
    assert (plan.order, plan.missing, plan.match, plan.demonstration) == ("kept", "category", Fraction(1, 2), True)
    assert (joint.variables, joint.within, joint.linked) == (("urbrur", "roof", "sex"), ("region",), ("roof_group",))
    assert plan.formulas == ("income_class ~ age",)
    assert joint.options == {"xi": Fraction(1, 3), "block_size": 7} and joint.exclude == {"roof": ("9",)}
    assert age.bounds.asked() == {"posterior": Fraction(3, 5), "changed_at_most": Fraction(1, 4)}
    assert (age.options, age.caps) == ({"cost": "ordinal"}, {"old": Fraction(3, 10)})
    assert income.options["matrix"][("north",)][1] == (Fraction(1, 5), Fraction(4, 5))
    assert income.options["matrix"][("south",)] == "south.csv"
    assert plan.rules == (
        Rule({"age": ("child",), "marital": ("married", "widowed")}),
        Steps("age", 1),
        Moves("age", (("old", "middle"),)),
    )
    assert plan.codebook["roof"] == ("1", "2", "3", "9")
    joint, age, income = read_plan(WHOLE).protections
    assert [one.publish for one in (joint, age, income)] == ["withheld", "included", "included"]
    assert [one.derived for one in (joint, age, income)] == [True, True, False]
    outside = read_plan(SEQ + 'counts_from = "census.csv"').protections[0]
    assert (outside.derived, outside.publish) == (False, "included")
    plan = read_plan(WHOLE)
    assert read_plan(plan.to_toml()) == plan
    assert type(plan).from_dict(plan.to_dict()) == plan
    assert tomllib.loads(plan.to_toml())["release"]["dataset"] == "2025"  # a text, though it looks like a number
    with pytest.raises(PlanError, match="2 columns named 'sex'"):
        read_plan(WHOLE).check([*COLUMNS, "sex"])


def test_names_of_files_are_seen_from_the_folder_of_a_plan_that_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        '[[protect]]\nvariables = "sex"\nmethod = "design"\nfile = "d.json"\n'
        '[[protect]]\nvariables = "age"\nmethod = "sequential"\ncounts_from = "census.csv"\n'
        '[[protect]]\nvariables = "roof"\nmethod = "fixed"\norientation = "rows"\nmatrix = "m.csv"\n'
    )
    sex, age, roof = load_plan(tmp_path / "plan.toml").protections
    found = (sex.options["file"], age.counts_from, roof.options["matrix"])
    assert found == tuple(str(tmp_path / name) for name in ("d.json", "census.csv", "m.csv"))
    refused(PlanError, "cannot read", load_plan, tmp_path / "none.toml")
    (tmp_path / "plan.toml").write_bytes(b"\xff\xfe")
    refused(PlanError, "not text in UTF-8", load_plan, tmp_path / "plan.toml")
    caught = refused(PlanError, "is not TOML", read_plan, "sex,region\nf,north\n")
    assert "were plan and data swapped?" in caught.hint


def with_release(entries: str) -> str:
    return f'[release]\n{entries}\n{SHORT}method = "sequential"\n'


BAD = {
    "nothing": ("", "protects nothing"),
    "no TOML": ("keys = [", "is not TOML"),
    "unknown table": ('[relaese]\nkeys = ["sex"]', "unknown setting 'relaese'"),
    "one bracket": ('[protect]\nvariables = "sex"', r"\[protect\] is one table"),
    "unknown key of release": (with_release("wieghts = 'w'"), r"\[release\]: unknown setting 'wieghts'"),
    "type of match": (with_release("match = 'half'\nkeys = ['sex']"), "match must be a finite number, not 'half'"),
    "match in percent": (with_release("match = 50\nkeys = ['sex']"), "match = 50 is out of range"),
    "match without keys": (with_release("match = 0.5"), "match needs keys"),
    "type of keys": (with_release("keys = 3"), "keys = 3 is not a list"),
    "key twice": (with_release("keys = ['sex', 'sex']"), "holds 'sex' twice"),
    "order": (with_release("order = 'random'"), "order = 'random' is not allowed"),
    "demonstration": (with_release("demonstration = 'yes'"), "is not true or false"),
    "id randomized": (with_release("id = 'sex'"), "id = 'sex' is randomized too"),
    "weights randomized": (with_release("weights = 'sex'"), "weights = 'sex' is randomized too"),
    "id as a key": (with_release("id = 'pid'\nkeys = ['pid']"), "is among the keys"),
    "drop what is randomized": (with_release("drop = ['sex']"), "drop names 'sex'"),
    "drop a key": (with_release("drop = ['age']\nkeys = ['age']"), "also among the keys"),
    "no variables": ('[[protect]]\nmethod = "sequential"', r"\[\[protect\]\] number 1 has no variables"),
    "empty variables": ('[[protect]]\nvariables = []\nmethod = "sequential"', "variables is empty"),
    "no method": (SHORT, "number 1 has no method"),
    "unknown method": (SHORT + 'method = "metod1"', "unknown method 'metod1'"),
    "option of another method": (SEQ + "theta = 0.5", "unknown setting 'theta'"),
    "bound of another method": (METHOD1 + "posterior = 0.5\ntheta = 0.5", "method method1 takes no posterior"),
    "caps of another method": (SEQ + "caps = {f = 0.5}", "method sequential takes no caps"),
    "exclude from a matrix": (DESIGN + 'file = "d.json"\nexclude = ["f"]', "method design takes no exclude"),
    "strength of a demand": (UNIFORM + "epsilon = 1\nstrength = 0.5", "takes no strength"),
    "weights that are none": (SEQ + 'invariance = "weights"', "names no weights"),
    "two numbers": (INVERSE + "theta = 0.5\nxi = 0.5", "has theta and xi"),
    "no number": (UNIFORM, "has no number"),
    "no bound": (OPTIMAL, "does not say how much to change"),
    "lowered to nothing": (SHORT + 'method = "lowered"\nposterior = 0.5', "no match to reach"),
    "theta": (METHOD1 + "theta = 1.5", "theta = 1.5 is out of range"),
    "xi": (INVERSE + "xi = 0", "xi = 0 is out of range"),
    "bound": (OPTIMAL + "parity = 0.5", "number 1: parity = 0.5 is out of range"),
    "rho": (UNIFORM + "rho = [0.5, 0.1]", "not a pair of probabilities"),
    "cost": (OPTIMAL + 'posterior = 0.9\ncost = "money"', "cost = 'money' is not allowed"),
    "orientation": (FIXED + "matrix = [[1, 0], [0, 1]]", "needs orientation"),
    "no matrix": (FIXED + 'orientation = "rows"', "needs matrix"),
    "ragged": (FIXED + 'orientation = "rows"\nmatrix = [[1, 0], [1]]', "different lengths"),
    "entry": (FIXED + 'orientation = "rows"\nmatrix = [["x"]]', r"matrix\[0, 0\] must be a finite number, not 'x'"),
    "first without orientation": (METHOD2 + 'first = "r.csv"', "needs orientation"),
    "orientation of nothing": (METHOD2 + 'diagonal = 0.8\norientation = "rows"', "needs first"),
    "no base": (SHORT + 'method = "swap"', 'has no base\nhint: add base = "mixing"; others: method1'),
    "base": (SHORT + 'method = "swap"\nbase = "uniform"', "a swap has no base 'uniform'"),
    "strength": (SEQ + "strength = 0", "strength = 0 is out of range"),
    "strength and bound": (GUESS + "strength = 0.5", "would undo guess"),
    "strength and xi": (INVERSE + "xi = 0.5\nstrength = 0.5", "would undo xi"),
    "no clearance": (SEQ + 'publish = "included"', "would publish the counts"),
    "publish": (SEQ + 'publish = "yes"', "publish = 'yes' is not allowed"),
    "exempt": (SEQ + 'exempt = ["single"]', "exempt = 'single' is not allowed"),
    "intruder": (with_release("intruder = 'nobody'"), "intruder = 'nobody' is not allowed"),
    "again, never": (SEQ + "again = 0", "again"),
    "again, more than once": (SEQ + "again = 2", "again"),
    "again, no number": (SEQ + 'again = "half"', "again"),
    "draws": (SEQ + 'draws = "sometimes"', "draws"),
    "within itself": (SHORT + 'within = "sex"\nmethod = "sequential"', "number 1: 'sex' is named twice"),
    "exclude and cap": (GUESS + 'exclude = ["f"]\ncaps = {f = 0.5}', "has a cap"),
    "cap": (OPTIMAL + "caps = {f = 30}", "caps: f = 30 is out of range"),
    "exclude of several": (TWO + 'method = "sequential"\nexclude = ["f"]', "does not say which variable"),
    "exclude of another": (SEQ + 'exclude = {age = ["old"]}', "unknown variable 'age'"),
    "caps of several": (TWO + 'method = "optimal"\ncaps = {f = 0.5}', "needs a single variable"),
    "protected twice": (
        SEQ + '[[protect]]\nvariables = "age"\nlinked = "sex"\nmethod = "sequential"',
        "'sex' is randomized by",
    ),
    "empty rule": (SEQ + '[[rule]]\nvariable = "sex"', "says nothing"),
    "rule with two": (SEQ + '[[rule]]\nsteps = 1\nforbid = {sex = ["f"]}', "has forbid and"),
    "rule without variable": (SEQ + "[[rule]]\nsteps = 1", "has no variable"),
    "rule with more": (SEQ + '[[rule]]\nforbid = {a = ["f"]}\nx = 1', "unknown setting 'x'"),
    "forbid nothing": (SEQ + "[[rule]]\nforbid = {}", "names no label"),
    "steps": (SEQ + RULE + "steps = 0.5", "not a whole number"),
    "pairs": (SEQ + RULE + 'never = ["f"]', "not a list"),
    "stay": (SEQ + RULE + 'never = [["f", "f"]]', "to itself"),
    "moves of nobody": (SEQ + '[[rule]]\nvariable = "age"\nsteps = 1', "no \\[\\[protect"),
    "moves everywhere": (SEQ + RULE + "steps = 1", "moves 'sex' anywhere"),
    "steps twice": (GUESS + RULE + "steps = 1\n" + RULE + "steps = 2", "number 2 contradicts an earlier one"),
    "only and never": (
        GUESS + RULE + 'only = [["f", "m"]]\n' + RULE + 'never = [["f", "m"]]',
        "a move of `only` and `never`",
    ),
    "everything forbidden": (
        SEQ + '[[rule]]\nforbid = {sex = ["f", "m"]}\n[codebook]\nsex = ["f", "m"]',
        "forbids every record",
    ),
    "codebook": (SEQ + "[codebook]\nsex = []", "sex has no labels"),
    "codebook twice": (SEQ + '[codebook]\nsex = ["f", "f"]', "holds 'f' twice"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    caught = refused(PlanError, said, read_plan, text)
    assert len(caught.message) <= MESSAGE and 0 < len(caught.hint) <= HINT


def test_labels_are_those_of_the_codebook() -> None:
    said = "'x' is not a category"
    for entry, of in (('exclude = ["x"]', "exclude"), ("[[rule]]\nforbid = {sex = ['x']}", r"\[\[rule\]\] number 1")):
        with pytest.raises(UnknownCategoryError, match=f"{of} of 'sex': {said}"):
            read_plan(SEQ + entry + '\n[codebook]\nsex = ["f", "m"]')


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"roof", "sex"]\nsens', '"rof", "sex"]\nsens', r"\[release\]: keys: the file has no column 'rof'"),
        ('within = "marital"', 'within = "maritla"', r"number 2: within: the file has no column 'maritla'"),
        ('id = "pid"', 'id = "person"', r"\[release\]: id: the file has no column 'person'"),
        ("[codebook]", '[codebook]\ncolour = ["red"]', r"\[codebook\]: the file has no column 'colour'"),
        ('age = ["child"]', 'agee = ["child"]', r"\[\[rule\]\] number 1: the file has no column 'agee'"),
    ],
)
def test_a_plan_names_columns_of_the_file(old: str, new: str, said: str) -> None:
    read_plan(WHOLE).check(COLUMNS)
    assert old in WHOLE
    with pytest.raises(PlanError, match=said) as caught:
        read_plan(WHOLE.replace(old, new)).check(COLUMNS)
    assert "did you mean" in caught.value.hint or "its columns" in caught.value.hint


def test_a_swap_takes_the_options_of_its_base_and_a_protection_the_match_of_the_release() -> None:
    swap = read_plan(SHORT + 'method = "swap"\nbase = "method1"\ntheta = 0.5').protections[0]
    assert (swap.method, swap.base.name, swap.options["theta"], swap.derived) == (
        "swap",
        "method1",
        Fraction(1, 2),
        True,
    )
    plan = read_plan('[release]\nkeys = "sex"\nmatch = 0.5\n' + SHORT + 'method = "lowered"')
    assert plan.match_of(plan.protections[0]) == Fraction(1, 2)
    own = read_plan('[release]\nkeys = "sex"\nmatch = 0.5\n' + SHORT + 'method = "lowered"\nmatch = 0.4')
    assert own.match_of(own.protections[0]) == Fraction(2, 5)


def test_k_is_a_limit_of_one_in_k() -> None:
    plan = read_plan('[release]\nkeys = "sex"\nk = 3\n' + SHORT + 'method = "lowered"')
    assert plan == read_plan('[release]\nkeys = "sex"\nmatch = "1/3"\n' + SHORT + 'method = "lowered"')
    assert (plan.match, read_plan(plan.to_toml())) == (Fraction(1, 3), plan)
    refusals = {
        "k = 3\nmatch = 0.2": r"match cannot be combined with k",
        "k = 1": r"\[release\]: k must be a whole number of 2 or more, not 1",
        "k = 2.5": r"\[release\]: k = 2\.5 is not a whole number",
    }
    for line, said in refusals.items():
        with pytest.raises(PlanError, match=said):
            read_plan(f'[release]\nkeys = "sex"\n{line}\n' + SHORT + 'method = "lowered"')


PAGES = ("docs/how-to/release-plan.md", "docs/how-to/from-sdcmicro.md", "docs/tutorials/release.md")
TOML = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_plans_in_the_documentation_can_be_read(root: Path, page: str) -> None:
    path = root / page
    for block in TOML.findall(path.read_text(encoding="utf-8")) if path.exists() else []:
        read_plan(block)


def test_every_entry_is_explained(root: Path) -> None:
    page = (root / PAGES[0]).read_text(encoding="utf-8")
    options = {key for entry in RELEASE_METHODS.values() for key in (*entry.option_names(), *entry.bounds, entry.name)}
    known = {*RELEASE_ENTRIES, *COMMON_ENTRIES, *options, "counts_from", "base"}
    known |= {"forbid", "steps", "never", "only", "order"}
    assert {
        key for key in known if f"`{key}`" not in page and f"`{key} = " not in page and f", {key} = " not in page
    } == set()


def test_moves_that_rules_allow_and_labels_found_by_their_text() -> None:
    steps = Steps("age", 2, ("a", "b", "c", "d"))
    assert [steps.allows("a", other) for other in "abcd"] == [True, True, True, False]
    assert steps.allows("refused", "refused") and not steps.allows("refused", "a")
    assert not steps.allows("a", "refused")
    never, only = Moves("x", (("a", "b"),)), Moves("x", (("a", "b"),), only=True)
    assert (never.allows("a", "b"), only.allows("a", "b")) == (False, True)
    assert (never.allows("b", "a"), only.allows("b", "a")) == (True, False) and never.allows("a", "a")
    assert only.allows("c", "c")
    rule = read_rule({"forbid": {"roof": [9, 2.0], "new": [True]}}, "rule")
    assert rule == Rule({"roof": ("9", "2"), "new": ("True",)})
    assert find_levels(["9", "2", "a", "true"], [9, 2.0, "a", True], "x") == [9, 2.0, "a", True]


def test_an_unknown_label_is_named_in_one_line_but_none_of_the_file() -> None:
    with quiet(UnknownCategoryError, match="exclude: 'refusd' is not a category", values="'refused', 'yes'") as found:
        find_levels(["refusd"], ["refused", "yes"], "exclude")
    assert "refused" not in found.value.hint
    assert unknown_label("refusd", ["refused"], "exclude", ["refused"]).hint == "did you mean 'refused'?"
    caught = refused(UnknownCategoryError, "", find_levels, ["x" * 500], list(range(100_000)), "exclude of 'code'")
    assert len(caught.message) <= MESSAGE and len(caught.hint) <= HINT

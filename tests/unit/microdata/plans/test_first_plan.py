"""Plans to start from, made from files with columns of every type: they work as they are, and say what was guessed."""

import random
from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from tests.support.quiet import refused

import maskwell as mw
from maskwell import ReleasePlan
from maskwell.core.cells import CellTable
from maskwell.errors import InfeasibleError, ParameterError, PlanError
from maskwell.microdata import Protection, true_file
from maskwell.microdata.assessment import assess_file
from maskwell.microdata.kept_bounds import check_kept
from maskwell.microdata.plans.column_guesses import guess_column
from maskwell.microdata.plans.key_choice import candidates_of, choose_keys, coarser_forms
from maskwell.microdata.plans.plan_drafts import Findings, starting_plan
from maskwell.microdata.plans.release_plan import read_plan
from maskwell.microdata.risk.intruders import INTRUDERS
from maskwell.verbs import first_plan
from maskwell.verbs import release as publish_module

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def written(columns: Mapping[str, object], folder: Path) -> str:
    path = folder / "people.parquet"
    parquet.write_table(pa.table(columns), path)
    return str(path)


def test_columns_of_which_nothing_can_be_said_are_not_published_and_too_many_categories_told(tmp_path: Path) -> None:
    odd = {"tags": pa.array([["a", "b"]] * 40), "photo": pa.array([b"\xff"] * 40), "ba\nd\x01\u2028": [{"x": 1}] * 40}
    path = written({**odd, "sex": ["f", "m"] * 20, "region": ["n", "n", "s", "s"] * 10}, tmp_path)
    text = first_plan(path)
    plan = read_plan(text)
    assert {*plan.drop} == {*odd}
    assert plan.keys == ("region", "sex")
    assert "Neither texts nor numbers nor dates" in text
    text = starting_plan([column("sex", "f", "m"), distinct("code", 120_000, step=3)])
    assert "Too many categories to randomize; group them" in text and "code (120,000 or more)" in text


def test_one_line_of_a_first_plan_sets_its_bound(tmp_path: Path) -> None:
    people = {"sex": ["f", "m"] * 39 + ["f", "x"], "region": ["n", "n", "s", "s"] * 19 + ["e", "n", "e", "s"]}
    path = written(people, tmp_path)
    text = first_plan(path, match="0.2")
    for bound in ("0.2", "0.1", "0.35"):
        plan = read_plan(text.replace("match = 0.2 ", f"match = {bound} "))
        assert (plan.protections[0].method, float(plan.match or 0)) == ("mixing", float(bound))
        release = assess_file(path, plan)
        check_kept(release)
        assert release.risk is not None and release.risk.before.max_risk == 1
    refused(ParameterError, "match must be strictly between 0 and 1, not 20", first_plan, path, match=20)
    with pytest.raises(InfeasibleError, match=r"1 of 1 cells have too few records \(80; match = 0.01 needs 100\)"):
        first_plan(path, match="0.01")


def test_what_it_suggests_in_comments_works_once_the_signs_are_off(tmp_path: Path) -> None:
    draw = random.Random(5)
    sizes = draw.choices((1, 2, 3, 4), k=300)
    houses = [house for house, size in enumerate(sizes) for _ in range(size)]
    regions = [draw.choice("abcd") for _ in sizes]
    people = {
        "hid": houses,
        "region": [regions[house] for house in houses],
        "sex": [draw.choice("fm") for _ in houses],
        "shoes": [draw.choice("xyz") for _ in houses],
        "age": [draw.randrange(90) for _ in houses],
        "weight": [1.1 + 3 * draw.random() for _ in houses],
    }
    path = written(people, tmp_path)
    text = first_plan(path, match="0.2")
    assert read_plan(text).unit is None
    assert {*read_plan(text).drop} == {"hid", "weight"}
    assert read_plan(text).recodes["age"].cuts
    assert "records for each value on average, alike in region" in text
    for line in ('unit = "hid"', "[recode.weight]", "round = 2"):
        assert f"\n# {line}" in text
        text = text.replace(f"\n# {line}", f"\n{line}")
    plan = read_plan(text.replace('    "weight",\n', "").replace("\nmissing", '\nweights = "weight"\nmissing'))
    release = assess_file(path, plan)
    check_kept(release)
    assert release.risk.units is not None
    assert (plan.unit, plan.weights, plan.drop) == ("hid", "weight", ("hid",))
    named = first_plan(path, keys="sex,age", match="0.2")
    assert read_plan(named).keys == read_plan(named).protections[0].variables == ("sex", "age")
    assert "\n# [recode.age]" in named
    assert "add it to keys" not in named
    assert "key variables, as they were named" in named
    check_kept(assess_file(path, read_plan(named)))
    refused(ParameterError, "keys must be one of .*, not 'hair'", first_plan, path, keys=["hair"])
    draw.shuffle(houses)
    assert "# unit" not in first_plan(written({**people, "hid": houses}, tmp_path))


def test_the_method_that_changes_fewer_records_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written({"sex": ["f", "m"] * 40, "region": ["n", "n", "s", "s"] * 20}, tmp_path)
    changes = {"mixing": 0.2, "inverse-frequency": 0.1}
    monkeypatch.setattr(publish_module, "_expected_changes", lambda _, method, __: changes[method])
    assert read_plan(first_plan(path)).protections[0].method == "inverse-frequency"
    with monkeypatch.context() as many:
        many.setattr(publish_module, "MOST_COMPARED", 3)
        assert read_plan(first_plan(path)).protections[0].method == "mixing"
    kept = Mock(side_effect=InfeasibleError("not kept"))
    monkeypatch.setattr(publish_module, "check_kept", kept)
    assert read_plan(first_plan(path)).protections[0].method == "mixing"


def test_what_would_help_is_told_where_cells_have_too_few_records(tmp_path: Path) -> None:
    people = {
        "sex": [*"fmfmfmfmfm"] * 4,
        "region": ["n"] * 20 + ["s"] * 20,
        "town": ["a"] * 18 + ["b", "c"] + ["a"] * 20,
    }
    protect = {"variables": ["sex"], "within": ["region", "town"], "method": "mixing"}
    plan = ReleasePlan.of([protect], keys=["sex", "region", "town"], match="0.2")
    with pytest.raises(
        InfeasibleError, match=r"2 of 4 cells have too few records \(1; match = 0.2 needs 5\)"
    ) as raised:
        assess_file(written(people, tmp_path), plan)
    assert raised.value.hint == "without 'town' in within each has 20 or more; or group 2 of its labels"
    assert raised.value.values == "town: b (1 records), c (1 records)"
    alone = ReleasePlan.of([{**protect, "variables": ["region"], "within": []}], keys=["region"], match="0.02")
    with pytest.raises(InfeasibleError, match="1 of 1 cells") as raised:
        assess_file(written(people, tmp_path), alone)
    assert raised.value.hint.startswith("allow a larger match")


def test_missing_keys_are_refused_before_any_matrix_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = {"sex": [*"fm"] * 40 + [None, "f"], "region": ["n", "n", "s", "s"] * 20 + ["n", None], "job": ["a"] * 82}
    path = written(people, tmp_path)

    def plan(missing: str, *variables: str, match: str = "0.2") -> ReleasePlan:
        protect = [Protection.of(variables, "mixing")]
        return ReleasePlan.of(protect, keys=["sex", "region"], match=match, missing=missing)

    check_kept(assess_file(path, plan("category", "sex", "region")))
    check_kept(assess_file(path, plan("unchanged", "sex", "region", match="1")))
    with monkeypatch.context() as none:
        none.setattr("maskwell.microdata.assessment.build_stages", Mock(side_effect=AssertionError("too late")))
        with pytest.raises(InfeasibleError, match="2 of 82 records have no value of sex, region") as raised:
            assess_file(path, plan("unchanged", "sex", "region"))
        with pytest.raises(InfeasibleError, match="1 of 82 records have no value of sex, are not changed"):
            assess_file(path, plan("unchanged", "sex"))
        with pytest.raises(AssertionError, match="too late"):  # nobody keeps these keys for a missing value
            assess_file(path, plan("unchanged", "job"))
    assert 'missing = "category"' in str(raised.value.hint)


class _Counted(str):
    """A name that counts how often it is looked up or compared."""

    looked_up = 0

    def __hash__(self) -> int:
        _Counted.looked_up += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        _Counted.looked_up += 1
        return super().__eq__(other)


def _looked_up(sensitive: int) -> int:
    before = _Counted.looked_up
    plan = ReleasePlan.of(
        [Protection.of(["region"], "mixing")],
        keys=["region"],
        match="0.3",
        sensitive=[_Counted(f"income{i}") for i in range(sensitive)],
    )
    assert len(true_file.compared_tables(plan)) == 1 + sensitive + min(sensitive, true_file.MOST_PAIRS)
    return _Counted.looked_up - before


def test_pairs_to_compare_are_looked_up_a_few_times_in_the_order_of_combinations() -> None:
    """Pairs of all columns were made to keep those with a randomized one: 50 million of 10,000 columns."""
    assert _looked_up(2_000) < 2.2 * _looked_up(1_000)
    plan = ReleasePlan.of(
        [Protection.of(["c", "e"], "mixing")], keys=["a", "c", "e"], sensitive=["b", "d"], match="0.3"
    )
    names = ["a", "c", "e", "b", "d"]
    pairs = [table for table in true_file.compared_tables(plan) if len(table) > 1]
    every = [pair for pair in combinations(names, 2) if {"c", "e"} & {*pair}]
    assert pairs == [*dict.fromkeys(true_file.closure(plan, pair) for pair in every)]


def column(name: str, *labels: Hashable, times: int = 50) -> CellTable:
    return CellTable.of([name], {(label,): times for label in labels})


def distinct(name: str, n: int, *, as_text: bool = False, step: int = 1) -> CellTable:
    """A column with n different values, made without asking for each."""
    levels: tuple[Hashable, ...] = tuple(f"v{i}" for i in range(n)) if as_text else tuple(range(0, step * n, step))
    codes = np.arange(n, dtype=np.int32).reshape(-1, 1)
    return CellTable((name,), (levels,), codes, np.ones(n, dtype=np.int64))


ROLES = {
    "few": [column("sex", "f", "m"), column("weight_class", "light", "heavy"), column("wgt", 0, 1)],
    "constant": [column("year", 2025)],
    "weights": [column("sampling_weight", 100), column("PWGTP", 1, 2, 3), column("WEIGHT", "112.7", "118.3")],
    "id": [distinct("pid", 100), distinct("person", 100)],
    "drop": [distinct("surname", 100, as_text=True), column("hid", *range(60), times=2)],
    "numbers": [distinct("expend", 100, step=7), column("bmi", *(i + 0.5 for i in range(88)), times=90)],
    "many": [column("age", *range(88), times=90), column("job", *(f"job {i}" for i in range(88)), times=90)],
}


def test_what_a_column_probably_is_and_which_are_keys() -> None:
    assert {role: [guess_column(table).role for table in tables] for role, tables in ROLES.items()} == {
        role: [role] * len(tables) for role, tables in ROLES.items()
    }
    assert guess_column(column("weight", 60, 70, None)).role == "few"
    assert guess_column(distinct("code", 100_000, step=3)).role == "many"
    assert guess_column(column("weight", 60, 70), bodies=True).role == "few"
    assert "Survey weights" not in starting_plan([column("weight", 60, 70), column("height", 170, 180)])
    assert guess_column(column("weight", 60, 70)).role == "weights"
    known = [column(name, *range(5), times=40) for name in ("sex", "region", "marital", "race", "educ", "nation")]
    assert chosen(column("odd", 1, 2, 3, 4, times=50), *known) == ["region", "sex"]  # a third would leave few a cell
    assert chosen(column("odd", 1, 2), column("other", 1, 2)) == ["odd", "other"]


def chosen(*tables: CellTable) -> list[str]:
    candidates = candidates_of(tables, [guess_column(table) for table in tables])
    return [*choose_keys(candidates, None, tables[0].n).forms]


def test_the_plan_can_be_read_and_fits_the_file_with_sensitive_values_and_odd_names() -> None:
    tables = [
        column("sex", "f", "m"),
        column("region", "north", "south"),
        column("income class", "low", "high"),
        column("design_weight", 1, 2),
        distinct("pid", 100),
        distinct("email", 100, as_text=True),
        distinct("income", 100, step=3),
    ]
    text = starting_plan(tables, path="folder/people.csv")
    plan = read_plan(text)
    plan.check([table.columns[0] for table in tables])
    assert plan.keys == plan.protections[0].variables == ("region", "sex", "income class")
    assert (plan.weights, plan.id, plan.drop, plan.match) == ("design_weight", "pid", ("email",), plan.match)
    assert "maskwell release people.csv --plan plan.toml" in text
    assert max(map(len, text.splitlines())) <= 100
    tables = [column(name, "a", "b", times=10) for name in ("sex", "region", "marital", "race")]
    text = starting_plan([*tables, column("smokes", *map(str, range(20)), times=1)])
    assert read_plan(text).sensitive == ("smokes",)
    head, example = text.split("uncomment these lines:\n")
    assert read_plan(head + "\n" + example.replace("# ", "")).protections[1].variables == ("smokes",)
    odd = "o\x01\nd\x85\u2028d\x7f"
    tables = [column("sex", "f", "m"), column("region", "n", "s"), distinct(odd, 100, step=3), column("k" + odd, "c")]
    text = starting_plan(tables, findings=Findings(revealing={"k" + odd: f"{odd} reveals sex"}, others=("l" + odd,)))
    assert {*read_plan(text).drop} == {"k" + odd, "l" + odd}
    assert read_plan(starting_plan([column("sex" + odd, "f", "m")])).keys == ("sex" + odd,)


def test_too_many_categories_and_none_are_told_what_to_do() -> None:
    text = starting_plan([column("sex", "f", "m"), distinct("code", 120_000, step=3)])
    assert "Too many categories to randomize; group them" in text
    assert "code (120,000 or more)" in text
    with pytest.raises(PlanError, match=r"no column of texts\.csv can be a key variable") as caught:
        starting_plan([distinct("story", 100, as_text=True), column("year", 2025)], path="texts.csv")
    assert "group values into classes" in caught.value.hint


NAMES = {
    "region": "Region REGION wohnort Bundesland departement_code provincia comune gemeente municipio zip.code urbrur",
    "age": "age AGE AGEP agegr birthYear year_of_birth Geburtsjahr annee.naissance edad eta leeftijd idade resp_age",
    "sex": "sex SEX Gender respondentGender Geschlecht sexe sexo sesso geslacht rb090 sex_1",
    "citizenship": "citizenship nationality countryOfBirth Staatsangehoerigkeit pays.de.naissance nacionalidad pais",
    "ethnicity": "race RAC1P ethnicity ETNI HISP etnia mother_tongue",
    "marital": "marital maritalStatus MARSTAT Familienstand etat_civil estado_civil stato.civile burgerlijke_staat",
    "household": "hsize hh_size household.size Haushaltsgroesse tailleMenage numPersons children",
    "education": "education EDUC1 edu highest_degree Bildung opleiding istruzione escolaridade isced11",
    "occupation": "occupation job Beruf profession occupazione beroep profissao isco08 workclass ecoStat nace_2",
}
NO_KEYS = "rate_marriage hoursPaid stage package agency sexual_health income weight selfLR vote x1 sector_income_tax"


def test_keys_are_known_by_names_in_seven_languages() -> None:
    found = {name: guess_column(column(name, "a", "b", "c")).topic for name in " ".join(NAMES.values()).split()}
    assert found == {name: topic for topic, names in NAMES.items() for name in names.split()}
    assert {name: guess_column(column(name, "a", "b")).topic for name in NO_KEYS.split()} == dict.fromkeys(
        NO_KEYS.split()
    )


def test_keys_are_known_by_their_values() -> None:
    labels = {"q1": ("m", "f"), "q2": ("Maennlich", "weiblich"), "q3": ("hombre", "mujer"), "q4": ("yes", "no")}
    assert [guess_column(column(name, *values)).topic for name, values in labels.items()] == ["sex", "sex", "sex", None]
    assert guess_column(column("q5", "AT", "DE", "IT", "Other")).topic == "citizenship"
    assert guess_column(column("q5", "AUT", "DEU", "ITA")).topic == "citizenship"
    assert guess_column(column("q5", "AA", "BB", "CC")).topic is None
    assert guess_column(column("q6", "ledig", "verheiratet", "unbekannt")).topic == "marital"


def test_zeros_of_two_signs_and_float_noise_are_one_value() -> None:
    assert guess_column(column("income", "0.0", "-0.0")).role == "constant"
    assert guess_column(column("x", "0.3", "0.30000000000000004", "1", "1.0")).labels == 2
    assert guess_column(column("x", 0.3, 0.1 + 0.2, -0.0)).labels == 2
    income = column("capital", "0.0", "-0.0", times=60)
    people = [column("sex", "f", "m", times=60), column("region", "n", "s", times=60)]
    assert read_plan(starting_plan([income, *people])).keys == ("region", "sex")
    noisy = column("shoes", "0.3", "0.30000000000000004", "1.5", "-0.0", "0", times=24)
    plan = read_plan(starting_plan([noisy, *people]))
    assert (plan.keys[2], plan.recodes["shoes"].step) == ("shoes", Fraction(1, 10))
    assert {plan.recodes["shoes"].value(x) for x in ("0.3", "0.30000000000000004", "-0.0", "0")} == {"0.3", "0"}


def test_ids_and_weights_are_chosen_by_name_uniqueness_and_range() -> None:
    people = [column("sex", "f", "m", times=60), column("region", "n", "s", times=60)]
    weights = [
        column("hh_weight", 10, 20, times=60),
        column("design_weight", 4, times=120),
        column("final_wgt", 2, 3, 5, times=40),
        column("wgt0", 0, 7, times=60),
        column("hoursPaid", *range(60), times=2),
    ]
    text = starting_plan([*people, *weights, distinct("serial", 120), distinct("hhid", 120, step=7)])
    plan, told = read_plan(text), " ".join(text.replace("#", " ").split())
    assert (plan.weights, plan.id, plan.drop) == ("final_wgt", "serial", ("hhid",))
    assert "final_wgt, by its name; 3 values from 2 to 5; also named like weights: design_weight (always 4)" in told
    assert "hh_weight (2 values from 10 to 20, of households), wgt0 (2 values from 0 to 7: weights must be" in told
    assert "serial is different in every record; so are hhid" in told


def survey(n: int = 1500) -> dict[str, list[object]]:
    """A fine region, an age in years, rare nationalities, ids, secrets, and a column that reveals another."""
    draw = random.Random(11)
    region = [draw.choices(range(100, 140), weights=range(1, 41))[0] for _ in range(n)]
    return {
        "serial": [7 * i + 3 for i in range(n)],
        "income": [round(draw.lognormvariate(10, 1), 2) for _ in range(n)],
        "citizenship": draw.choices(
            ["AT", "DE", "IT", "XK", *(f"c{i}" for i in range(30))], [90, 20, 9, *[0.1] * 31], k=n
        ),
        "sex": draw.choices("fm", k=n),
        "climate": [(code * 37) % 101 + 0.5 for code in region],
        "age": [draw.randrange(16, 95) for _ in range(n)],
        "region": region,
        "smokes": draw.choices(["yes", "no"], [1, 3], k=n),
        "hobby": draw.choices("abcd", k=n),
        "wgt": [1 + round(4 * draw.random(), 1) for _ in range(n)],
    }


def test_fine_keys_are_proposed_in_coarser_forms(tmp_path: Path) -> None:
    path = written(survey(), tmp_path)
    text = first_plan(path)
    plan, told = read_plan(text), " ".join(text.replace("#", " ").split())
    assert plan.keys == plan.protections[0].variables == ("region", "sex", "age", "citizenship")
    assert {cut % 10 for cut in plan.recodes["age"].cuts} == {0}
    assert plan.recodes["region"].cuts and plan.recodes["citizenship"].other == "other"
    assert {*plan.recodes["citizenship"].group} <= {"AT", "DE", "IT"}
    assert (plan.id, plan.weights, plan.sensitive) == ("serial", "wgt", ("smokes",))
    for said in (
        "where the person lives, by its name",
        "% of the records are unique on them",
    ):
        assert said in told
    release = assess_file(path, plan)
    check_kept(release)
    assert not [one for one in release.side_channels if one.refused]


def test_classes_are_of_amounts_and_not_of_a_few_codes() -> None:
    labels = {str(label): 100 // (label + 1) for label in range(12)}
    sizes, codes = (CellTable.of([name], {(x,): n for x, n in labels.items()}) for name in ("hh_size", "relate"))
    forms = [[*coarser_forms(guess_column(table), table)] for table in (sizes, codes)]
    assert all(form.recode.cuts for form in forms[0]) and not any(form.recode.cuts for form in forms[1])
    assert [form.recode.other for form in forms[1]] == ["other"] * len(forms[1]) != []


def test_whatever_is_dropped_has_a_form_to_uncomment_that_works(tmp_path: Path) -> None:
    path = written(survey(), tmp_path)
    text = first_plan(path)
    dropped = [name for name in read_plan(text).drop if name != "serial"]
    assert "income" in dropped
    for name in dropped:
        head, _, lines = text.partition(f"\n# [recode.{name}]\n")
        assert lines, name
        again = f"{head}\n[recode.{name}]\n{lines.replace('# ', '', 1)}".replace(f'    "{name}",\n', "")
        if "randomize it with the keys" not in head.rpartition("\n\n")[2]:
            check_kept(assess_file(path, read_plan(again)))


def test_the_order_of_columns_and_rows_changes_no_proposal(tmp_path: Path) -> None:
    people = survey(600)
    first = read_plan(first_plan(written(people, tmp_path)))
    draw = random.Random(3)
    order, names = list(range(600)), [*people]
    draw.shuffle(order)
    draw.shuffle(names)
    again = read_plan(first_plan(written({name: [people[name][i] for i in order] for name in names}, tmp_path)))
    assert {*first.drop} == {*again.drop} and {*first.sensitive} == {*again.sensitive}
    plans = [replace(one, drop=(), sensitive=()) for one in (first, again)]
    assert plans[0] == plans[1]


def test_missing_keys_become_a_category_and_k_is_a_limit(tmp_path: Path) -> None:
    people = {"sex": ["f", "m", None] * 40, "region": ["n", "s"] * 60}
    path = written(people, tmp_path)
    text = first_plan(path, k=5)
    plan = read_plan(text)
    assert (plan.missing, plan.match) == ("category", Fraction(1, 5))
    assert "\nk = 5  # match = 1/5: no record may be matched correctly with a probability above 0.2" in text
    assert "(or k = 4)" in first_plan(path, match="0.25")
    assert read_plan(first_plan({"sex": ["f", "m"] * 30})).missing == "unchanged"
    for limits, said in (
        ({"k": 5, "match": "0.2"}, "cannot be combined with"),
        ({"k": 1}, "2 or more"),
        ({"k": 2.5}, "2 or"),
    ):
        refused(ParameterError, said, first_plan, path, **limits)


@pytest.mark.parametrize("rows", [3, 30])
def test_many_columns_are_looked_at_in_time(rows: int) -> None:
    """The work for each column is bounded: thousands of columns took minutes."""
    columns = {f"c{i}": [f"v{(i * j) % 3}" for j in range(rows)] for i in range(400)}
    assert read_plan(first_plan(columns, match="0.9")).keys


def test_a_first_plan_has_only_settings_that_the_risk_command_takes_too() -> None:
    people = {"sex": ["f", "m"] * 40 + ["x"], "region": ["n", "n", "s", "s"] * 20 + ["n"], "shoes": [*"abc"] * 27}
    plan = read_plan(first_plan(people))
    assert plan.intruder in INTRUDERS
    for intruder in INTRUDERS:
        mw.risk(people, plan.keys, intruder=intruder, match=plan.match)

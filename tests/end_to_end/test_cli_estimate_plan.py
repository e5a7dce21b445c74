"""``maskwell estimate`` with a sampling plan, domains, groups, formats and pictures."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from tests.support.command_line import design_file, refused, run

ROWS = """region,town,sex,w,size,r1,r2,answer
north,1,f,10,60,0,20,yes
north,1,m,10,60,0,20,no
north,2,f,12,60,24,0,no
north,2,m,12,60,24,0,yes
south,1,f,8,40,8,8,no
south,1,m,8,40,8,8,yes
south,3,f,9,40,9,9,no
south,3,f,9,40,9,9,no
"""
PLAN = ("--weights", "w", "--strata", "region", "--clusters", "town")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(ROWS, encoding="utf-8")
    design_file("w.json", "warner", "--p", "0.7")


def estimate(*options: str) -> dict[str, object]:
    return run("estimate", "rows.csv", "--design", "answer=w.json", *options, "--json").json()


def test_a_picture_of_domains() -> None:
    run("estimate", "rows.csv", "--design", "answer=w.json", "--weights", "w", "--by", "sex", "--plot", "sex.svg")
    drawn = Path("sex.svg").read_text(encoding="utf-8")
    written = {" ".join(text.split()) for text in re.findall(r">([^<]+)</text>", drawn)}
    assert {"all", "f", "m", "Share of yes, %", "95 % matched interval, as randomized"} <= written


def test_weights_strata_and_clusters() -> None:
    found = estimate(*PLAN, "--interval", "wald")
    yes = found["estimates"][0]  # type: ignore[index]
    lam = (10 + 12 + 8) / 78
    assert yes["estimate"] == pytest.approx((lam - 0.3) / 0.4)
    assert yes["total"] == pytest.approx(78 * (lam - 0.3) / 0.4)
    assert (found["population"], found["degrees_of_freedom"], found["n"]) == (78, 2, 8)
    assert "4 clusters, 2 strata" in str(found["plan"])
    u = {"yes": 0.7 / 0.4, "no": -0.3 / 0.4}
    rows = [line.split(",") for line in ROWS.splitlines()[1:]]
    totals: dict[tuple[str, str], float] = {}
    for region, town, _, w, _, _, _, answer in rows:
        totals[region, town] = totals.get((region, town), 0.0) + float(w) * (u[answer] - yes["estimate"])
    spread = 0.0
    for region in ("north", "south"):
        own = [total for (where, _), total in totals.items() if where == region]
        mean = sum(own) / 2
        spread += 2 * sum((x - mean) ** 2 for x in own)
    assert yes["standard_error"] == pytest.approx(spread**0.5 / 78)
    half = 4.30265 * yes["standard_error"]  # t with 2 degrees of freedom
    assert yes["interval"] == pytest.approx([yes["estimate"] - half, yes["estimate"] + half], rel=1e-5)


def test_domains_are_shown_and_listed() -> None:
    found = estimate(*PLAN, "--by", "sex")
    assert [one["domain"] for one in found["domains"]] == ["f", "m"]  # type: ignore[attr-defined]
    assert sum(one["n"] for one in found["domains"]) == 8  # type: ignore[attr-defined]
    said = run("estimate", "rows.csv", "--design", "answer=w.json", *PLAN, "--by", "sex").out
    assert "By sex, share of yes:" in said
    assert "In numbers, of 78:" in said
    assert max(map(len, said.splitlines())) <= 100


def test_one_population_for_all_strata_is_divided_by_the_weights() -> None:
    found = estimate("--weights", "w", "--strata", "region", "--population", "78")
    Path("rows.csv").write_text(ROWS.replace(",60,", ",44,").replace(",40,", ",34,"), encoding="utf-8")
    by_column = estimate("--weights", "w", "--strata", "region", "--population", "size")
    assert found["estimates"] == by_column["estimates"]
    assert "without replacement" in str(found["plan"])
    for options in (("--weights", "w", "--population", "100"), ("--population", "78")):
        refused(
            "estimate",
            "rows.csv",
            "--design",
            "answer=w.json",
            "--strata",
            "region",
            *options,
            saying="--population COL",
        )


def test_replicates() -> None:
    plan = ("--weights", "w", "--strata", "region", "--replicates", "r", "--replicate-method", "jkn")
    rows = ROWS.replace("region,town,sex,w,size,r1,r2,", "region,town,sex,w,size,r1,r2,r3,r4,").splitlines()
    tail = {"north,1": "10,10", "north,2": "12,12", "south,1": "0,16", "south,3": "18,0"}
    made = [rows[0]] + [",".join([*line.split(",")[:7], tail[line[:7]], line.split(",")[7]]) for line in rows[1:]]
    Path("rep.csv").write_text("\n".join(made) + "\n", encoding="utf-8")
    found = run("estimate", "rep.csv", "--design", "answer=w.json", *plan, "--json").json()
    clusters = estimate(*PLAN)
    error = clusters["estimates"][0]["total_standard_error"]  # type: ignore[index]
    assert found["estimates"][0]["total_standard_error"] == pytest.approx(error)
    refused("estimate", "rep.csv", "--design", "answer=w.json", "--replicates", "r", saying="--replicate-method")
    refused("estimate", "rep.csv", "--design", "answer=w.json", "--replicate-method", "brr", saying="--replicates")
    refused(
        "estimate",
        "rep.csv",
        "--design",
        "answer=w.json",
        "--replicates",
        "z",
        "--replicate-method",
        "brr",
        saying="'z'",
    )


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (("--weights", "w", "--inclusion", "w"), "weights and inclusion say the same thing twice"),
        (("--inclusion", "w"), "percentages"),
        (("--poisson",), "--inclusion"),
        (("--fay", "0.3"), "--replicate-method fay"),
        (("--weights", "sex"), "no number"),
        (("--strata", "w", "--clusters", "town", "--population", "3"), "--population COL"),
        (("--weights", "w", "--method", "ml", "--by", "sex"), "moments"),
        (("--weights", "w", "--interval", "exact"), "matched"),
        (("--by", "age"), "no column 'age'"),
        (("--level", "95"), "level"),
    ],
)
def test_refusals(options: tuple[str, ...], saying: str) -> None:
    refused("estimate", "rows.csv", "--design", "answer=w.json", *options, saying=saying)


def test_a_lonely_stratum_is_refused_unless_said_what_to_do() -> None:
    Path("rows.csv").write_text(ROWS + "west,9,f,5,30,5,5,yes\n", encoding="utf-8")
    refused(
        "estimate", "rows.csv", "--design", "answer=w.json", *PLAN, saying="only one cluster was drawn", values="'west'"
    )
    sure, centre = (estimate(*PLAN, "--lonely", how) for how in ("certainty", "centre"))
    errors = [one["estimates"][0]["standard_error"] for one in (sure, centre)]  # type: ignore[index]
    assert errors[0] != pytest.approx(errors[1])


@pytest.mark.parametrize("style", ["md", "latex", "csv"])
def test_tables_to_paste(style: str) -> None:
    plain = run("estimate", "rows.csv", "--design", "answer=w.json", "--format", style).out
    by = run("estimate", "rows.csv", "--design", "answer=w.json", *PLAN, "--by", "sex", "--format", style).out
    assert "yes" in plain
    if style == "csv":  # which keeps all digits; three of eight said yes
        assert float(plain.splitlines()[1].split(",")[1]) == pytest.approx(0.1875)
    else:
        assert "0.188" in plain
    for label in ("f", "m", "all"):
        assert any(line.lstrip("| ").startswith(label) for line in by.splitlines()), by
    refused("estimate", "rows.csv", "--design", "answer=w.json", "--format", "docx", saying="docx")


def test_a_table_for_word_is_a_page() -> None:
    page = run("estimate", "rows.csv", "--design", "answer=w.json", "--format", "html").out
    assert page.startswith("<!DOCTYPE html>") and ">0.188</td>" in page and page.count("<table") == 1
    assert "simple random sample" in page and "Randomized by answer: warner, p = 7/10." in page


def test_json_and_a_format_are_two_answers() -> None:
    said = run("estimate", "rows.csv", "--design", "answer=w.json", "--format", "md", "--json", status=2)
    assert said.json()["error"]["code"] == "bad_parameter"


@pytest.mark.parametrize("options", [(), ("--direct", "sex"), (*PLAN, "--by", "sex")])
def test_a_csv_table_has_all_digits(options: tuple[str, ...]) -> None:
    args = ("estimate", "rows.csv", "--design", "answer=w.json", *options)
    rows = list(csv.DictReader(run(*args, "--format", "csv").out.splitlines()))
    found = run(*args, "--json").json()
    exact = [one["estimates"][0] for one in (*found["domains"], found)] if "--by" in options else found["estimates"]
    assert [float(row["estimate"]) for row in rows] == [one["estimate"] for one in exact]
    assert [float(row["95 % high"]) for row in rows] == [one["interval"][1] for one in exact]


def test_a_table_with_a_directly_asked_column() -> None:
    found = run("estimate", "rows.csv", "--design", "answer=w.json", "--direct", "sex", "--json").json()
    assert [row["category"] for row in found["estimates"]] == [["yes", "f"], ["yes", "m"], ["no", "f"], ["no", "m"]]
    women = sum(row["estimate"] for row in found["estimates"] if row["category"][1] == "f")
    assert women == pytest.approx(5 / 8)


def test_groups_with_designs_of_their_own() -> None:
    design_file("w2.json", "warner", "--p", "0.8")
    designs = ("--design", "answer[region=north]=w.json", "--design", "answer[region=south]=w2.json")
    found = run("estimate", "rows.csv", *designs, *PLAN, "--by", "region", "--json").json()
    north, south = (one["estimates"][0]["estimate"] for one in found["domains"])
    assert north == pytest.approx((22 / 44 - 0.3) / 0.4)
    assert south == pytest.approx((8 / 34 - 0.2) / 0.6)
    assert found["estimates"][0]["estimate"] == pytest.approx((44 * north + 34 * south) / 78)
    refused("estimate", "rows.csv", "--design", "answer[region=north]=w.json", saying="no design", values="'south'")
    refused("estimate", "rows.csv", "--design", "answer[region=]=w.json", saying="names no group")
    refused("randomize", "rows.csv", *designs, "-o", "out.csv", saying="some rows only")


@pytest.mark.parametrize("value", ["b, y", 'say "b"', "b]", "b=y"])
def test_groups_whose_labels_need_quotes(value: str) -> None:
    quoted = '"' + value.replace('"', '""') + '"'
    with Path("odd.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("answer", "region"), *[("yes", value), ("no", "a"), ("no", value), ("yes", "a")]])
    designs = ("--design", f"answer[region={quoted}]=w.json", "--design", "answer[region=a]=w.json")
    assert run("estimate", "odd.csv", *designs).out.startswith("answer = yes: 0.5")


@pytest.mark.parametrize("typed", ['answer[region="b]=w.json', 'answer[region="b" c]=w.json'])
def test_quotes_of_groups_are_closed(typed: str) -> None:
    refused("estimate", "rows.csv", "--design", typed, saying="a quote that is not closed, or text after one")


def test_two_variables_make_a_table() -> None:
    said = run("estimate", "rows.csv", "--design", "answer=w.json", "--direct", "sex").out
    assert "answer \\ sex" in said
    assert "sex given answer" in said
    assert "Odds ratio" not in said and "1 odds ratio left out" in said  # eight reports tell nothing about it
    assert "Independence of answer and sex" in said
    assert "parities multiply" not in said  # only one of them is a report
    assert max(map(len, said.splitlines())) <= 100
    found = run("estimate", "rows.csv", "--design", "answer=w.json", "--direct", "sex", *PLAN, "--json").json()
    assert found["independence"][0]["variables"] == ["answer", "sex"]
    assert {"conditionals", "odds_ratios"} <= set(found)
    pasted = run("estimate", "rows.csv", "--design", "answer=w.json", "--direct", "sex", "--format", "md").out
    assert pasted.startswith("answer x sex")


DESIGN = ("--design", "answer=w.json")


def unrelated() -> tuple[str, ...]:
    """Designs of two samples whose share of unrelated answers is not known."""
    for number, p in ((1, "3/4"), (2, "1/4")):
        design_file(f"s{number}.json", "simmons", "--p", p)
    return ("--design", "answer[town=1]=s1.json", "--design", "answer[town=2]=s2.json")


def test_samples_that_tell_the_shares_only_together() -> None:
    designs = unrelated()
    Path("rows.csv").write_text(ROWS.replace("south,3", "south,2"), encoding="utf-8")
    plan = ("--weights", "w", "--strata", "region", "--clusters", "town")
    found = run("estimate", "rows.csv", *designs, *plan, "--by", "sex", "--json").json()
    lam = [(10 + 8) / 36, 12 / 42]
    assert found["estimates"][0]["category"] == ["own answer", "yes"]
    assert found["estimates"][0]["estimate"] == pytest.approx(1.5 * lam[0] - 0.5 * lam[1])
    assert [one["domain"] for one in found["domains"]] == ["f", "m"]
    assert "Randomization makes up" not in run("estimate", "rows.csv", *designs, *plan).out
    refused("estimate", "rows.csv", *designs, "--population", "500", saying="leave --population out")
    refused("estimate", "rows.csv", *designs, "--weights", "w", "--poisson", saying="leave --poisson out")


@pytest.mark.parametrize("method", ["moments", "ml"])
def test_domains_without_a_plan_are_those_of_filtered_files(method: str) -> None:
    found = estimate("--by", "sex", "--method", method)
    whole = estimate("--method", method)
    for name in ("n", "method", "estimates", "interval_method", "covariance", "flags"):
        if name == "estimates":
            for one, other in zip(found[name], whole[name], strict=True):  # type: ignore[call-overload]
                assert {key: one[key] for key in other} == other
        else:
            assert found[name] == whole[name]
    for domain in found["domains"]:  # type: ignore[attr-defined]
        lines = [line for line in ROWS.splitlines() if line.split(",")[2] in ("sex", domain["domain"])]
        Path("part.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        part = run("estimate", "part.csv", *DESIGN, "--method", method, "--json").json()
        assert domain["covariance"] == part["covariance"]
        assert [row["interval"] for row in domain["estimates"]] == [row["interval"] for row in part["estimates"]]
    assert estimate("--by", "sex", "--interval", "exact")["interval_method"] == "exact"


@pytest.mark.parametrize("option", ["--by", "--strata", "--clusters"])
def test_reports_are_no_groups(option: str) -> None:
    refused("estimate", "rows.csv", *DESIGN, option, "answer", saying="--design for each column")
    refused("estimate", "rows.csv", *DESIGN, "--weights", "answer", saying="holds randomized reports")


def test_a_jackknife_without_strata() -> None:
    one = "w,r1,r2,r3,answer\n4,0,6,6,yes\n4,6,0,6,no\n6,9,9,0,no\n"
    Path("jk.csv").write_text(one, encoding="utf-8")
    plan = ("--weights", "w", "--replicates", "r", "--replicate-method", "jkn")
    found = run("estimate", "jk.csv", *DESIGN, *plan, "--json").json()
    assert any("taken from the replicate weights" in flag for flag in found["flags"])
    totals = [(4 + 6) * 1.5, (4 + 6) * 1.5, (4 + 4) * 1.5]
    yes = [0, 6, 6]
    share = [(y / t - 0.3) / 0.4 for y, t in zip(yes, totals, strict=True)]
    centre = (4 / 14 - 0.3) / 0.4
    error = (sum((x - centre) ** 2 for x in share) * 2 / 3) ** 0.5
    assert found["estimates"][0]["standard_error"] == pytest.approx(error)
    Path("jk.csv").write_text(one.replace("6,9,9,0", "6,13,9,0"), encoding="utf-8")
    refused("estimate", "jk.csv", *DESIGN, *plan, saying="--strata")


def test_the_strata_of_a_jackknife_are_seen_in_its_weights() -> None:
    rows = "h,w,r1,r2,r3,r4,answer\na,2,0,4,2,2,yes\na,3,6,0,3,3,no\nb,4,4,4,0,8,no\nb,5,5,5,10,0,yes\n"
    Path("jk.csv").write_text(rows, encoding="utf-8")
    plan = ("--weights", "w", "--replicates", "r", "--replicate-method", "jkn")
    told, seen = (run("estimate", "jk.csv", *DESIGN, *plan, *more, "--json").json() for more in (("--strata", "h"), ()))
    assert seen["covariance"] == told["covariance"]


def test_the_factor_of_fay_is_seen_in_the_weights() -> None:
    rows = "w,r1,r2,answer\n2,3.4,0.6,yes\n3,0.9,5.1,no\n4,6.8,1.2,no\n5,1.5,8.5,yes\n"
    Path("fay.csv").write_text(rows, encoding="utf-8")
    plan = ("--weights", "w", "--replicates", "r", "--replicate-method", "fay")
    told, seen = (run("estimate", "fay.csv", *DESIGN, *plan, *more, "--json").json() for more in (("--fay", "0.3"), ()))
    assert seen["covariance"] == told["covariance"]
    Path("fay.csv").write_text(rows.replace("8.5", "15"), encoding="utf-8")
    refused("estimate", "fay.csv", *DESIGN, *plan, saying="--fay 0.3")


def test_hints_speak_of_options() -> None:
    Path("rows.csv").write_text(ROWS + "west,9,f,5,30,5,5,yes\n", encoding="utf-8")
    refused("estimate", "rows.csv", *DESIGN, *PLAN, saying="--lonely certainty")
    refused("estimate", "rows.csv", *DESIGN, *PLAN, "--poisson", saying="leave out --poisson")
    for size in ("-5", "0"):
        refused("estimate", "rows.csv", *DESIGN, "--population", size, saying="give 1 or more")


def test_rows_without_a_domain_are_left_out_and_said_so() -> None:
    Path("rows.csv").write_text(ROWS.replace("north,2,m", "north,2,"), encoding="utf-8")
    refused("estimate", "rows.csv", *DESIGN, "--by", "sex", saying="--missing drop")
    said = run("estimate", "rows.csv", *DESIGN, "--by", "sex", "--missing", "drop").out
    assert "1 of 8 rows had no report or no value of sex and was left out" in said


def test_two_columns_of_domains_are_two_columns_of_the_table() -> None:
    options = ("--by", "sex,region", "--format")
    lines = run("estimate", "rows.csv", *DESIGN, *PLAN, *options, "csv").out.splitlines()
    assert lines[0].startswith("sex,region,reports,estimate,")
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["f", "north", "2"], ["f", "south", "3"], ["m", "north", "2"], ["m", "south", "1"], ["all", "all", "8"]
    ]  # fmt: skip
    shown = run("estimate", "rows.csv", *DESIGN, *PLAN, *options, "md").out
    assert "| f   | north  |" in shown
    assert "variance as for clusters drawn with replacement" in shown
    assert "{llrrrrrr}" in run("estimate", "rows.csv", *DESIGN, *PLAN, *options, "latex").out


def test_remarks_about_single_domains_are_shown() -> None:
    Path("rows.csv").write_text(ROWS.replace("m,8,40,8,8,yes", "m,8,40,8,8,no"), encoding="utf-8")
    said = run("estimate", "rows.csv", *DESIGN, "--weights", "w", "--by", "region").out
    assert "note: region = south: 2 of 2 standard errors are those of the randomization alone" in said
    Path("rows.csv").write_text(ROWS.replace("south,3", "south,2"), encoding="utf-8")
    said = run("estimate", "rows.csv", *unrelated(), "--by", "town").out
    assert "note: town = 1, 2: the samples that have rows here do not tell the shares" in said
    assert said.count("each on its own") == 1


def test_samples_of_different_people_reveal_no_more_together() -> None:
    Path("rows.csv").write_text(ROWS.replace("south,3", "south,2"), encoding="utf-8")
    said = run("estimate", "rows.csv", *unrelated(), "--weights", "w", "--by", "town").out
    assert "parities multiply" not in said
    assert "note: every town: " not in said
    assert "note: town = 1, 2: the samples that have rows here do not tell the shares" in said
    assert "no interval where" not in said


def test_parts_of_a_variance_that_cannot_be_separated_have_no_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    design_file("cards.json", "warner", "--p", "0.7")
    rows = ["north,1,10,yes", "north,1,10,no", "north,2,10,no", "north,2,10,no", "north,3,10,yes", "north,3,10,no"]
    rows += ["south,1,12,no", "south,1,12,yes", "south,2,12,no", "south,2,12,no", "south,3,12,no", "south,3,12,yes"]
    Path("survey.csv").write_text("\n".join(["region,town,weight,answer", *rows]) + "\n", encoding="utf-8")
    plan = ["--weights", "weight", "--strata", "region", "--clusters", "town"]
    shown = run("estimate", "survey.csv", "--design", "answer=cards.json", *plan).out
    assert "cannot be separated" in shown
    assert "Randomization makes up" not in shown

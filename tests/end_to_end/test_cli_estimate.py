"""``maskwell estimate``: tables, quantities, sampling plans, domains, groups, formats."""

import csv
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from tests.support.command_line import design_file, refused, run

from maskwell.estimation.share_intervals import METHODS


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize("bad", ["x", "-1", "1.5", "", "1" * 30])
def test_bad_counts(bad: str) -> None:
    write("c.csv", f"answer,n\nyes,100\nno,{bad}\n")
    said = refused("estimate", "c.csv", *DESIGN, "--counts", "n", saying="'n'", kind="bad_report")
    assert "in row 2" in said and "arrow" not in said.lower()
    assert "int64" not in said
    refused("estimate", "c.csv", *DESIGN, "--counts", "m", saying="no column 'm'")


def test_what_people_see() -> None:
    write("c.csv", "answer,n\nyes,120\nno,180\n")
    lines = run("estimate", "c.csv", *DESIGN, "--counts", "n").out.splitlines()
    assert lines[0] == "answer = yes: 0.250 (95 % score interval 0.115 to 0.391; 300 reports)."
    assert lines[1].split() == ["answer", "estimate", "std.", "error", "from", "to"]
    assert lines[2].split() == ["yes", "0.250", "0.071", "0.115", "0.391"]
    assert lines[2].index(".") == lines[3].index(".")
    assert lines[-1].startswith("Next: ")
    assert "Randomization makes up 87 % of the variance, sampling the rest." in lines
    assert max(map(len, lines)) <= 100


def test_a_joint_table() -> None:
    design_file("k.json", "k-ary", "--categories", "a,b,c", "--gamma", "5")
    write("r.csv", "x,y\n" + "yes,a\n" * 40 + "no,b\n" * 50 + "no,c\n" * 10)
    found = run("estimate", "r.csv", "--design", "x=w.json", "--design", "y=k.json", "--json").json()
    assert found["variables"] == ["x", "y"]
    assert [row["category"] for row in found["estimates"][:2]] == [["yes", "a"], ["yes", "b"]]
    assert sum(row["estimate"] for row in found["estimates"]) == pytest.approx(1)
    shown = run("estimate", "r.csv", "--design", "x=w.json", "--design", "y=k.json").out
    assert shown.startswith("x x y = (")
    assert shown.splitlines()[-2:] == [
        "The reports of one person reveal more together: their parities multiply.",
        "Next: what each report reveals: maskwell audit w.json; maskwell audit k.json",
    ]
    design_file("s.json", "subset", "--k", "3", "--gamma", "5")
    refused("estimate", "r.csv", "--design", "x=w.json", "--design", "y=s.json", saying="set")


def test_set_reports_read_as_numbers_are_refused_and_of_very_many_categories_some_are_shown() -> None:
    design_file("s.json", "subset", "--categories", "a,b,c,d", "--gamma", "3", "--size", "2")
    pq.write_table(pa.table({"y": [1100, 11]}), "r.parquet")
    refused("estimate", "r.parquet", "--design", "y=s.json", saying="leading zeros")
    design_file("k.json", "k-ary", "--k", "3000", "--gamma", "50")
    write("r.csv", "y\n" + "".join(f"{i % 3000}\n" for i in range(6000)))
    found = run("estimate", "r.csv", "--design", "y=k.json", "--json").json()
    assert found["covariance"] is None
    assert "more: --json gives all" in run("estimate", "r.csv", "--design", "y=k.json").out


def test_two_answers_of_each_person_in_two_columns() -> None:
    design_file("t.json", "simmons-twice", "--p1", "0.6", "--p2", "0.7", "--reports", "1,0")
    write("r.csv", "i,j,n\n1,1,40\n1,0,20\n0,1,22\n0,0,118\n")
    options = ["estimate", "r.csv", "--design", "i,j=t.json", "--counts", "n"]
    found = run(*options, "--json").json()
    assert [row["category"][0] for row in found["estimates"]] == ["yes", "yes", "no", "no"]
    assert [row["category"][1] for row in found["estimates"]] == ["yes", "no", "yes", "no"]
    own = found["wanted"]["estimates"][0]
    assert (found["wanted"]["variable"], own["category"]) == ("own answer", "yes")
    assert own["estimate"] == pytest.approx(0.34)
    shown = run(*options).out
    assert shown.startswith("own answer = yes: 0.340 (95 % score interval")
    assert "parities multiply" not in shown


def test_shares_of_a_known_population() -> None:
    write("r.csv", "answer,w\n" + "yes,2\n" * 120 + "no,3\n" * 180)
    options = ["estimate", "r.csv", *DESIGN, "--weights", "w"]
    ratio, known = (run(*options, *more, "--json").json() for more in ([], ["--denominator", "1000"]))
    assert (ratio["population"], known["population"]) == (780, 1000)
    assert "the weights sum to 780, but the denominator is 1,000: the shares do not sum to 1" in known["flags"]
    assert not any("sum to 1" in flag for flag in ratio["flags"])
    assert known["estimates"][0]["total"] == pytest.approx(ratio["estimates"][0]["total"])
    assert known["estimates"][0]["estimate"] == pytest.approx(ratio["estimates"][0]["estimate"] * 0.78)
    refused(*options, "--denominator", "0", saying="denominator")
    refused(
        "estimate",
        "r.csv",
        *DESIGN,
        "--denominator",
        "9",
        saying="--denominator needs --weights, --inclusion or --population",
    )
    refused("estimate", "r.csv", saying="at least one column must be named")


def test_quantities_by_name() -> None:
    """Text, JSON and tables to paste hold them; A,B is the same as A+B."""
    run("design", "k-ary", "--categories", "never,once,often", "--gamma", "9", "-o", "kary.json")
    write("few.csv", "y,n,g\nnever,300,a\nonce,70,a\nonce,50,b\noften,80,b\n")
    command = ("estimate", "few.csv", "--design", "y=kary.json", "--counts", "n", "--combine", "any=once,often")
    found = run(*command, "--contrast", "gap=often-never", "--ratio", "r=often/any", "--json").json()
    assert [one["name"] for one in found["quantities"]] == ["any", "gap", "r"]
    assert found["quantities"][0]["estimate"] == pytest.approx(0.3)
    assert found["quantities"][0]["interval_method"] == "score"
    assert "once + often" in run(*command).out
    table = run(*command, "--format", "latex").out
    assert "\nany & " in table and "any: once + often." in table
    assert run(*command, "--format", "csv").out.splitlines()[-1].startswith("any,0.3")
    only = run(*command, "--where", "g=b", "--json").json()
    assert (only["n"], only["where"]) == (130, "g=b")
    groups = run(*command, "--by", "g", "--contrast", "d=a-b", "--json").json()["quantities"]
    assert [one["category"] for one in groups if one["kind"] == "groups"] == ["never", "once", "often", "any"]
    refused(*command, "--combine", "all=", saying="a name and its categories")
    refused(*command, "--contrast", "gap=often-weekly", saying="'weekly' is not a category")
    refused(*command, "--where", "g=c", saying="no row with a report fits")


def test_every_method_of_intervals_is_a_choice_and_a_bootstrap_is_repeated_by_its_seed() -> None:
    write("y.csv", "y\n" + "yes\nno\nyes\n" * 40)
    command = ["estimate", "y.csv", "--design", "y=w.json", "--json"]
    for method in METHODS:
        if method not in ("bootstrap", "wilson"):
            assert run(*command, "--interval", method).json()["interval_method"] == method
    first, second, other = (run(*command, "--interval", "bootstrap", "--seed", n).json() for n in ("1", "1", "2"))
    assert first["interval_method"] == "bootstrap"
    assert first["estimates"] == second["estimates"] != other["estimates"]
    refused(*command[:-1], "--interval", "bootstrap", saying="--interval bootstrap needs --seed")
    refused(*command[:-1], "--seed", "1", saying="--seed needs --interval bootstrap")
    refused(*command[:-1], "--interval", "boot", saying="unknown value 'boot'")


def test_labels_with_signs_are_found_in_contrasts_and_two_readings_are_refused() -> None:
    write("y.csv", "y\n" + "self-employed\nemployed\nother\n" * 20)
    quantity = run("estimate", "y.csv", "--direct", "y", "--contrast", "gap=self-employed-employed", "--json").json()
    assert quantity["quantities"][0]["of"] == "self-employed - employed"
    typed = "gap=self-employd-employed"
    said = refused("estimate", "y.csv", "--direct", "y", "--contrast", typed, saying="is not a category")
    assert "quote labels with signs: '\"self-employed\"-...'" in said
    write("z.csv", "z\n" + "a\nb\na-b\n" * 20)
    said = refused("estimate", "z.csv", "--direct", "z", "--contrast", "gap=a-b", saying="the expression is ambiguous")
    assert """'gap="a-b"' or 'gap="a"-"b"'""" in said
    for text, of in (('gap="a"-"b"', "a - b"), ('gap="a-b"-b', "a-b - b")):
        ran = run("estimate", "z.csv", "--direct", "z", "--contrast", text, "--json").json()
        assert ran["quantities"][0]["of"] == of


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
DESIGN = ("--design", "answer=w.json")
PLAN = ("--weights", "w", "--strata", "region", "--clusters", "town")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("rows.csv", ROWS)
    design_file("w.json", "warner", "--p", "0.7")


def estimate(*options: str) -> dict[str, object]:
    return run("estimate", "rows.csv", *DESIGN, *options, "--json").json()


def test_one_population_for_all_strata_is_divided_by_the_weights() -> None:
    found = estimate("--weights", "w", "--strata", "region", "--population", "78")
    write("rows.csv", ROWS.replace(",60,", ",44,").replace(",40,", ",34,"))
    by_column = estimate("--weights", "w", "--strata", "region", "--population", "size")
    assert found["estimates"] == by_column["estimates"]
    assert "without replacement" in str(found["plan"])
    for options in (("--weights", "w", "--population", "100"), ("--population", "78")):
        refused("estimate", "rows.csv", *DESIGN, "--strata", "region", *options, saying="--population COL")


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (("--weights", "w", "--inclusion", "w"), "weights and inclusion state the same thing"),
        (("--inclusion", "w"), "percentages"),
        (("--poisson",), "--inclusion"),
        (("--fay", "0.3"), "--replicate-method fay"),
        (("--weights", "sex"), "is not a number"),
        (("--strata", "w", "--clusters", "town", "--population", "3"), "--population COL"),
        (("--weights", "w", "--method", "ml", "--by", "sex"), "moments"),
        (("--weights", "w", "--interval", "exact"), "matched"),
        (("--by", "age"), "no column 'age'"),
        (("--level", "95"), "level"),
        *((("--population", size), "give the number of units that could have been drawn") for size in ("-5", "0")),
        *(((option, "answer"), "--design for each column") for option in ("--by", "--strata", "--clusters")),
        (("--weights", "answer"), "holds randomized reports"),
        (("--format", "docx"), "docx"),
        *(
            (("--design", f"answer[region={bad}]=w.json"), "has an unclosed quote, or text after one")
            for bad in ('"b', '"b" c')
        ),
    ],
)
def test_refusals(options: tuple[str, ...], saying: str) -> None:
    refused("estimate", "rows.csv", *(() if "--design" in options else DESIGN), *options, saying=saying)


def test_tables_to_paste_and_a_page_for_word() -> None:
    for style in ("md", "latex", "csv"):
        plain = run("estimate", "rows.csv", *DESIGN, "--format", style).out
        by = run("estimate", "rows.csv", *DESIGN, *PLAN, "--by", "sex", "--format", style).out
        assert "yes" in plain
        if style == "csv":  # which keeps all digits; three of eight said yes
            assert float(plain.splitlines()[1].split(",")[1]) == pytest.approx(0.1875)
        else:
            assert "0.188" in plain
        for label in ("f", "m", "all"):
            assert any(line.lstrip("| ").startswith(label) for line in by.splitlines()), by
    page = run("estimate", "rows.csv", *DESIGN, "--format", "html").out
    assert page.startswith("<!DOCTYPE html>") and ">0.188</td>" in page and page.count("<table") == 1
    assert "simple random sample" in page and "Randomized by answer: warner, p = 7/10." in page


def test_groups_with_designs_of_their_own() -> None:
    design_file("w2.json", "warner", "--p", "0.8")
    designs = ("--design", "answer[region=north]=w.json", "--design", "answer[region=south]=w2.json")
    found = run("estimate", "rows.csv", *designs, *PLAN, "--by", "region", "--json").json()
    north, south = (one["estimates"][0]["estimate"] for one in found["domains"])
    assert north == pytest.approx((22 / 44 - 0.3) / 0.4)
    assert south == pytest.approx((8 / 34 - 0.2) / 0.6)
    assert found["estimates"][0]["estimate"] == pytest.approx((44 * north + 34 * south) / 78)
    refused("estimate", "rows.csv", "--design", "answer[region=north]=w.json", saying="no design", values="'south'")
    refused("estimate", "rows.csv", "--design", "answer[region=]=w.json", saying="does not name a group of rows")
    refused("randomize", "rows.csv", *designs, "-o", "out.csv", saying="some rows only")


@pytest.mark.parametrize("value", ["b, y", 'say "b"', "b]", "b=y"])
def test_groups_whose_labels_need_quotes(value: str) -> None:
    quoted = '"' + value.replace('"', '""') + '"'
    with Path("odd.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("answer", "region"), *[("yes", value), ("no", "a"), ("no", value), ("yes", "a")]])
    designs = ("--design", f"answer[region={quoted}]=w.json", "--design", "answer[region=a]=w.json")
    assert run("estimate", "odd.csv", *designs).out.startswith("answer = yes: 0.5")


def unrelated() -> tuple[str, ...]:
    """Designs of two samples whose share of unrelated answers is not known."""
    for number, p in ((1, "3/4"), (2, "1/4")):
        design_file(f"s{number}.json", "simmons", "--p", p)
    return ("--design", "answer[town=1]=s1.json", "--design", "answer[town=2]=s2.json")


def test_samples_that_tell_the_shares_only_together() -> None:
    designs = unrelated()
    write("rows.csv", ROWS.replace("south,3", "south,2"))
    found = run("estimate", "rows.csv", *designs, *PLAN, "--by", "sex", "--json").json()
    lam = [(10 + 8) / 36, 12 / 42]
    assert found["estimates"][0]["category"] == ["own answer", "yes"]
    assert found["estimates"][0]["estimate"] == pytest.approx(1.5 * lam[0] - 0.5 * lam[1])
    assert [one["domain"] for one in found["domains"]] == ["f", "m"]
    assert "Randomization makes up" not in run("estimate", "rows.csv", *designs, *PLAN).out
    refused("estimate", "rows.csv", *designs, "--population", "500", saying="leave --population out")
    refused("estimate", "rows.csv", *designs, "--weights", "w", "--poisson", saying="leave --poisson out")


def test_a_jackknife_without_strata_and_the_factor_of_fay_from_the_weights() -> None:
    one = "w,r1,r2,r3,answer\n4,0,6,6,yes\n4,6,0,6,no\n6,9,9,0,no\n"
    write("jk.csv", one)
    plan = ("--weights", "w", "--replicates", "r", "--replicate-method", "jkn")
    found = run("estimate", "jk.csv", *DESIGN, *plan, "--json").json()
    assert any("taken from the replicate weights" in flag for flag in found["flags"])
    totals = [(4 + 6) * 1.5, (4 + 6) * 1.5, (4 + 4) * 1.5]
    yes = [0, 6, 6]
    share = [(y / t - 0.3) / 0.4 for y, t in zip(yes, totals, strict=True)]
    centre = (4 / 14 - 0.3) / 0.4
    error = (sum((x - centre) ** 2 for x in share) * 2 / 3) ** 0.5
    assert found["estimates"][0]["standard_error"] == pytest.approx(error)
    write("jk.csv", one.replace("6,9,9,0", "6,13,9,0"))
    refused("estimate", "jk.csv", *DESIGN, *plan, saying="--strata")
    rows = "w,r1,r2,answer\n2,3.4,0.6,yes\n3,0.9,5.1,no\n4,6.8,1.2,no\n5,1.5,8.5,yes\n"
    write("fay.csv", rows)
    plan = ("--weights", "w", "--replicates", "r", "--replicate-method", "fay")
    told, seen = (run("estimate", "fay.csv", *DESIGN, *plan, *more, "--json").json() for more in (("--fay", "0.3"), ()))
    assert seen["covariance"] == told["covariance"]
    write("fay.csv", rows.replace("8.5", "15"))
    refused("estimate", "fay.csv", *DESIGN, *plan, saying="--fay 0.3")


def test_hints_speak_of_options_and_rows_left_out_are_counted() -> None:
    write("rows.csv", ROWS + "west,9,f,5,30,5,5,yes\n")
    said = refused("estimate", "rows.csv", *DESIGN, *PLAN, saying="only one cluster was drawn", values="'west'")
    assert "--lonely certainty" in said
    refused("estimate", "rows.csv", *DESIGN, *PLAN, "--poisson", saying="leave out --poisson")
    write("rows.csv", ROWS.replace("north,2,m", "north,2,"))
    refused("estimate", "rows.csv", *DESIGN, "--by", "sex", saying="--missing drop")
    said = run("estimate", "rows.csv", *DESIGN, "--by", "sex", "--missing", "drop").out
    assert "1 of 8 rows had no report or no value of sex and was left out" in said


def test_two_columns_of_domains_are_two_of_the_table_and_remarks_about_single_ones_shown() -> None:
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
    write("rows.csv", ROWS.replace("m,8,40,8,8,yes", "m,8,40,8,8,no"))
    said = run("estimate", "rows.csv", *DESIGN, "--weights", "w", "--by", "region").out
    assert "note: region = south: 2 of 2 standard errors cover randomization only" in said
    write("rows.csv", ROWS.replace("south,3", "south,2"))
    said = run("estimate", "rows.csv", *unrelated(), "--by", "town").out
    assert "note: town = 1, 2: the samples with rows here do not identify the shares" in said
    assert said.count("separately, but not their combinations") == 1 and "parities multiply" not in said

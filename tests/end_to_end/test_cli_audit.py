"""``maskwell audit`` and ``maskwell convert``."""

from __future__ import annotations

import json
import re
import shlex
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.command_line import design_file, refused, run

from maskwell.designs import load_design
from maskwell.privacy.criteria import posterior_range

AUDIT_KEYS = {
    "parity",
    "parity_exact",
    "epsilon",
    "row_parities",
    "identifiable",
    "rank",
    "condition",
    "admissible",
    "guess_probability",
    "average_security",
    "added_variance",
    "matrix",
}


@pytest.fixture
def warner() -> str:
    design_file("w.json", "warner", "--p", "3/4")
    return "w.json"


def test_json_holds_what_is_promised(warner: str) -> None:
    found = run("audit", warner, "--json").json()
    assert set(found) >= AUDIT_KEYS
    assert found["parity_exact"] == "3"
    assert found["matrix"] == [[0.75, 0.25], [0.25, 0.75]]
    assert "meets" not in found


@pytest.mark.parametrize(
    ("demand", "meets"),
    [
        (["--gamma", "3"], True),
        (["--gamma", "2.999"], False),
        (["--epsilon", "1"], False),
        (["--epsilon", "1.1"], True),
        (["--rho", "0.1", "0.25"], True),
        (["--rho", "0.1", "0.24"], False),
    ],
)
def test_a_demand_sets_the_exit_status(warner: str, demand: list[str], meets: bool) -> None:
    found = run("audit", warner, *demand, "--json", status=0 if meets else 1).json()
    assert found["meets"] is meets
    assert found["demand"]["gamma"] > 1
    shown = run("audit", warner, *demand, status=0 if meets else 1)
    assert ("does not meet" in shown.out.splitlines()[0]) is not meets
    assert shown.err == ""


def test_infinite_parity_is_a_finding(warner: str) -> None:
    design_file("l.json", "l-diverse", "--k", "5", "--l", "2")
    found = run("audit", "l.json", "--gamma", "100", "--json", status=1).json()
    assert (found["parity"], found["parity_exact"], found["epsilon"]) == ("inf", "inf", "inf")
    assert "no bound" in run("audit", "l.json").out


def test_the_next_step_after_a_failed_audit_works(warner: str) -> None:
    design_file("numbered.json", "subset", "--k", "30", "--gamma", "9")
    for path, asked in ((warner, ["--epsilon", "1"]), ("design.json", ["--rho", "0.1", "0.2"])):
        if path == "design.json":
            run("design", "k-ary", "--categories", 'a,"b, c",d', "--gamma", "9", "-o", path, "--force")
        last = run("audit", path, *asked, status=1).out.splitlines()[-1]
        following = shlex.split(last.removeprefix("Next: maskwell "))
        run(*following)
        assert load_design(following[-1]).inputs == load_design(path).inputs
        run("audit", following[-1], *asked)
    last = run("audit", "numbered.json", "--gamma", "2", status=1).out.splitlines()[-1]
    assert last == "Next: maskwell design k-ary --k 30 --gamma 2 -o design.json"
    run(
        "design",
        "k-ary",
        "--categories",
        ",".join(f"label number {i}" for i in range(8)),
        "--gamma",
        "9",
        "-o",
        "m.json",
    )
    last = run("audit", "m.json", "--gamma", "2", status=1).out.splitlines()[-1]
    assert last == "Next: maskwell design k-ary --categories @LABELS.txt --gamma 2 -o design.json"
    run("design", "kronecker", warner, warner, "-o", "both.json")
    assert "k-ary --help" in run("audit", "both.json", "--gamma", "2", status=1).out.splitlines()[-1]


def test_what_the_audit_shows_of_the_design(warner: str) -> None:
    shown = run("audit", warner).out
    assert "warner, p = 3/4\n" in shown
    assert "1.5 (for comparison only, not recommended)\n" in shown
    assert "  yes             0.7500  0.2500\n" in shown
    design_file("k.json", "k-ary", "--k", "40", "--gamma", "3")
    shown = run("audit", "k.json").out
    assert "reports the truth with 7.1 %, each other answer with 2.4 %\n" in shown
    assert "report \\ truth" not in shown
    design_file("o.json", "oue", "--k", "4", "--epsilon", "1")
    line = next(line for line in run("audit", "o.json").out.splitlines() if line.startswith("  by estimator"))
    assert line.split()[2::2] == ["per-bit", "centred", "best-linear"]
    design_file("c.json", "crosswise", "--q", "1/4")
    assert "crosswise, q = 1/4 (the same as warner --p 1/4)\n" in run("audit", "c.json").out


def test_a_prior(warner: str) -> None:
    found = run("audit", warner, "--prior", "9/10,1/10", "--json").json()
    assert found["guess_probability"] == pytest.approx(0.9)
    refused("audit", warner, "--prior", "0.5,0.6", saying="prior")
    refused("audit", warner, "--prior", "0.5,x", saying="prior")


def test_lines_fit_the_terminal() -> None:
    labels = ",".join(f"a very long label number {i}" for i in range(30))
    design_file("d.json", "k-ary", "--categories", labels, "--epsilon", "1")
    few = ",".join(labels.split(",")[:8])
    design_file("few.json", "k-ary", "--categories", few, "--epsilon", "1")
    assert max(map(len, run("audit", "few.json", "--epsilon", "0.5", status=1).out.splitlines())) <= 100
    for shown in (run("audit", "d.json").out, run("design", "k-ary", "--categories", labels, "--gamma", "3").out):
        assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize("content", ["", "[]", "{}", "not json", '{"maskwell": "design", "version": 99}'])
def test_bad_design_files(content: str) -> None:
    Path("d.json").write_text(content, encoding="utf-8")
    refused("audit", "d.json", saying="d.json", kind="bad_design_file")


def test_a_changed_design_file(warner: str) -> None:
    content = json.loads(Path(warner).read_text(encoding="utf-8"))
    content["inputs"] = ["a", "b"]
    Path(warner).write_text(json.dumps(content), encoding="utf-8")
    refused("audit", warner, saying="fingerprint")
    refused("audit", "none.json", saying="none.json")


def test_convert_in_every_language() -> None:
    found = run("convert", "--rho", "0.1", "0.5", "--json").json()
    assert {"gamma", "epsilon", "beta", "bayes_factor", "rho"} <= set(found)
    assert found["gamma"] == found["beta"] == found["bayes_factor"] == 9
    assert [0.1, 0.5] in found["rho"]


def test_convert_with_k() -> None:
    found = run("convert", "--gamma", "6", "--k", "10", "--json").json()
    assert (found["l_real"], found["l_floor"], found["q"], found["q_all"]) == (5, 5, 1, [1, 2])
    assert found["l_ceiling"] == 5
    assert run("convert", "--gamma", "7", "--k", "10", "--json").json()["q_all"] == [1]
    assert run("convert", "--gamma", "1", "--k", "10", "--json").json()["epsilon"] == 0


@pytest.mark.parametrize(
    ("args", "family"),
    [
        (["--epsilon", "1"], "k-ary --k 4"),
        (["--gamma", "6", "--k", "10"], "k-ary --k 10"),
        (["--gamma", "2", "--k", "10"], "subset --k 10"),
        (["--l", "5", "--k", "10"], "subset --k 10 --gamma 6"),
    ],
)
def test_the_best_family_comes_next(args: list[str], family: str) -> None:
    assert run("convert", *args).out.splitlines()[-1].startswith(f"Next: maskwell design {family} ")


def test_no_design_is_suggested_where_none_can_be_made() -> None:
    assert run("convert", "--gamma", "1").out.splitlines()[-1].startswith("Next: allow more than gamma = 1")


@pytest.mark.parametrize(
    ("args", "saying"),
    [
        ([], "neither"),
        (["--gamma", "3", "--l", "2", "--k", "5"], "a demand and --l"),
        (["--l", "2"], "--l without --k"),
        (["--l", "9", "--k", "5"], "l = 9"),
        (["--gamma", "0.5"], "0.5"),
        (["--gamma", "3", "--beta", "3"], "two demands"),
        (["--epsilon", "x"], "'x'"),
        (["--gamma", "3", "--k", "1"], "k = 1"),
    ],
)
def test_bad_conversions(args: list[str], saying: str) -> None:
    refused("convert", *args, saying=saying)


def test_curves_from_a_table(tmp_path: Path) -> None:
    table = tmp_path / "curves.csv"
    table.write_text("p,lower,upper\n0,0,0.4\n0.2,0,0.8\n0.5,0,1\n")
    found = run("convert", "--curves", str(table), "--json").json()
    assert found["gamma_exact"] == "8/3" and found["attained"] is False
    made = run("design", "k-ary", "--k", "3", "--curves", str(table), "--json").json()
    assert made["parity_exact"] == "8/3"
    lines = tmp_path / "beta.csv"
    lines.write_text("p,upper\n0,0\n0.25,1\n1,1\n")
    assert run("convert", "--curves", str(lines), "--between", "lines", "--json").json()["gamma"] == 4
    wrong = run("convert", "--curves", str(lines), status=2)
    assert "crosses the diagonal" in wrong.err and "--between lines" in wrong.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("p,lower,upper\n0,0,0.4\n0.5,0,1\n", "crosses the diagonal"),
        ("p,lower,upper\n0,0.2,1\n", "crosses the diagonal"),
        ("p,lower,upper\n0,0,1\n0.5,0,0.9\n", "must not fall"),
        ("p,lower,upper\n0.1,0,1\n", "priors below 0.1"),
        ("p,lower,upper\n0,0,1\n0,0,1\n", "line 3: p = 0 comes after p = 0"),
        ("p,lower,upper\n0,0\n", "2 fields for 3 columns"),
        ("p,lower,upper\n0,x,1\n", "not a finite number"),
        ("p,upper\n0,0.4\n\n0.2,x\n", "line 4, upper = 'x'"),
        ("p,upper\n0,1\n1,7\n", "line 3, upper = 7 is not a probability"),
        ("p,lower,upper\n", "no rows"),
        ("a,b\n", "columns a, b"),
    ],
)
def test_bad_tables_of_curves(content: str, words: str, tmp_path: Path) -> None:
    table = tmp_path / "curves.csv"
    table.write_text(content)
    assert words in run("convert", "--curves", str(table), status=2).err


def test_twice_as_many_rows_of_curves_are_twice_the_work(tmp_path: Path) -> None:
    calls = {}
    for rows in (1500, 3000):
        table = tmp_path / f"{rows}.csv"
        cells = (f"{i / rows!r},{((i + 1) / rows) ** 0.5!r}\n" for i in range(rows))
        table.write_text(f"p,upper\n{''.join(cells)}")
        events: list[object] = []
        sys.setprofile(lambda *event, note=events.append: note(event[1]))
        try:
            found = run("convert", "--curves", str(table), "--json").json()["gamma"]
        finally:
            sys.setprofile(None)
        calls[rows] = len(events)
    assert 2 < found < 2.001
    assert calls[3000] < 3 * calls[1500]


def test_closed_demands(warner: str) -> None:
    """Warner's device of parity 3 turns a suspicion of 1/4 into exactly 1/2."""
    assert run("audit", warner, "--rho", "1/4", "1/2").out
    closed = run("audit", warner, "--rho", "1/4", "1/2", "--closed", status=1)
    assert "must not be reached" in " ".join(closed.out.split())
    made = run("design", "k-ary", "--k", "2", "--rho", "1/4", "1/2", "--closed", "--json").json()
    assert 2.99 < made["parity"] < 3
    design_file("closed.json", "k-ary", "--k", "2", "--rho", "1/4", "1/2", "--closed")
    answer = run("audit", "closed.json", "--rho", "1/4", "1/2", "--closed").out
    assert "(parity 3," not in answer and max(map(len, answer.splitlines())) <= 100
    assert "parity is below 3." in run("convert", "--rho", "1/4", "1/2", "--closed").out
    assert "--closed" in run("audit", warner, "--gamma", "3", "--closed", status=2).err
    assert "--between" in run("audit", warner, "--gamma", "3", "--between", "lines", status=2).err


def test_percent_typed_as_whole_numbers_gets_a_hint() -> None:
    assert "write 0.1 0.5" in run("convert", "--rho", "10", "50", status=2).err


def test_explanation_in_plain_words(warner: str) -> None:
    told = run("audit", warner, "--rho", "0.25", "0.5", "--explain").out
    assert "less than a 25 % chance cannot come to think it has more than 50 %" in " ".join(told.split())
    assert "factor of 3" in told and "3 × 3 = 9" in told
    broken = run("audit", warner, "--rho", "0.25", "0.4", "--explain", status=1).out
    assert "is not kept" in broken
    average = run("audit", warner, "--average-security", "1.5", "--json").json()
    assert any("On average" in one for one in average["explanation"]) and average["meets"]
    assert "two demands" in run("audit", warner, "--gamma", "3", "--average-security", "1.5", status=2).err


def test_a_sensitive_category_and_a_prior(warner: str) -> None:
    found = run("audit", warner, "--prior", "0.05,0.95", "--sensitive", "yes", "--json").json()
    assert found["hazard"]["ratio"] == 3 and found["hazard"]["prior"] == 0.05
    assert found["posterior"][0][0] == pytest.approx(0.05 * 3 / (0.15 + 0.95))
    assert "sensitive categories" in run("audit", warner, "--sensitive", "yes").out
    assert run("audit", warner, "--sensitive", "maybe", status=2).err


def test_sensitive_categories_that_are_numbers() -> None:
    design_file("small.json", "k-ary", "--k", "3", "--gamma", "2")
    assert run("audit", "small.json", "--sensitive", "0,2", "--json").json()["hazard"]["sensitive"] == [0, 2]


def test_nothing_that_was_asked_for_is_left_out_in_silence() -> None:
    design_file("large.json", "k-ary", "--k", "101", "--gamma", "2")
    assert "left out: the sensitive categories" in run("audit", "large.json", "--sensitive", "7").out
    prior = ",".join(["1", *["0"] * 100])
    found = run("audit", "large.json", "--prior", prior, "--sensitive", "7", "--json").json()
    assert "what the prior becomes and the sensitive categories" in found["warnings"][0]
    assert run("audit", "large.json", "--json").json()["warnings"] == []


def test_a_report_that_cannot_occur_has_no_posterior() -> None:
    Path("truth.csv").write_text("1,0\n0,1\n")
    run("design", "matrix", "truth.csv", "--categories", "yes,no", "-o", "truth.json")
    shown = run("audit", "truth.json", "--prior", "1,0", "--sensitive", "no").out
    assert "nan" not in shown
    assert run("audit", "truth.json", "--prior", "1,0", "--json").json()["posterior"] == [[1, 0], [None, None]]


def test_demands_of_more_digits_than_python_reads() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(4300)
    try:
        assert "power of ten" in run("design", "k-ary", "--k", "3", "--beta", "1e5000", status=2).err
    finally:
        sys.set_int_max_str_digits(before)


# ---- large designs and large parities


def test_the_number_of_reports_has_no_endless_digits() -> None:
    made = run("design", "subset", "--k", "1000000", "--gamma", "2", "-o", "sets.json", "--json").json()
    assert made["m"] == "C(1000000, 333333)"
    assert run("audit", "sets.json", "--json").json()["m"] == made["m"]
    assert run("design", "subset", "--k", "10", "--gamma", "2", "--json").json()["m"] == 120


def test_a_finite_parity_beyond_every_float_is_a_bound() -> None:
    design_file("part.json", "k-ary", "--k", "3", "--epsilon", "700")
    made = run("design", "kronecker", "part.json", "part.json", "-o", "both.json").out.splitlines()
    assert made[0] == "A kronecker design over 9 categories with parity 1.02867e+608, written to both.json."
    shown = run("audit", "both.json").out
    assert shown.startswith(
        "both.json: a report changes the odds of any statement about the truth at most 1.03e+608-fold"
    )
    assert "infinite" not in shown and "no bound" not in shown
    assert "a suspicion of" in shown
    for demand in ([], ["--gamma", "3"], ["--rho", "0.1", "0.5"], ["--gamma", "1e700"]):
        status = 0 if demand in ([], ["--gamma", "1e700"]) else 1
        out = run("audit", "both.json", *demand, "--plot", "both.svg", "--force", status=status).out
        assert "infinite" not in out
        assert Path("both.svg").stat().st_size > 1000
    assert run("audit", "both.json", "--gamma", "1e607", status=1).out.splitlines()[0] == (
        "No: both.json does not meet the demand gamma = 1e607 (parity 1.02867e+608, limit 1e+607)."
    )


def test_what_cannot_be_worked_out_for_a_large_product_is_left_out() -> None:
    design_file("part.json", "k-ary", "--k", "100", "--gamma", "3")
    run("design", "kronecker", "part.json", "part.json", "-o", "product.json")
    prior = ",".join(["1/10000"] * 10000)
    shown = run("audit", "product.json", "--prior", prior).out
    assert "best guess is right  not worked out (0.0001 without the report)" in shown
    assert "warning: left out: how often the best guess is right under the prior" in " ".join(shown.split())
    assert run("audit", "product.json", "--prior", prior, "--json").json()["guess_probability"] is None
    refused("audit", "product.json", "--average-security", "1.5", saying="10,000 by 10,000", kind="too_large")


def test_counts_are_said_once_and_sets_have_no_quotes() -> None:
    design_file("chow.json", "chow", "--red", "6", "--blue", "4", "--draws", "2")
    lines = [line.split(maxsplit=1) for line in run("audit", "chow.json").out.splitlines() if line.strip()]
    assert ["reports", "3: 0, 1, 2"] in lines
    assert ["added", "variance         5.33333 divided by n, at equal shares"] in lines
    design_file("ten.json", "k-ary", "--k", "10", "--gamma", "3")
    assert "  categories           10: 0, 1, 2, 3, 4, 5, 6, 7, ...\n" in run("audit", "ten.json").out


# ---- convert


STEPS = "p,lower,upper\n0,0,0.4\n0.2,0,0.8\n0.5,0,1\n"


def shown(*options: str) -> list[str]:
    lines = run("convert", *options).out.splitlines()
    assert max(map(len, lines)) <= 100
    return lines


def numbers(lines: list[str], start: str) -> list[Fraction]:
    return [Fraction(line.split()[-1]) for line in lines if re.match(rf"  {re.escape(start)}  ", line)]


@pytest.mark.parametrize(
    ("options", "gamma"),
    [
        (["--curves", "curves.csv"], Fraction(8, 3)),
        (["--gamma", "8/3"], Fraction(8, 3)),
        (["--gamma", "5/3"], Fraction(5, 3)),
        (["--rho", "0.1", "0.3"], Fraction(27, 7)),
        (["--beta", "3"], Fraction(3)),
        (["--gamma", "1000000/999999"], Fraction(1000000, 999999)),
    ],
    ids=str,
)
def test_bounds_are_rounded_to_the_safe_side(options: list[str], gamma: Fraction) -> None:
    Path("curves.csv").write_text(STEPS, encoding="utf-8")
    lines = shown(*options)
    allowed = Fraction(lines[0].split()[-1].rstrip("."))
    assert gamma * (1 - Fraction(1, 10**9)) < allowed <= gamma
    assert numbers(lines, "gamma, beta, Bayes factor") == [allowed]
    for prior in ("0.01", "0.1", "0.5"):
        (most,) = numbers(lines, prior)
        exactly = posterior_range(gamma, Fraction(prior))[1]
        assert exactly <= most < exactly * (1 + Fraction(1, 10**5))


def test_exact_numbers_stay_as_they_are() -> None:
    lines = shown("--rho", "0.1", "0.5")
    assert lines[0] == "rho1 = 0.1 to rho2 = 0.5 means that parity is at most 9."
    assert numbers(lines, "0.1") == [Fraction(1, 2)]
    for epsilon in ("0.1", "0.3", "1", "2.5", "1e-9", "700"):
        assert numbers(shown("--epsilon", epsilon), "epsilon") == [Fraction(epsilon)]


def test_a_closed_demand_stays_below() -> None:
    lines = shown("--rho", "0.1", "0.5", "--closed")
    assert lines[0].endswith("means that parity is below 9.")
    assert "  gamma, beta, Bayes factor  below 9" in lines
    assert "  a suspicion of  stays below" in lines
    assert not any("at most" in line for line in lines)


def test_local_diversity_is_not_said_to_bound_anything() -> None:
    lines = shown("--l", "5", "--k", "10")
    assert lines[0] == "l = 5 of 10 categories is as accurate as subset selection of parity 6."
    assert any("l-diversity itself" in line and "no bound on parity" in line for line in lines)
    assert "  a suspicion of  with subset selection can rise to at most" in lines
    assert run("convert", "--l", "5", "--k", "10", "--json").json()["l_parity"] == "inf"


def test_a_demand_for_nothing_is_said_in_words() -> None:
    Path("all.csv").write_text("p,lower,upper\n0,0,1\n", encoding="utf-8")
    lines = shown("--curves", "all.csv")
    assert lines[0] == "curves of all.csv allows any parity: nothing is asked, and every design meets it."
    assert "infinite" not in "\n".join(lines)


def test_a_bound_beyond_every_float_is_a_bound() -> None:
    lines = shown("--gamma", "1e400")
    assert lines[0] == "gamma = 1e400 means that parity is at most 1e+400."
    assert "infinite" not in "\n".join(lines)

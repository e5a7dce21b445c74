"""``maskwell audit`` and ``maskwell convert``, and ``--plot FILE`` of the commands that draw."""

import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.command_line import design_file, refused, run

from maskwell import load_design
from maskwell.privacy.criteria import posterior_range


@pytest.fixture
def warner() -> str:
    design_file("w.json", "warner", "--p", "3/4")
    return "w.json"


MET = ["--gamma 3", "--epsilon 1.1", "--rho 0.1 0.25"]
NOT_MET = ["--gamma 2.999", "--epsilon 1", "--rho 0.1 0.24"]


@pytest.mark.parametrize("demand", [*MET, *NOT_MET])
def test_a_demand_sets_the_exit_status(warner: str, demand: str) -> None:
    meets = demand in MET
    found = run("audit", warner, *demand.split(), "--json", status=0 if meets else 1).json()
    assert found["meets"] is meets and found["demand"]["gamma"] > 1
    shown = run("audit", warner, *demand.split(), status=0 if meets else 1)
    assert ("does not meet" in shown.out.splitlines()[0]) is not meets
    assert shown.err == ""


def test_the_next_step_after_a_failed_audit_works(warner: str) -> None:
    for path, asked in ((warner, ["--epsilon", "1"]), ("design.json", ["--rho", "0.1", "0.2"])):
        if path == "design.json":
            run("design", "k-ary", "--categories", 'a,"b, c",d', "--gamma", "9", "-o", path, "--force")
        last = run("audit", path, *asked, status=1).out.splitlines()[-1]
        following = shlex.split(last.removeprefix("Next: maskwell "))
        run(*following)
        assert load_design(following[-1]).inputs == load_design(path).inputs
        run("audit", following[-1], *asked)
    labels = ",".join(f"label number {i}" for i in range(8))
    design_file("m.json", "k-ary", "--categories", labels, "--gamma", "9")
    last = run("audit", "m.json", "--gamma", "2", status=1).out.splitlines()[-1]
    assert last == "Next: maskwell design k-ary --categories @LABELS.txt --gamma 2 -o design.json"


def test_what_the_audit_shows_of_the_design_fits_the_terminal(warner: str) -> None:
    shown = run("audit", warner).out
    assert "warner, p = 3/4\n" in shown and "1.5 (for comparison only, not recommended)\n" in shown
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
    design_file("chow.json", "chow", "--red", "6", "--blue", "4", "--draws", "2")
    lines = [line.split(maxsplit=1) for line in run("audit", "chow.json").out.splitlines() if line.strip()]
    assert ["reports", "3: 0, 1, 2"] in lines
    labels = ",".join(f"a very long label number {i}" for i in range(30))
    design_file("d.json", "k-ary", "--categories", labels, "--epsilon", "1")
    few = ",".join(labels.split(",")[:8])
    design_file("few.json", "k-ary", "--categories", few, "--epsilon", "1")
    assert max(map(len, run("audit", "few.json", "--epsilon", "0.5", status=1).out.splitlines())) <= 100
    for shown in (run("audit", "d.json").out, run("design", "k-ary", "--categories", labels, "--gamma", "3").out):
        assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("p,lower,upper\n0,0,0.4\n0.5,0,1\n", "crosses the diagonal"),
        ("p,lower,upper\n0,0.2,1\n", "crosses the diagonal"),
        ("p,lower,upper\n0,0,1\n0.5,0,0.9\n", "must not fall"),
        ("p,lower,upper\n0.1,0,1\n", "must have p = 0, not 0.1"),
        ("p,lower,upper\n0,0,1\n0,0,1\n", "line 3: p = 0 comes after p = 0"),
        ("p,lower,upper\n0,0\n", "2 fields for 3 columns"),
        ("p,lower,upper\n0,x,1\n", "must be a finite number"),
        ("p,upper\n0,0.4\n\n0.2,x\n", "line 4, upper must be a finite number"),
        ("p,upper\n0,1\n1,7\n", "line 3, upper must be between 0 and 1, not 7"),
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


def test_closed_demands_and_explanations_in_plain_words(warner: str) -> None:
    """Warner's device of parity 3 turns a probability of 1/4 into exactly 1/2."""
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
    told = run("audit", warner, "--rho", "0.25", "0.5", "--explain").out
    assert "less than a 25 % chance cannot come to think it has more than 50 %" in " ".join(told.split())
    assert "factor of 3" in told and "3 × 3 = 9" in told
    broken = run("audit", warner, "--rho", "0.25", "0.4", "--explain", status=1).out
    assert "does not keep what was asked for" in broken
    average = run("audit", warner, "--average-security", "1.5", "--json").json()
    assert any("On average" in one for one in average["explanation"]) and average["meets"]
    assert "cannot be combined" in run("audit", warner, "--gamma", "3", "--average-security", "1.5", status=2).err


def test_a_sensitive_category_and_a_prior_are_never_left_out_in_silence(warner: str) -> None:
    found = run("audit", warner, "--prior", "0.05,0.95", "--sensitive", "yes", "--json").json()
    assert found["hazard"]["ratio"] == 3 and found["hazard"]["prior"] == 0.05
    assert found["posterior"][0][0] == pytest.approx(0.05 * 3 / (0.15 + 0.95))
    assert "sensitive categories" in run("audit", warner, "--sensitive", "yes").out
    design_file("small.json", "k-ary", "--k", "3", "--gamma", "2")
    assert run("audit", "small.json", "--sensitive", "0,2", "--json").json()["hazard"]["sensitive"] == [0, 2]
    design_file("large.json", "k-ary", "--k", "101", "--gamma", "2")
    assert "left out: the sensitive categories" in run("audit", "large.json", "--sensitive", "7").out
    prior = ",".join(["1", *["0"] * 100])
    found = run("audit", "large.json", "--prior", prior, "--sensitive", "7", "--json").json()
    assert "what the prior becomes and the sensitive categories" in found["warnings"][0]
    assert run("audit", "large.json", "--json").json()["warnings"] == []


def test_reports_that_cannot_occur_and_parities_beyond_every_float_are_said_in_words() -> None:
    Path("truth.csv").write_text("1,0\n0,1\n")
    run("design", "matrix", "truth.csv", "--categories", "yes,no", "-o", "truth.json")
    shown = run("audit", "truth.json", "--prior", "1,0", "--sensitive", "no").out
    assert "nan" not in shown
    assert run("audit", "truth.json", "--prior", "1,0", "--json").json()["posterior"] == [[1, 0], [None, None]]
    design_file("part.json", "k-ary", "--k", "3", "--epsilon", "700")
    made = run("design", "kronecker", "part.json", "part.json", "-o", "both.json").out.splitlines()
    assert made[0] == "A kronecker design over 9 categories with parity 1.02867e+608, written to both.json."
    shown = run("audit", "both.json").out
    assert shown.startswith(
        "both.json: a report changes the odds of any statement about the truth at most 1.03e+608-fold"
    )
    assert "infinite" not in shown and "no bound" not in shown and "a probability of" in shown
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
    assert "best guess is right  not computed (0.0001 without the report)" in shown
    assert "warning: left out: how often the best guess is right under the prior" in " ".join(shown.split())
    assert run("audit", "product.json", "--prior", prior, "--json").json()["guess_probability"] is None
    refused("audit", "product.json", "--average-security", "1.5", saying="10,000 by 10,000", kind="too_large")


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


def test_exact_numbers_stay_as_they_are_and_a_closed_demand_below() -> None:
    lines = shown("--rho", "0.1", "0.5")
    assert lines[0] == "rho1 = 0.1 to rho2 = 0.5 means that parity is at most 9."
    assert numbers(lines, "0.1") == [Fraction(1, 2)]
    for epsilon in ("0.1", "0.3", "1", "2.5", "1e-9", "700"):
        assert numbers(shown("--epsilon", epsilon), "epsilon") == [Fraction(epsilon)]
    lines = shown("--rho", "0.1", "0.5", "--closed")
    assert lines[0].endswith("means that parity is below 9.")
    assert "  gamma, beta, Bayes factor  below 9" in lines
    assert "  a probability of  stays below" in lines
    assert not any("at most" in line for line in lines)


def test_demands_for_nothing_and_local_diversity_are_not_said_to_bound_anything() -> None:
    lines = shown("--l", "5", "--k", "10")
    assert lines[0] == "l = 5 of 10 categories is as accurate as subset selection of parity 6."
    assert any("l-diversity itself" in line and "parity is unbounded" in line for line in lines)
    assert "  a probability of  with subset selection can rise to at most" in lines
    assert run("convert", "--l", "5", "--k", "10", "--json").json()["l_parity"] == "inf"
    Path("all.csv").write_text("p,lower,upper\n0,0,1\n", encoding="utf-8")
    lines = shown("--curves", "all.csv")
    assert lines[0] == "curves of all.csv allows any parity, so every design meets it."
    assert shown("--gamma", "1e400")[0] == "gamma = 1e400 means that parity is at most 1e+400."
    assert "infinite" not in "\n".join([*lines, *shown("--gamma", "1e400")])


def told(path: str) -> str:
    """What a drawing says to a reader who does not see it."""
    return ET.parse(path).getroot().findtext("{http://www.w3.org/2000/svg}desc")


def test_the_worst_case_is_told_and_parities_that_no_float_holds_are_drawn(warner: str) -> None:
    """The first step of the curve does not hold at 20 % itself."""
    Path("c.csv").write_text(STEPS, encoding="utf-8")
    run("audit", warner, "--curves", "c.csv", "--plot", "c.svg", status=1)
    said = "from just below 20 % a report can lead up to 42.9 %, where the demand allows no more than 40 %"
    assert said in told("c.svg")
    Path("f.csv").write_text("p,lower,upper\n0,0,1\n0.8,0.6,1\n", encoding="utf-8")
    run("audit", warner, "--curves", "f.csv", "--plot", "f.svg", status=1)
    assert "from 80 % a report can lead down to 57.1 %, where the demand allows no lower than 60 %" in told("f.svg")
    design_file("h.json", "k-ary", "--k", "4", "--gamma", "1e400")
    run("audit", "h.json", "--plot", "h.png")
    run("audit", "h.json", "--epsilon", "1", "--plot", "i.png", status=1)
    run("convert", "--gamma", "1e400", "--plot", "j.png")
    for picture in ("frontier", "variance"):
        run("choose", "--k", "4", "--gamma", "1e400", "--picture", picture, "--plot", f"{picture}.png")


def test_audit_explains_and_draws(warner: str) -> None:
    assert run("audit", warner, "--explain", "--plot", "w.pdf").out.splitlines()[-1] == "Picture: w.pdf"
    assert run("audit", warner, "--average-security", "1.6", "--plot", "a.png").status == 0
    assert Path("w.pdf").read_bytes().startswith(b"%PDF")
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("demand", [["--rho", "0.1", "0.5"], ["--epsilon", "1"], ["--l", "5", "--k", "10"]])
def test_convert_draws_what_a_demand_asks_for(demand: list[str]) -> None:
    found = run("convert", *demand, "--plot", "d.svg", "--json").json()
    assert found["plot"] == "d.svg"
    assert "its parity is at most B = " in told("d.svg")
    assert run("convert", *demand, "--plot", "e.svg").out.splitlines()[-2] == "Picture: e.svg"


def test_a_missing_drawing_library_is_named(warner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused("audit", warner, "--plot", "w.svg", "--certificate", "c.json", saying="matplotlib")
    assert run("audit", warner).status == 0


def test_plan_writes_both_files_or_none() -> None:
    asked = ["choose", "--k", "10", "--epsilon", "1"]
    Path("d.json").write_text("mine", encoding="utf-8")
    refused(*asked, "--plot", "p.svg", "-o", "d.json", saying="the output d.json already exists")
    refused(*asked, "--plot", "p.gif", "-o", "e.json", saying=".gif")
    refused(*asked, "--plot", "e.svg", "-o", "e.svg", saying="also an input")


def test_a_home_that_cannot_be_written_is_no_matter(tmp_path: Path) -> None:
    design_file(tmp_path / "w.json", "warner", "--p", "0.7")
    (tmp_path / "home").write_text("a file", encoding="utf-8")
    apart = {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR"}
    environment = {name: value for name, value in os.environ.items() if name not in apart}
    environment |= {"HOME": str(tmp_path / "home" / "me"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "maskwell", "audit", "w.json", "--plot", "p.svg"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "p.svg").exists()

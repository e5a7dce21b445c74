"""What is said about bad input: one line for the fault, one for what to do, both within the width of a terminal."""

import json
from pathlib import Path

import pytest
from tests.support.command_line import design_file, refused, run

WIDTH = 100
KARY = ["design", "k-ary", "--gamma", "2"]
PLAN = ["choose", "--k", "4", "--gamma", "3"]
FIFTEEN = ",".join(["1/15"] * 15)
LONG = "a-rather-long-folder/with-a-rather-long-name-inside/and-one-more-below/design-of-the-third-wave.json"

BAD: list[tuple[list[str], list[str]]] = [
    # too long once
    (["estimate", "x.csv", "--interval", "x" * 300], ["--interval: unknown value 'xxx", "profile, bonferroni"]),
    (["regress", "x.csv", "--variance", "\x1b" * 300], ["--variance: unknown value '", "one of: observed, expec"]),
    (["audit", "warner.json", "--prior", "1e1000,0.5"], ["sums to inf, not 1"]),
    (["sample-size", "warner.json", "--pi", "1e999,0.5", "--n", "100"], ["sums to inf, not 1"]),
    (["completion", "tcsh"], ["SHELL: unknown value 'tcsh'", "one of: bash, zsh, fish"]),
    (["randomize", "x.csv", "--design", "\x07" * 90, "-o", "y.csv"], ["--design \\x07"]),
    (["design", "foo"], ["no such command: maskwell design foo", "maskwell design --help"]),
    (["foo"], ["no such command: maskwell foo", "maskwell --help"]),
    (
        ["improve", "diverse.json"],
        ["the parity of the design is unbounded: some report rules out some true category", "allow revealing"],
    ),
    (["convert", "--curves", "cross.csv"], ["0.3 for priors from 0 to 0.5", "--between lines"]),
    (["convert", "--curves", "cross.csv", "--between", "lines"], ["it is 0.4 at the prior 0.5"]),
    (["design", "kuk", "--theta1", "0.3", "--theta2", "0.3", "--draws", "2"], ["theta1 = 0.3", "theta1 different"]),
    (["compare", "warner.json", "kary.json"], ["'yes', 'no'", "'a', 'b', 'c'"]),
    (["improve", "rappor.json"], ["33,554,432"]),
    (["design", "simmons", "--p", "0", "--beta", "0.2"], ["give p above 0"]),
    (["design", "extremal", "--pi", FIFTEEN, "--gamma", "2"], ["at most 14"]),
    (["choose", "--k", "10"], ["--gamma", "--epsilon", "--beta", "--bayes-factor", "--rho", "--curves"]),
    (["audit", "broken.json"], ["broken.json is not valid JSON: Expecting value, line 2, column 1", "line 2"]),
    (["design", "warner", "--p", "0.5"], ["give p away from 1/2"]),
    ([*KARY, "--categories", "@nofile"], ["@nofile", "one label per line"]),
    (["audit", LONG], ["a-rather-long", "wave.json"]),
    ([*KARY, "--categories", f"a,{'b' * 200},,c"], ["label 3 is empty"]),
    (["randomize", "x.csv", "--design", f"answer={LONG}", "-o", "y.csv"], ["a-rather", "wave.json"]),
    (["audit", "product.json", "--average-security", "1.5"], ["32,768", "bound on parity"]),
    (["improve", "kary.json", "--curves", "strict.csv"], ["does not meet", "its parity is 3"]),
    (["improve", "kary.json", "--sensitive", "a", "--gamma", "4"], ["--sensitive"]),
    # as it was typed
    (["audit", "kary.json", "--prior", "0.5,0.2,1/5"], ["0.5,0.2,1/5", "0.9"]),
    (["audit", "kary.json", "--prior", "0.5,0.5"], ["2 shares for 3 categories"]),
    (["compare", "warner.json", "warner.json", "--pi", "0.5,0.2"], ["0.5,0.2", "0.7"]),
    # faults by name
    ([*PLAN, "--margin", "5"], ["margin must be strictly between 0 and 1, not 5", "5 for 5 %? write 0.05"]),
    (["choose", "--k", "1", "--gamma", "3"], ["k must be at least 2, not 1"]),
    (["convert", "--gamma", "3", "--k", "1"], ["k must be at least 2, not 1"]),
    (["convert", "--rho", "0.5", "0.1"], ["rho1 = 0.5 must be below rho2 = 0.1"]),
    (["convert", "--curves", "negative.csv"], ["line 2: p = -1 is not from 0 to 1"]),
    (["convert", "--curves", "falling.csv"], ["line 3: p = 0.2 comes after p = 0.3"]),
    (
        [*PLAN, "--n", "100", "--level", "95"],
        ["level must be strictly between 0 and 1, not 95", "95 for 95 %? write 0.95"],
    ),
    ([*PLAN, "--n", "100", "--level", "1e-400"], ["level = 1e-400 is too close to 0", "such as 0.95"]),
    # hints that hit
    (["choose", "--k", "ten", "--gamma", "3"], ["k must be a whole number, not 'ten'", "such as 10"]),
    ([*PLAN, "--n", "1,000"], ["n must be a whole number, not '1,000'", "1000"]),
    (["choose", "--k", "4", "--epsilon", "0"], ["epsilon = 0 leaves", "such as epsilon = 1"]),
    (["choose", "--rho", "0.1", "--categories", "a,b,c"], ["--rho must be two numbers", "--rho 0.1 0.5"]),
    (["choose", "--gamma", "--k", "3"], ["--gamma", "'--k'"]),
    (["design", "subset", "--k", "5", "--size", "2.5", "--gamma", "2"], ["size must be a whole number, not 2.5"]),
    (
        ["design", "kuk", "--theta1", "0.3", "--theta2", "0.2", "--draws", "2.5"],
        ["draws must be a whole number, not 2.5"],
    ),
    (["audit", "kary.json", "--sensitive", "maybe"], ["--sensitive: 'maybe' is not one of the categories", "a, b, c"]),
    (["audit", "kary.json", "--sensitive", "a,b,c"], ["3 of 3 categories are named as sensitive", "not all"]),
    (["design", "subset", "--k", "2", "--size", "2", "--gamma", "2"], ["size = 2 is not possible", "give 1"]),
    (["audit", "many.json", "--sensitive", "no"], ["--sensitive: 'no' is not one of the categories", "0, 1, 2"]),
    ([*KARY, "--categories", "a,,b"], ["label 2 is empty", "comma"]),
    (["design", "chow", "--epsilon", "1"], ["no such option: --epsilon", "maskwell design chow --help"]),
    (["design", "warner", "--p", "1.2"], ["p must be between 0 and 1, not 1.2"]),
    (["design", "warner", "--p", "70"], ["70 for 70 %? write 0.7"]),
    (["convert", "--rho", "0.1", "1"], ["rho2 must be strictly between 0 and 1, not 1"]),
    (["convert", "--rho", "20", "60"], ["20 60 for 20 % and 60 %? write 0.2 0.6"]),
    (["design", "l-diverse", "--k", "3", "--l", "5"], ["l = 5", "give l = 2"]),
    (["convert", "--k", "9", "--l", "9"], ["l = 9", "give l from 2 to 8"]),
    (["convert", "--gamma", "2", "--l", "5", "--k", "10"], ["a privacy requirement and --l were given"]),
    (["convert"], ["neither a privacy requirement nor --l was given"]),
    (["convert", "--l", "2"], ["--l needs --k"]),
    (["convert", "--epsilon", "x"], ["'x'"]),
    (["convert", "--curves", "above.csv"], ["upper must be between 0 and 1, not 2.5"]),
    # accepted in silence once
    ([*KARY, "--categories", 'a,"b'], ["quote", "--categories"]),
    ([*KARY, "--categories", "a,b\nc"], ["--categories"]),
    ([*PLAN, "--picture", "variance"], ["--picture needs --plot"]),
    ([*PLAN, "--level", "0.9"], ["--level needs --n or --margin"]),
]
MISSES = {"--json": ["simmons"], "%?": ["1.2", "0.1 1", "1.5"], "--missing": ["a,,b"], "1/6": ["ten", "1,000"]}
"""What a hint must not speak of, by words of the command."""


@pytest.fixture(autouse=True)
def files() -> None:
    for name, options in {
        "kary": ["k-ary", "--categories", "a,b,c", "--gamma", "3"],
        "warner": ["warner", "--p", "0.7"],
        "rappor": ["rappor", "--k", "25", "--gamma", "3"],
        "diverse": ["l-diverse", "--k", "10", "--l", "3"],
        "many": ["k-ary", "--k", "1000", "--gamma", "3"],
    }.items():
        design_file(f"{name}.json", *options)
    design_file("part.json", "k-ary", "--k", "32", "--gamma", "3")
    design_file("product.json", "kronecker", "part.json", "part.json", "part.json")
    for name, text in {
        "cross.csv": "p,upper\n0,0.3\n0.5,0.4\n",
        "negative.csv": "p,upper\n-1,0.3\n",
        "falling.csv": "p,upper\n0.3,0.3\n0.2,0.4\n",
        "above.csv": "p,upper\n0,2.5\n",
        "strict.csv": "p,upper\n0,0.6\n0.5,1\n",
        "broken.json": '{"a":\n',
        "x.csv": "answer\na\n",
    }.items():
        Path(name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("command", "saying"), BAD, ids=[" ".join(command)[:60] for command, _ in BAD])
def test_the_fault_and_what_to_do(command: list[str], saying: list[str]) -> None:
    error, hint = refused(*command).splitlines()
    assert len(error) <= WIDTH, error
    assert len(hint) <= WIDTH, hint
    assert all(words in f"{error}\n{hint}" for words in saying), f"{error}\n{hint}"
    assert "array(" not in error
    for words, where in MISSES.items():
        assert words not in hint or not any(part in " ".join(command) for part in where), hint


def test_json_shares_standard_output_with_nothing() -> None:
    Path("x.csv").write_text("answer\nyes\nno\n", encoding="utf-8")
    for command in (["device", "warner.json", "--realised"], ["risk", "x.csv", "--keys", "answer", "--records"]):
        told = run(*command, "-", "--json", status=2)
        assert f"{command[-1]} - would both write to standard output" in json.loads(told.out)["error"]["message"]
    assert json.loads(run("release", "x.csv", "--init", "-o", "-", "--json").out)["output"] is None
    assert run("device", "warner.json", "--realised", "-").out.lstrip().startswith("{")
    assert run("risk", "x.csv", "--keys", "answer", "--records", "-", status=None).out.startswith("record,")


UNITS = "the number of units in the population"


@pytest.mark.parametrize(
    ("size", "saying"), [("1e308", UNITS), ("1e999", "must be a finite number, not"), ("1e-200", UNITS), ("0", UNITS)]
)
def test_a_population_beyond_all_reason_is_refused(size: str, saying: str) -> None:
    Path("x.csv").write_text("answer\nyes\nno\nno\n", encoding="utf-8")
    command = ["estimate", "x.csv", "--direct", "answer", "--population", "10000", "--denominator", size]
    refused(*command, saying=saying)

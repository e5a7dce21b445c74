"""What a command says comes next works: nobody is sent into an error."""

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.support.command_line import design_file, run

DESIGNS = {
    "kary": ["k-ary", "--categories", "a,b,c", "--gamma", "3"],
    "spaced": ["k-ary", "--categories", 'no,"yes, once",it\'s', "--gamma", "3"],
    "warner": ["warner", "--p", "0.7"],
    "direct": ["warner", "--p", "1"],
    "nothing": ["warner", "--p", "0.5", "--allow-unidentifiable"],
    "chow": ["chow", "--red", "6", "--blue", "4", "--draws", "2"],
    "diverse": ["l-diverse", "--k", "10", "--l", "3"],
    "revealing": ["l-diverse", "--categories", "a,b,c", "--l", "2"],
    "rappor": ["rappor", "--k", "25", "--gamma", "3"],
    "small-rappor": ["rappor", "--k", "3", "--gamma", "3"],
    "subset": ["subset", "--k", "1000000", "--gamma", "3"],
    "unidentifiable": ["extremal", "--pi", "1/4,1/4,1/4,1/4", "--gamma", "2"],
    "large": ["k-ary", "--k", "40", "--epsilon", "700"],
}
CURVES = {
    "all.csv": "p,lower,upper\n0,0,1\n",
    "curves.csv": "p,lower,upper\n0,0,0.4\n0.2,0,0.8\n0.5,0,1\n",
    "diagonal.csv": "p,upper\n0,0\n1,1\n",
}
COMMANDS = [
    *(["audit", f"{name}.json"] for name in [*DESIGNS, "product", "huge-product", "endless"]),
    *(["audit", f"{name}.json", "--gamma", "1"] for name in ("kary", "product", "nothing")),
    *(["audit", f"{name}.json", "--gamma", "2"] for name in ("kary", "spaced", "diverse", "product", "subset")),
    *(["audit", f"{name}.json", "--average-security", "1.1"] for name in ("kary", "revealing", "product")),
    ["audit", "kary.json", "--average-security", "1.0000000000001"],
    ["audit", "kary.json", "--average-security", "1.9"],
    ["audit", "diverse.json", "--average-security", "1.9"],
    ["audit", "kary.json", "--epsilon", "1e-30"],
    ["audit", "kary.json", "--rho", "0.1", "0.2", "--closed"],
    ["audit", "kary.json", "--curves", "all.csv"],
    ["audit", "diverse.json", "--curves", "all.csv"],
    ["audit", "chow.json", "--curves", "diagonal.csv", "--between", "lines"],
    ["convert", "--curves", "all.csv"],
    ["convert", "--curves", "curves.csv"],
    ["convert", "--curves", "diagonal.csv", "--between", "lines"],
    ["convert", "--rho", "0.1", "0.5", "--closed"],
    ["convert", "--epsilon", "1", "--k", "10"],
    ["convert", "--epsilon", "1e-30"],
    ["convert", "--epsilon", "700"],
    ["convert", "--gamma", "1e400"],
    ["convert", "--gamma", "1"],
    ["convert", "--beta", "4", "--k", "3"],
    ["convert", "--l", "5", "--k", "10"],
    ["convert", "--l", "2", "--k", "3"],
    ["convert", "--l", "7", "--k", "1000"],
    *(["improve", f"{name}.json"] for name in ("chow", "kary", "small-rappor", "subset")),
    *(["improve", f"{name}.json", "-o", "new.json"] for name in ("chow", "kary")),
    *(["improve", f"{name}.json", "--sensitive", label] for name, label in (("chow", "yes"), ("kary", "a"))),
    ["improve", "revealing.json", "--sensitive", "a"],
    ["improve", "diverse.json", "--allow-identity"],
    ["choose", "--k", "5", "--epsilon", "1"],
    ["choose", "--k", "1000", "--epsilon", "0.1", "--margin", "0.001"],
    ["choose", "--k", "4", "--gamma", "2", "--pi", "0.7,0.15,0.1,0.05", "--n", "500"],
    ["choose", "--k", "3", "--gamma", "1.0001", "--n", "10"],
    ["choose", "--k", "1000000", "--epsilon", "0.01", "--margin", "0.00001"],
    ["choose", "--k", "5", "--rho", "0.1", "0.5", "--closed", "-o", "planned.json"],
    ["choose", "--categories", 'no,"yes, once"', "--gamma", "3", "--n", "100"],
    ["choose", "--categories", ",".join("a" * i for i in range(1, 20)), "--gamma", "3"],
    ["design", "l-diverse", "--k", "10", "--l", "3"],
    ["design", "k-ary", "--k", "3", "--gamma", "3", "-o", "with space.json"],
    ["verify", "proof.json"],
    *(["device", f"{name}.json"] for name in ("kary", "spaced", "warner", "direct", "chow", "revealing", "product")),
    ["device", "warner.json", "-o", "sheets.html", "--dice"],
    ["device", "large.json", "--deck", "100"],
]
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b|\bCOLUMN\b")
TO_FILL_IN = re.compile(r"DATA\.csv|ANSWERS\.csv|allow more than gamma = 1|save it with -o|the same with")
"""What a last line says that has no command to be run as it stands."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that the commands read, made once."""
    folder = tmp_path_factory.mktemp("prepared")
    with contextlib.chdir(folder):
        _make_files()
    return folder


@pytest.fixture(autouse=True)
def files(prepared: Path, folder: Path) -> None:
    shutil.copytree(prepared, folder, dirs_exist_ok=True)


def _make_files() -> None:
    for name, options in DESIGNS.items():
        design_file(f"{name}.json", *options)
    run("design", "kronecker", "kary.json", "warner.json", "-o", "product.json")
    run("design", "kronecker", "large.json", "large.json", "-o", "endless.json")
    run("design", "kronecker", "large.json", "large.json", "large.json", "-o", "huge-product.json")
    run("audit", "kary.json", "--certificate", "proof.json")
    for name, text in CURVES.items():
        Path(name).write_text(text, encoding="utf-8")


def command_of(line: str) -> list[str] | None:
    """The words of the command at the end of a line, None when there is none or something has to be filled in."""
    found = re.search(r"(?:^Next: |: )maskwell (.*)$", line)
    return None if found is None or PLACEHOLDER.search(found[1]) else shlex.split(found[1])


def _tried(command: list[str]) -> str:
    for status in (0, 1):
        try:
            return run(*command, *(["--force"] if "-o" in command else []), status=status).out
        except AssertionError:
            continue
    raise AssertionError(" ".join(command))


@pytest.mark.parametrize("command", COMMANDS, ids=[" ".join(command)[:70] for command in COMMANDS])
def test_what_comes_next_works(command: list[str]) -> None:
    lines = _tried(command).splitlines()
    assert lines[-1].startswith("Next: "), lines[-1]
    assert max(map(len, lines)) <= 100, max(lines, key=len)
    following = command_of(lines[-1])
    if "save it with" in lines[-1]:
        kept = re.search(r"-o (\S+)", lines[-1])
        assert kept is not None
        _tried([*command, "-o", kept[1].rstrip(",")])
    if following is not None:
        _tried(following)
    else:
        assert TO_FILL_IN.search(lines[-1]), lines[-1]


@pytest.mark.parametrize(
    ("command", "saying"),
    [
        (["audit", "kary.json", "--gamma", "1"], "allow more than gamma = 1"),
        (["audit", "kary.json", "--average-security", "1.1"], "--gamma 1.22222222222222 -o design.json"),
        (["audit", "diverse.json"], "maskwell choose --k 10 --epsilon 1"),
        (["audit", "revealing.json"], "maskwell choose --categories a,b,c --epsilon 1"),
        (["audit", "huge-product.json"], "maskwell randomize DATA.csv --design COLUMN,COLUMN,COLUMN=huge-product.json"),
        (["convert", "--curves", "all.csv"], "maskwell convert --epsilon 1"),
        (["convert", "--l", "5", "--k", "10"], "maskwell design subset --k 10 --gamma 6 -o design.json"),
    ],
)
def test_where_it_once_went_wrong(command: list[str], saying: str) -> None:
    assert saying in _tried(command).splitlines()[-1]


def test_the_design_that_is_offered_meets_a_demand_on_average() -> None:
    last = _tried(["audit", "kary.json", "--average-security", "1.1"]).splitlines()[-1]
    _tried(command_of(last) or [])
    assert run("audit", "design.json", "--average-security", "1.1").status == 0

"""Designs, certificates, plans, receipts, matrices and curves that were changed at random: read, or refused.

Whatever a stranger's document holds, a reader gives a value or one of maskwell's own errors; so does everything that is
asked of the value then. One case in many goes through the command, with the rule for every input.
"""

import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import design_file, run
from tests.support.examples import EXAMPLES
from tests.support.fuzzing import check_ended, files_in, numbers, run_command
from tests.support.together import together

from maskwell import Demand
from maskwell.core.documents import fingerprint_of, from_json, read_document
from maskwell.designs import wire
from maskwell.engines.handwritten_files import read_curves, read_matrix
from maskwell.errors import DesignFileError, MaskwellError
from maskwell.microdata import load_plan, load_receipt
from maskwell.microdata.folder.receipt import receipt_from_dict
from maskwell.microdata.plans.release_plan import read_plan
from maskwell.microdata.stages.stage import acting, needed_columns
from maskwell.planning.improvement import improve
from maskwell.privacy.certificate import certify
from maskwell.privacy.certificate_check import verify_text
from maskwell.privacy.design_audit import audit
from maskwell.procedures.realisation import known_procedure
from maskwell.reports.demand_words import explain
from maskwell.reports.text.privacy_report import audit_report

PLAN = """
[release]
keys = ["sex", "region"]
match = 0.2
weights = "w"

[[protect]]
variables = "region"
within = ["sex"]
method = "method1"
theta = 0.3

[[protect]]
variables = ["sex", "age"]
method = "invariant"
max_change = "1/10"
forbid = [["f", "m"]]

[rules]
"""

WRONG: list[Any] = [None, True, False, 0, -1, 1, 2**32, 2**64, 10**400, 0.5, -0.0, 1e308]
WRONG += ["", "x", "0", "1/0", "1e999999999", "9" * 11_000, "\x00", "٣", "nan", "../../etc/passwd"]
WRONG += [[], [[]], [None], ["x", "x"], {}, {"count": 10**9}, {"count": -1}, {"a": {}}, {"tuple": [1, [2]]}]
WRONG += [{"date": "x"}, {"float": "nan"}, {"integer": "9" * 5000}, {"sets": {"size": 3}}]
"""What stands in the place of a field."""

Path_ = tuple[Any, ...]


def fields(form: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The way to every field, those that hold others included."""
    items = form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from fields(value, (*path, key))


def replaced(form: Any, path: Path_, change: Callable[[Any, Any], None]) -> Any:
    changed = json.loads(json.dumps(form))
    at = changed
    for key in path[:-1]:
        at = at[key]
    change(at, path[-1])
    return changed


def put(value: Any) -> Callable[[Any, Any], None]:
    def change(at: Any, key: Any) -> None:
        at[key] = value

    return change


def left_out(at: Any, key: Any) -> None:
    del at[key]


def one_more(at: Any, key: Any) -> None:
    if isinstance(at, list):
        at.insert(key, at[key])
    else:
        at[f"{key} "] = at[key]


def sealed(content: Any) -> Any:
    """A design with the fingerprint that a forger would give it."""
    if not isinstance(content, dict):
        return content
    covered = {key: value for key, value in content.items() if key not in ("provenance", "fingerprint")}
    with suppress(ValueError, TypeError, RecursionError):
        return {**content, "fingerprint": fingerprint_of(covered)}
    return content


@cache
def designs() -> dict[str, dict[str, Any]]:
    """The content of a design file of every structure."""
    few = {name: design for name, design in EXAMPLES.items() if design.has_reports_up_to(100)}
    found = {name: json.loads(wire.dumps(design)) for name, design in few.items()}
    return {name: content for name, content in found.items() if len(str(content)) < 4000}


@cache
def certificates() -> list[dict[str, Any]]:
    made = []
    for design in EXAMPLES.values():
        with suppress(MaskwellError):
            made.append(json.loads(certify(design, Demand.from_epsilon(1)).text()))
    return [content for content in made if len(str(content)) < 6000][::3]


def ask(design: Any) -> None:
    """All that is asked of a design that was read."""
    shown = audit(design, Demand.from_gamma(3)).to_dict()
    audit_report(shown, design, "d.json", "")
    explain(design, None)
    known_procedure(design)
    if design.has_entries_up_to(36):
        improve(design)


def only_our_errors(work: Callable[[Any], Any], given: Any, what: object = "") -> None:
    try:
        work(given)
    except MaskwellError:
        pass
    except BaseException as error:
        raise AssertionError(f"{type(error).__name__} for {what} in {str(given)[:2000]}") from error


def ask_read(content: Any) -> None:
    ask(wire.design_from_dict(content))


@together("name", sorted(designs()))
def test_every_field_of_a_design_with_every_wrong_value(name: str) -> None:
    content, draw = designs()[name], random.Random(name)
    ways = list(fields(content))
    for path in draw.sample(ways, min(len(ways), 8)):
        for change in (*map(put, draw.sample(WRONG, 4)), left_out, one_more):
            changed = sealed(replaced(content, path, change))
            only_our_errors(ask_read, changed, path)


NOTES = ["family", "parameters", "variables", "items", "samples", "wanted", "demand", "same_as", "warning", "notes"]


@pytest.mark.parametrize("note", [*NOTES, "given", "parity_loss", "asked", "written_out", "item_parities"])
def test_nothing_vouches_for_how_a_design_came_about(note: str) -> None:
    draw = random.Random(note)
    for content in draw.sample(list(designs().values()), 3):
        for value in [
            *draw.sample(WRONG, 5),
            {"p": "1e999999999"},
            {"draws": "1e18", "theta1": "1/3", "theta2": "1/4"},
        ]:
            for family in ("kuk", "warner"):
                made = {**content, "provenance": {"family": family, note: value}}
                with suppress(DesignFileError):
                    only_our_errors(ask_read, made)


@together("number", numbers(16))
def test_changed_certificates(number: int) -> None:
    draw = random.Random(number)
    content = draw.choice(certificates())
    for path in draw.sample(list(fields(content)), 5):
        for change in (*map(put, draw.sample(WRONG, 2)), left_out, one_more):
            changed = replaced(content, path, change)
            changed["seal"] = fingerprint_of({key: part for key, part in changed.items() if key != "seal"})
            only_our_errors(verify_text, json.dumps(changed), path)


def spoiled(text: str, draw: random.Random) -> str:
    """A text with a few letters changed, cut, doubled or replaced."""
    for _ in range(draw.choice([1, 1, 2, 5])):
        at, upto = sorted(draw.sample(range(len(text) + 1), 2)) if text else (0, 0)
        deep, long = "[" * draw.choice([1, 300]), "9" * draw.choice([1, 5000])
        part = draw.choice(["", "\x00", '"', deep, "e999999", "-", long, "é", "\\ud800", "{", text[at:upto]])
        text = text[:at] + part + text[draw.choice([at, min(len(text), at + 1), upto]) :]
    return text


RECEIPT: dict[str, Any] = {
    "maskwell": "receipt",
    "version": 1,
    "audience": "public",
    "rows": 3,
    "weights": None,
    "demonstration": False,
    "plan": {"release": {"intruder": "any-look"}, "protect": [{"variables": ["a"]}]},
    "randomness": {"commitment": "x"},
    "groups": [
        {
            "variables": ["a"],
            "within": [],
            "linked": [],
            "method": "pram",
            "invariance": "counts",
            "vif": {"a": 1.5},
            "missing": "unchanged",
        }
    ],
}


def with_design(receipt: dict[str, Any]) -> dict[str, Any]:
    design = next(iter(content for content in designs().values() if content["kind"] == "dense"))
    k = len(design["exact"]["columns"])
    states = [[i] for i in range(k)]
    group = {**receipt["groups"][0], "design": design, "states": states, "outputs": states}
    return {**receipt, "groups": [group]}


def with_stage(receipt: dict[str, Any]) -> dict[str, Any]:
    """An internal receipt: the stage of its group has everything that was counted."""
    group = with_design(receipt)["groups"][0]
    design, states = group.pop("design"), group.pop("states")
    counted = {"counts": [3] * len(states), "cells": [0] * len(states), "squares": None}
    stage = {
        **{name: group[name] for name in ("variables", "within", "invariance")},
        "linked": {},
        "states": states,
        "outputs": group.pop("outputs"),
        "design": design,
        **counted,
        "weights": [1.5] * len(states),
        "method": "method1",
        "derived": True,
        "notes": ["a note"],
    }
    return {**receipt, "audience": "internal", "groups": [{**group, "stage": stage}]}


def told(content: Any) -> None:
    """Read a receipt, and what the risk after its release needs of it."""
    receipt = receipt_from_dict(content)
    assert repr(receipt) and all(isinstance(one, dict) for one in receipt.plan.get("protect", []))
    stages = [group.stage for group in receipt.groups if group.stage is not None]
    assert needed_columns(acting(stages, ["a"]), ["a"])
    for stage in stages:
        width = len(stage.columns)
        assert {len(state) for state in (*stage.states, *stage.outputs)} <= {width}
        assert stage.mass.shape == stage.cells.shape == stage.counts.shape == (len(stage.states),)
        assert stage.fingerprint and stage.keeps.shape == stage.own.shape


@together("number", numbers(24))
def test_changed_receipts(number: int) -> None:
    draw = random.Random(number)
    content = draw.choice([RECEIPT, with_design(RECEIPT), with_stage(RECEIPT)])
    for path in draw.sample(list(fields(content)), 6):
        for change in (*map(put, draw.sample(WRONG, 3)), left_out, one_more):
            changed = replaced(content, path, change)
            only_our_errors(told, changed, path)


@together("number", numbers(50))
def test_spoiled_texts(number: int, tmp_path: Path) -> None:
    draw = random.Random(number)
    kept = list(designs().values())
    texts: list[tuple[str, str, Callable[[Path], Any]]] = [
        ("d.json", json.dumps(draw.choice(kept)), lambda path: ask(wire.load_design(path))),
        ("p.toml", PLAN, load_plan),
        ("r.json", json.dumps(with_design(RECEIPT)), load_receipt),
        ("c.json", json.dumps(draw.choice(certificates())), lambda path: verify_text(document(path))),
        ("m.csv", "a,b,c\nx,1/2,0.25\ny,1/2,0.75\n", lambda path: read_matrix(str(path))),
        ("m.json", "[[0.5, 0.25], [0.5, 0.75]]", lambda path: read_matrix(str(path))),
        ("c.csv", "p,lower,upper\n0,0,0.5\n0.5,0.1,1\n", lambda path: read_curves(str(path))),
    ]
    for name, text, reader in texts:
        path = tmp_path / name
        path.write_text(spoiled(text, draw), encoding="utf-8", newline="")
        only_our_errors(reader, path, path.read_text(encoding="utf-8")[:2000])


def document(path: Path) -> str:
    return read_document(path, error=DesignFileError, hint="-")


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
def test_every_entry_of_a_plan_with_a_wrong_value(value: Any) -> None:
    """As TOML would say it, where it can."""
    said = json.dumps(value) if not isinstance(value, dict | None) else "{ a = 1 }"
    lines = [line for line in PLAN.splitlines() if "=" in line]
    for line in lines:
        changed = PLAN.replace(line, f"{line.partition('=')[0]}= {said}")
        only_our_errors(read_plan, changed)


NUMBERS = ["1e99999", "1e-99999", "1e-999999999", "1e999999999", "1e400", "1e-400", "1e", "1e18", "1e1000", "1e-1000"]
NUMBERS += [
    "1/0",
    "0/0",
    "1/3",
    "١/٣",
    "½",
    "1_000",
    "0x10",
    " 1",
    "nan",
    "inf",
    "-inf",
    "-0",
    "0",
    "-1",
    "",
    " ",
    "1,5",
]
NUMBERS += ["9" * 2000, f"1/{'7' * 2000}", "70%", "\x00", "9" * 999, "0." + "9" * 900, f"1/{'7' * 900}"]
NUMBERS += ["9223372036854775807"]

TYPED = [
    "design warner --p N",
    "design simmons --p 0.7 --beta N",
    "design forced --truth N --yes 1/6 --no 1/6",
    "design kuk --theta1 N --theta2 0.2 --draws 3",
    "design kuk --theta1 0.7 --theta2 0.2 --draws N",
    "design chow --red N --blue 3 --draws 2",
    "design crosswise --q N",
    "design k-ary --k N --gamma 3",
    "design k-ary --k 3 --gamma N",
    "design k-ary --k 3 --epsilon N",
    "design k-ary --k 3 --beta N",
    "design k-ary --k 3 --rho N 0.5",
    "design k-ary --k 3 --rho 0.1 N",
    "design k-ary --k 3 --bayes-factor N",
    "design subset --k N --gamma 3",
    "design subset --k 5 --size N --gamma 3",
    "design l-diverse --k 5 --l N",
    "design bits --items N --epsilon 1",
    "design christofides --probabilities N,1/2",
    "design extremal --pi N,1/2 --gamma 3",
    "design rappor --k 4 --epsilon N",
    "design oue --k 4 --gamma N",
    "convert --gamma N",
    "convert --epsilon N",
    "convert --rho N 0.5",
    "convert --l N --k 9",
    "convert --l 3 --k N",
    "convert --gamma 3 --k N",
    "convert --beta N",
    "audit d.json --gamma N",
    "audit d.json --epsilon N",
    "audit d.json --prior N,0.5",
    "audit d.json --average-security N",
    "improve d.json --gamma N",
    "compare d.json d.json --pi N,0.5",
    "plan --k N --gamma 3",
    "plan --k 3 --gamma N",
    "plan --k 3 --gamma 3 --margin N",
    "plan --k 3 --gamma 3 --n N",
    "plan --k 3 --gamma 3 --n 100 --level N",
    "device d.json --deck N -o out.html --force",
    "device d.json --dice --faces N -o out.html --force",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    design_file("d.json", "warner", "--p", "0.7")
    monkeypatch.setattr(sys, "set_int_max_str_digits", lambda _: None)
    return tmp_path


@pytest.mark.parametrize("number", numbers(2))
def test_numbers_as_they_are_typed(number: int, folder: Path) -> None:
    draw = random.Random(number)
    for command in TYPED:
        value = draw.choice(NUMBERS)
        words = [value if word == "N" else word.replace("N,", f"{value},") for word in command.split()]
        done = run(*words, status=None)
        assert done.status in (0, 1, 2), (words, done.err)
        assert all(len(line) <= 100 for line in done.err.splitlines()), (words, done.err)


@pytest.mark.parametrize("number", numbers(2))
def test_changed_documents_through_the_commands(number: int, tmp_path: Path) -> None:
    draw = random.Random(number)
    design = draw.choice(list(designs().values()))
    texts = {
        "d.json": json.dumps(design),
        "c.json": json.dumps(draw.choice(certificates())),
        "p.toml": PLAN,
        "r.json": json.dumps(with_design(RECEIPT)),
        "m.csv": "1/2,0.25\n1/2,0.75\n",
        "curves.csv": "p,lower,upper\n0,0,0.5\n0.5,0.1,1\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(spoiled(text, draw), encoding="utf-8", newline="")
    (tmp_path / "data.csv").write_text("sex,region,age,w,a\nf,n,1,1,0\nm,s,2,1,1\nf,s,1,2,0\n")
    commands = [
        "audit d.json",
        "audit d.json --json --epsilon 1",
        "improve d.json",
        "compare d.json d.json",
        "verify c.json --json",
        "device d.json -o out.html",
        "design matrix m.csv",
        "convert --curves curves.csv",
        "release data.csv --plan p.toml -o out",
        "estimate data.csv --receipt r.json --variable a",
        "randomize data.csv --design a=d.json -o out.csv",
    ]
    before = files_in(tmp_path)
    ended = run_command(draw.choice(commands).split(), tmp_path)
    check_ended(ended, tmp_path, before)


def test_the_samples_are_good_before_they_are_changed() -> None:
    read_plan(PLAN.partition("[[protect]]")[0] + '[[protect]]\nvariables = "region"\nmethod = "method1"\ntheta = 0.3\n')
    receipt_from_dict(with_design(RECEIPT))
    told(with_stage(RECEIPT))
    assert certificates()
    for content in designs().values():
        wire.design_from_dict(from_json(json.dumps(content)))

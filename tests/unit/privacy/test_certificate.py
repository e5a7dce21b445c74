"""Certificates: what they claim is so, both programs agree on them, and no change of a digit goes unnoticed."""

import hashlib
import json
import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing
from tests.support import certificates as made
from tests.support.examples import ABC, EXAMPLES, WARNER, numbered
from tests.support.quiet import told
from tests.support.together import together

from maskwell import Categories, Demand
from maskwell.core.documents import fingerprint_of
from maskwell.core.exact import to_text
from maskwell.designs import Composed, Dense, Kronecker, Subset, Unary, Uniform, wire
from maskwell.errors import CertificateError, ParameterError, TooLargeError
from maskwell.privacy import Certificate, Lines, Smooth, Steps
from maskwell.privacy import certificate as module
from maskwell.privacy.certificate import certify
from maskwell.privacy.certificate_check import verify_certificate, verify_file, verify_text
from maskwell.privacy.design_audit import audit
from maskwell.privacy.provable_claims import Improves, proof_of, provable, provable_rows

NAMES = list(made.certificates())
STEPS = Steps.of(["0.2", "0.5"], ["0.4", "0.8", 1], closed_right=[False, True])


def both_hold(text: str) -> bool:
    """For maskwell and for the program of the page."""
    return made.maskwell_holds(text) and made.page_holds(text)


def neither_holds(text: str) -> bool:
    return not made.maskwell_holds(text) and not made.page_holds(text)


@together("name", NAMES)
def test_both_programs_find_that_it_holds_and_it_fits_the_schema(name: str) -> None:
    text = made.certificates()[name].text()
    assert [check for check in verify_text(text).checks if not check.ok] == []
    assert made.page_holds(text)
    validator().validate(json.loads(made.certificates()[name].text()))


@together("name", list(EXAMPLES))
def test_every_design_can_be_certified(name: str) -> None:
    proof = certify(EXAMPLES[name], Demand.from_epsilon(1))
    assert proof.claims["parity"] == to_text(EXAMPLES[name].parity_exact())
    assert both_hold(proof.text())


def validator() -> jsonschema.Draft202012Validator:
    designs = referencing.Resource.from_contents(wire.schema())
    registry: Any = referencing.Registry().with_resource("urn:maskwell:design:1", designs)
    return jsonschema.Draft202012Validator(module.schema(), registry=registry)


@together("curve", [STEPS, Lines.of([(0, 0), ("1/4", 1), (1, 1)])])
def test_curves_fit_the_schema(curve: Any) -> None:
    content = json.loads(certify(WARNER, Demand.from_curves(upper=curve)).text())
    validator().validate(content)
    content["claims"]["note"] = "added"
    assert not validator().is_valid(content)


@together("name", ["dense", "uniform", "mixture", "patterns", "subset", "l-diverse", "unary", "improved"])
def test_the_program_of_the_page_runs_on_its_own(name: str, tmp_path: Path) -> None:
    proof = made.certificates()[name]
    proof.save(tmp_path / "proof.json")
    command = [sys.executable, "-I", "-S", str(made.CHECKER), str(tmp_path / "proof.json")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0 if proof.claims.get("meets", True) else 1, "")
    assert ran.stdout.count("ok ") >= len(ran.stdout.splitlines()) - (not proof.claims.get("meets", True)) >= 6
    Path(tmp_path / "proof.json").write_text(proof.text().replace('"parity": "', '"parity": "1'), encoding="utf-8")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_the_program_of_the_page_is_short_and_needs_neither_maskwell_nor_assertions(tmp_path: Path) -> None:
    text = made.CHECKER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    imported = {line.split()[1] for line in text.splitlines() if line.startswith("from ")}
    assert imported == {"decimal", "fractions"}
    assert "import hashlib, json, math, sys\n" in text
    made.certificates()["dense"].save(tmp_path / "proof.json")
    command = [sys.executable, "-O", str(made.CHECKER), str(tmp_path / "proof.json")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (1, "NO form")


def digits_of(name: str, part: str, aside: set[str]) -> list[tuple[Any, Any]]:
    """Places and values with a digit in one part of a certificate."""
    content = json.loads(made.certificates()[name].text())
    found = [((part, *place), value) for place, value in made.leaves(content[part]) if made.has_digit(value)]
    return [(place, value) for place, value in found if not aside & set(place)]


def claimed(name: str) -> list[tuple[Any, Any]]:
    """Digits of claims, demand, witness and garbling; labels and provenance of the original are no claims."""
    found = digits_of(name, "claims", {"provenance", "inputs", "outputs"})
    return [(place, value) for place, value in found if place[-1] != "fingerprint"]


def designed(name: str) -> list[tuple[Any, Any]]:
    found = digits_of(name, "design", {"provenance", "fingerprint", "outputs", "maskwell"})
    return [(place, value) for place, value in found if "inputs" not in place[:-1]]


def test_hundreds_of_changes_of_a_digit_are_noticed() -> None:
    chance = random.Random(20240501)
    for n in range(200):
        changed = made.one_digit(made.certificates()[NAMES[n % len(NAMES)]].text(), chance)
        assert neither_holds(changed), changed


@together(("digits", "seed"), [(claimed, 20240502), (designed, 20240503)])
def test_hundreds_of_changes_of_a_digit_are_noticed_though_sealed_again(digits: Any, seed: int) -> None:
    chance, places = random.Random(seed), {name: digits(name) for name in NAMES}
    named = [name for name in NAMES if places[name]]
    for n in range(200):
        name = named[n % len(named)]
        place, value = chance.choice(places[name])
        content = json.loads(made.certificates()[name].text())
        changed = made.sealed_again(made.replaced(content, place, made.other_digit(value, chance)))
        assert neither_holds(changed), (name, place, value)


def test_whatever_is_changed_what_holds_is_what_would_be_made() -> None:
    """What holds is the certificate of another design or demand, for the program of the page as well.
    Or the two tests above would not show that the claims are checked.
    """
    chance, held = random.Random(20240505), 0
    for n in range(400):
        original = made.certificates()[NAMES[n % len(NAMES)]]
        text = made.sealed_again(made.reshaped(original.content, chance))
        holds = made.maskwell_holds(text)
        assert not holds or made.page_holds(text), text
        if holds and text != original.text():
            held += 1
            assert json.loads(made.made_honestly(text)) == json.loads(text)
    assert 0 < held < 20
    for proof in made.certificates().values():
        assert made.sealed_again(proof.content) == proof.text()


def lie(name: str, place: tuple[Any, ...], value: Any) -> str:
    return made.sealed_again(made.replaced(made.certificates()[name].content, place, value))


LIES: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "a lower parity": ("dense", ("claims", "parity"), "5/2"),
    "a lower parity of a subset design": ("large subset", ("claims", "parity"), "2"),
    "a lower parity of a product": ("kronecker", ("claims", "parity"), "12"),
    "a bound where there is none": ("l-diverse", ("claims", "parity"), "3"),
    "no bound where there is one": ("dense", ("claims", "parity"), "inf"),
    "a demand met": ("subset", ("claims", "meets"), True),
    "a demand met by no bound": ("l-diverse", ("claims", "meets"), True),
    "met as a number": ("dense", ("claims", "meets"), 1),
    "a demand not met": ("uniform", ("claims", "meets"), False),
    "a larger bound": ("subset", ("claims", "demand", "gamma"), "3"),
    "a larger epsilon": ("subset", ("claims", "demand", "stated", "epsilon"), "1"),
    "an epsilon without end": ("subset", ("claims", "demand", "stated", "epsilon"), "9" * 9),
    "another rho": ("kronecker", ("claims", "demand", "stated", "rho1"), "1/1000"),
    "rho the other way round": ("dense", ("claims", "demand", "stated", "rho2"), "1/20"),
    "closed or not": ("mixture of equals", ("claims", "demand", "stated", "closed"), False),
    "strict or not": ("mixture of equals", ("claims", "demand", "strict"), False),
    "closed as a number": ("mixture of equals", ("claims", "demand", "stated", "closed"), 1),
    "a bound that was given": ("dense", ("claims", "demand", "derived"), False),
    "another language": ("mixture", ("claims", "demand", "stated", "language"), "gamma"),
    "a language nobody speaks": ("mixture", ("claims", "demand", "stated", "language"), "delta"),
    "admissible": ("dense that fails C1", ("claims", "admissible", "exactly"), True),
    "not admissible": ("uniform", ("claims", "admissible", "exactly"), False),
    "another row that fails": ("dense that fails C1", ("claims", "admissible", "row"), 3),
    "the other condition": ("dense that fails C2", ("claims", "admissible", "fails"), "C1"),
    "a witness of another row": ("patterns", ("claims", "admissible", "witness", 0, "set"), [1]),
    "a larger weight": ("patterns", ("claims", "admissible", "witness", 0, "weight"), "1/4"),
    "no witness": ("patterns", ("claims", "admissible", "witness"), []),
    "rows that are not merged": ("dense with shared witnesses", ("claims", "admissible", "witness", 0, "rows"), [0]),
    "no impossible row": ("dense with shared witnesses", ("claims", "admissible", "impossible"), []),
    "admissible without a bound": ("l-diverse", ("claims", "admissible"), {"exactly": True, "level": "inf"}),
    "nothing about admissibility": ("uniform", ("claims", "admissible"), None),
    "a fraction not in lowest terms": ("dense", ("claims", "parity"), "14/4"),
    "a leading zero": ("dense", ("claims", "parity"), "07/2"),
    "a decimal number": ("dense", ("claims", "parity"), "3.5"),
    "a float": ("dense", ("claims", "parity"), 3.5),
    "a minus": ("dense", ("claims", "demand", "gamma"), "-9"),
    "an unknown claim": ("dense", ("claims", "recommended"), True),
    "an unknown part": ("dense", ("note",), "true"),
    "an unknown key in the demand": ("dense", ("claims", "demand", "note"), "x"),
    "an unknown key in what is stated": ("dense", ("claims", "demand", "stated", "note"), "x"),
    "an unknown key in the integers": ("uniform", ("design", "exact", "size"), 3),
    "an unknown key in the design": ("uniform", ("design", "note"), "x"),
    "another version": ("dense", ("version",), 2),
    "a version as a float": ("dense", ("version",), 1.0),
    "a version as a truth value": ("dense", ("version",), True),
    "another kind": ("subset", ("design", "kind"), "l-diverse"),
    "a kind nobody knows": ("subset", ("design", "kind"), "superset"),
    "a demand in its own language": ("mixture", ("claims", "demand", "stated"), {"language": "delta", "delta": "7"}),
    "a demand not in lowest terms": ("dense", ("claims", "demand", "stated", "rho1"), "2/20"),
    "an integer with a leading zero": ("mixture", ("design", "exact", "truth"), "06"),
    "an entry not in lowest terms": ("improved", ("claims", "improves", "garbling"), "doubled entry"),
    "claims that are a list": ("dense", ("claims",), []),
    "claims that are nothing": ("dense", ("claims",), None),
    "a design that is nothing": ("dense", ("design",), None),
    "a design that is a text": ("dense", ("design",), "dense"),
    "swapped columns": ("dense", ("design", "exact", "columns"), [["1", "4"], ["7", "3"]]),
    "a negative integer": ("dense", ("design", "exact", "columns", 0), ["12", "-2"]),
    "bits that hide the truth": ("unary", ("design", "exact", "keep"), "1"),
    "another parity of the original": ("improved", ("claims", "improves", "parity"), "3"),
    "a garbling without its last entry": ("improved", ("claims", "improves", "garbling"), "short"),
    "a garbling out of order": ("improved", ("claims", "improves", "garbling"), "turned"),
    "an entry twice": ("improved", ("claims", "improves", "garbling"), "double"),
    "an entry moved": ("improved", ("claims", "improves", "garbling", 0, 0), 1),
    "an entry outside": ("improved", ("claims", "improves", "garbling", 0, 1), 40),
    "an entry from the end": ("improved", ("claims", "improves", "garbling", 0, 0), -3),
    "a place that is a truth value": ("improved", ("claims", "improves", "garbling", 0, 0), False),
    "an entry of zero": ("improved", ("claims", "improves", "garbling", 0, 2), "0"),
    "other truths": ("improved", ("claims", "improves", "original", "inputs"), ["b", "a", "c"]),
    "an original not written out": ("improved", ("claims", "improves", "original"), WARNER.to_dict()),
}
FORM = {
    "an unknown key in the design",
    "a demand not in lowest terms",
    "an integer with a leading zero",
    "an entry not in lowest terms",
    "a garbling out of order",
}
"""Another way to write the same, or something beside it: nothing false is claimed, and only maskwell minds."""
CHANGES = {
    "short": lambda entries: entries[:-1],
    "turned": lambda entries: entries[::-1],
    "double": lambda entries: [entries[0], *entries],
    "doubled entry": lambda entries: [[*entries[0][:2], doubled(entries[0][2])], *entries[1:]],
}


def doubled(fraction: str) -> str:
    above, _, below = fraction.partition("/")
    return f"{2 * int(above)}/{2 * int(below or 1)}"


@together("what", list(LIES))
def test_a_lie_is_noticed_though_sealed_again(what: str) -> None:
    name, place, value = LIES[what]
    original = made.certificates()[name]
    if isinstance(value, str) and value in CHANGES:
        value = CHANGES[value](original.claims["improves"]["garbling"])
    text = lie(name, place, value)
    assert text != original.text()
    assert not made.maskwell_holds(text)
    assert made.page_holds(text) is (what in FORM)


def forged(design: dict[str, Any], claims: dict[str, Any]) -> str:
    """A certificate of a design that no maskwell would make, with claims that fit it at first sight."""
    head = {"maskwell": "design", "version": 1, "provenance": {}}
    content = {"maskwell": "certificate", "version": 1, "design": head | design}
    common = {"demand": GAMMA_ONE, "meets": True}
    return made.sealed_again({**content, "claims": common | claims})


GAMMA_ONE = {"stated": {"language": "gamma", "gamma": "1"}, "derived": True, "gamma": "1", "strict": False}
HEAD = {"maskwell": "design", "version": 1}
HALF = {"denominator": "2", "truth": "1"}


def of(kind: str, k: Any, outputs: Any, /, **exact: Any) -> dict[str, Any]:
    return {"kind": kind, "inputs": {"count": k}, "outputs": outputs, "exact": exact}


def sets(kind: str, size: Any, k: int, /, **exact: Any) -> dict[str, Any]:
    return of(kind, k, {"sets": {"size": size}}, **exact)


def silent(outputs: int = 1, columns: tuple[str, ...] = ("1", "1"), whole: str = "1") -> dict[str, Any]:
    """A matrix whose only report comes always."""
    return of("dense", 2, {"count": outputs}, denominators=[whole, "1"], columns=[[n] for n in columns])


def witness(level: str, size: Any, weight: str) -> dict[str, Any]:
    return {"exactly": True, "level": level, "witness": [{"size": size, "weight": weight}], "impossible": []}


def met_by(stated: dict[str, Any], gamma: str, strict: Any = False) -> dict[str, Any]:
    """A demand, in the first language that it names, or rho."""
    language = "rho" if "rho1" in stated else next(iter(stated))
    said = {"stated": {"language": language, **stated}, "derived": True, "gamma": gamma, "strict": strict}
    return {"demand": said, "meets": True}


def said(parity: str, admissible: dict[str, Any], **stated: Any) -> dict[str, Any]:
    return {"parity": parity, "admissible": admissible, **(met_by(stated, stated["gamma"]) if stated else {})}


COIN = of("uniform", 2, {"count": 2}, **HALF)
COIN_CLAIMS = said("3", witness("3", 1, "1/2"), gamma="9")
SILENT = {"exactly": False, "level": "1", "size": 0, "fails": "C2", "parity": "1", "values": 1}
SILENT_CLAIMS = said("1", {name: value for name, value in SILENT.items() if name != "size"} | {"row": 0})
CLOSE = "3.499999999999999"
FORGERIES = {
    "a set that shuns the truth": forged(
        sets("subset", 2, 4, denominator="4", include="1", size=2), said("1/3", witness("1/3", 2, "3/2"))
    ),
    "bits that shun the truth": forged(sets("unary", None, 4, denominator="4", keep="1", flip="3"), said("1", SILENT)),
    "more labels than reports": forged(silent(outputs=3), SILENT_CLAIMS),
    "bits with chances above one and below zero": forged(
        sets("unary", None, 4, denominator="1", keep="2", flip="-1"),
        said("4", {**SILENT, "level": "4", "fails": "C1"}, gamma="4"),
    ),
    "more members than categories": forged(
        sets("subset", 5, 3, denominator="1", include="2", size=5), said("5/4", witness("5/4", 5, "6/5"), gamma="4")
    ),
    "fewer members than none": forged(
        sets("subset", -1, 3, denominator="1", include="-1", size=-1), said("2", witness("2", -1, "3/2"), gamma="4")
    ),
    "members by halves": forged(
        sets("subset", 1.5, 3, denominator="4", include="3", size=1.5),
        said("3.0", witness("3.0", 1.5, "0.5"), gamma="4"),
    ),
    "categories by halves": forged(
        of("uniform", 2.5, {"count": 2}, **HALF), said(CLOSE, witness(CLOSE, 1, "0.5000000000000001"), gamma="4")
    ),
    "a truth without a column": forged(silent(columns=("1", "1", "0")), SILENT_CLAIMS),
    "digits of another script": forged(silent(whole="١"), SILENT_CLAIMS),
    "an exponent": forged(silent(columns=("1e1", "1"), whole="10"), SILENT_CLAIMS),
    "an epsilon below zero": forged(silent(), SILENT_CLAIMS | met_by({"epsilon": "-1"}, "1")),
    "no chances for rho": forged(COIN, COIN_CLAIMS | met_by({"rho1": "-1", "rho2": "2", "closed": False}, "4")),
    "closed as a list": forged(COIN, COIN_CLAIMS | met_by({"rho1": "1/4", "rho2": "1/2", "closed": []}, "3", [])),
    "two demands in one": forged(COIN, COIN_CLAIMS | met_by({"gamma": "9", "epsilon": "1/10"}, "9")),
    "a name that prints as more lines": forged(COIN, COIN_CLAIMS | {"x\nok the demand is met": None}),
}


@together("signs", ["-1000000000", "1e1000000000", "1e-1000000000", "1000000000"])
def test_numbers_without_end_are_refused_at_once(signs: str) -> None:
    proof = made.certificates()["subset"].content
    texts = [
        made.sealed_again(made.replaced(proof, ("claims", "demand", "stated", "epsilon"), signs)),
        made.sealed_again(made.replaced(proof, ("design", "exact", "include"), signs)),
    ]
    assert not any(made.maskwell_holds(text) or made.page_holds(text) for text in texts)


MANY = {"kind": "uniform", "inputs": {"count": 2**32 - 1}, "outputs": {"count": 2**32 - 1}, "exact": HALF}
MANY_FIXED = {**MANY, "kind": "mixture", "exact": {**HALF, "fixed": ["1"]}}
MANY_SETS = {**MANY, "kind": "patterns", "outputs": {"count": 1}}
ONE_CELL = {"inputs": {"cells": ["a"]}, "outputs": {"cells": ["a"]}, "exact": {"parts": [HEAD | MANY]}}
MANY_CELLS = {"kind": "blocks", **ONE_CELL}
LARGE = {
    "uniform": MANY,
    "mixture": MANY_FIXED,
    "patterns": {**MANY_SETS, "exact": {**HALF, "inside": "2", "outside": "1", "weights": [], "sets": []}},
    "blocks": MANY_CELLS,
    "composed": {**MANY, "kind": "composed", "exact": {"first": HEAD | MANY_CELLS, "then": HEAD | MANY_CELLS}},
    "kronecker": {**MANY, "kind": "kronecker", "exact": {"factors": [HEAD | MANY_CELLS]}},
}


def test_files_that_ask_for_billions_are_refused_and_products_may_have_no_bound() -> None:
    """In one process with little memory and little time for all of them, each told as it is refused."""
    texts = []
    for name, design in LARGE.items():
        improves = {"original": json.loads(forged(design, {}))["design"], "parity": "3", "garbling": []}
        texts.append((name, forged(design, COIN_CLAIMS)))
        texts.append((f"{name} improved", forged(design, COIN_CLAIMS | {"improves": improves})))
    run = "import json, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30,) * 2);"
    run += "from tests.support import certificates as made\nfor name, text in json.load(sys.stdin):"
    run += " print(name, made.maskwell_holds(text), made.page_holds(text), flush=True)"
    options: Any = {"capture_output": True, "text": True, "cwd": made.CHECKER.parents[2], "timeout": 30}
    ran = subprocess.run([sys.executable, "-c", run], input=json.dumps(texts), check=False, **options)
    assert ran.stdout.splitlines() == [f"{name} False False" for name, _ in texts], ran.stderr
    assert ran.returncode == 0
    yes_no = Categories.of(["yes", "no"])
    proof = certify(Kronecker.of([Uniform.from_gamma(10**400, yes_no), Uniform.of(1, yes_no)]))
    assert proof.claims["parity"] == "inf"
    assert both_hold(proof.text())
    better, proof = made.improved(EXAMPLES["l-diverse k=3 l=2"], allow_identity=True)
    text = certify(better, improvement=proof).text()
    assert json.loads(text)["claims"]["parity"] == "inf"
    assert both_hold(text)


@together("what", list(FORGERIES))
def test_a_design_that_cannot_be_is_noticed(what: str) -> None:
    assert neither_holds(FORGERIES[what])


def test_a_fingerprint_a_number_and_a_column_sum_that_are_wrong_are_noticed() -> None:
    content = json.loads(made.certificates()["dense"].text())
    content["design"]["fingerprint"] = WARNER.fingerprint
    rest = {key: part for key, part in content.items() if key != "seal"}
    text = Certificate({**rest, "seal": fingerprint_of(rest)}).text()
    assert [check.name for check in verify_text(text).failed] == ["design"]
    assert not made.page_holds(text)
    content = json.loads(certify(WARNER).text())
    content["design"]["provenance"] = {"parity_loss": math.nan}
    unsealed = {key: part for key, part in content.items() if key != "seal"}
    written = json.dumps(unsealed, sort_keys=True, separators=(",", ":"))
    content["seal"] = "sha256:" + hashlib.sha256(written.encode()).hexdigest()
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    assert neither_holds(text)
    silent = Dense.of([["1/4", "1/4"], ["1/4", "1/4"], ["1/2", "1/2"]])
    proof = certify(silent, improvement=Improves.of(Dense.of([[1, 1]]), [(0, 0, 1), (0, 1, 1), (0, 2, 1)]))
    assert made.page_holds(proof.text())
    wrong = made.replaced(proof.content, ("claims", "improves", "garbling", 0, 2), "1/2")
    wrong = made.sealed_again(made.replaced(wrong, ("claims", "improves", "garbling", 1, 2), "3/2"))
    assert neither_holds(wrong)
    many = Uniform.of("1/2", Categories.numbered(2**32 - 1))
    assert Improves.of(many, []).fault(many) == "column 0 of the garbling sums to 0, not 1"


@together("part", ["maskwell", "version", "design", "claims", "seal"])
def test_a_missing_part_is_noticed(part: str) -> None:
    content = {key: value for key, value in made.certificates()["dense"].content.items() if key != part}
    text = json.dumps(content, indent=1) + "\n"
    assert neither_holds(text)


@together("name", NAMES)
def test_a_missing_claim_is_noticed(name: str) -> None:
    content = made.certificates()[name].content
    for gone in content["claims"]:
        claims = {key: value for key, value in content["claims"].items() if key != gone}
        text = made.sealed_again({**content, "claims": claims})
        assert gone == "improves" or not made.maskwell_holds(text), gone
        assert gone == "improves" or not made.page_holds(text), gone


@together(
    ("find", "put", "words"),
    [
        ('"meets": true', '"meets": true, "meets": true', "repeated"),
        ('"version": 1,\n "design"', '"version": 1, "maskwell": "certificate",\n "design"', "repeated"),
    ],
)
def test_a_repeated_key_is_noticed(find: str, put: str, words: str) -> None:
    text = made.certificates()["dense"].text()
    assert find in text
    changed = text.replace(find, put)
    assert words in verify_text(changed).failed[0].words
    assert not made.page_holds(changed)


def test_a_float_is_read_in_its_shortest_form_only() -> None:
    """Another text of the same float would have the same seal."""
    coin = WARNER.with_provenance(parity_loss=0.30000000000000004)
    text = certify(coin).text()
    assert made.maskwell_holds(text)
    changed = text.replace("0.30000000000000004", "0.30000000000000003")
    assert json.loads(changed) == json.loads(text)
    assert "shortest" in verify_text(changed).failed[0].words
    assert not made.page_holds(changed)


@together("text", ["", "[]", "null", "3", '{"maskwell": "design"}', "{", "\x00", "[" * 100_000])
def test_what_is_no_certificate_is_said_to_be_none(text: str) -> None:
    with told(CertificateError):
        verify_text(text)
    assert not made.page_holds(text)


@together("content", [None, [], 3, "x", {}, {"maskwell": "certificate"}, {1: 2, "maskwell": "certificate"}])
def test_anything_can_be_given(content: Any) -> None:
    assert not verify_certificate(content).ok


@together(
    "demand",
    [
        Demand.from_curves(upper=STEPS),
        Demand.from_curves(upper=STEPS, closed=True),
        Demand.from_curves(lower=Steps.of(["0.5"], [0, "0.1"], closed_right=[True]), upper=STEPS),
        Demand.from_curves(upper=Lines.of([(0, 0), ("1/4", 1), (1, 1)])),
        Demand.from_curves(lower=Lines.of([(0, 0), ("2/5", "1/5"), (1, 1)])),
        Demand.from_curves(upper=Steps.of(["1/2"], ["3/4", 1], points=[("1/4", "2/5")])),
    ],
)
def test_curves_are_worked_out_anew(demand: Demand) -> None:
    proof = certify(WARNER, demand)
    assert proof.claims["demand"]["derived"] is True
    assert proof.claims["demand"]["gamma"] == to_text(demand.gamma_exact)
    assert proof.claims["meets"] == demand.met_by(WARNER)
    assert verify_text(proof.text()).ok
    assert not made.page_holds(proof.text()), "the page must not vouch for what it does not work out"
    chance = random.Random(20240504)
    for place, value in list(made.leaves(proof.content["claims"]["demand"])):
        if place[0] != "stated" and made.has_digit(value):
            changed = made.replaced(proof.content, ("claims", "demand", *place), made.other_digit(value, chance))
            assert not made.maskwell_holds(made.sealed_again(changed))


def test_a_function_is_taken_as_given_unless_it_is_said_to_allow_everything() -> None:
    proof = certify(WARNER, Demand.from_curves(upper=Smooth.of(lambda p: p ** (1 / 4)), closed=True))
    assert proof.claims["demand"]["derived"] is False
    assert proof.claims["demand"]["stated"]["upper"] == "function"
    found = verify_text(proof.text())
    assert found.ok
    assert any("as given" in check.words for check in found.checks)
    assert not made.page_holds(proof.text())
    content = json.loads(certify(Dense.of([[1, 0], [0, 1]])).text())
    stated = {"language": "curves", "lower": None, "upper": "function", "closed": False}
    claimed = {"stated": stated, "derived": False, "gamma": "inf", "strict": False}
    for gamma in ("inf", "1/2"):
        text = with_claims(content, demand={**claimed, "gamma": gamma}, meets=gamma == "inf")
        assert not made.maskwell_holds(text)
        assert not made.page_holds(text)
    everything = {"stated": {**stated, "upper": {"boundary": "inf"}}, "derived": True, "gamma": "inf", "strict": False}
    assert not made.maskwell_holds(with_claims(content, demand=everything, meets=True))
    with pytest.raises(ParameterError, match="does not state"):
        certify(WARNER, Demand("gamma", "gamma = 3", WARNER.parity_exact()))


@together(
    ("entries", "gamma", "given"),
    [
        (["0.6666666666666667", "0.3333333333333333"], "2", ["design"]),
        (["2/3", "1/3"], "1.9999999999", ["demand"]),
        (["0.6666666666666667", "0.3333333333333333"], 1.9999999999, ["design", "demand"]),
    ],
)
def test_slack_is_claimed_where_it_decides_and_checked_by_both(
    entries: list[str], gamma: Any, given: list[str]
) -> None:
    design, demand = Dense.of([entries, entries[::-1]]), Demand.from_gamma(gamma)
    proof = certify(design, demand)
    assert proof.claims["meets"] is demand.met_by(design) is audit(design, demand).meets is True
    assert proof.claims["slack"] == {"relative": "1/1000000000", "given_as_decimals": given}
    validator().validate(json.loads(proof.text()))
    found = verify_text(proof.text(), design=design)
    assert found.ok
    assert found.meets
    assert any("within 1e-9" in check.words for check in found.checks)
    assert made.page_holds(proof.text())


def with_claims(content: Any, **claims: Any) -> str:
    """Sealed again; a claim of None is taken out."""
    kept = {name: value for name, value in {**content["claims"], **claims}.items() if value is not None}
    return made.sealed_again({**content, "claims": kept})


def test_slack_that_nobody_declared_is_noticed() -> None:
    near = Dense.of([["0.6666666666666667", "0.3333333333333333"], ["0.3333333333333333", "0.6666666666666667"]])
    proof = json.loads(certify(near, Demand.from_gamma(2)).text())
    slack, fractions = proof["claims"]["slack"], {**proof["design"], "provenance": {}}
    texts = {
        "a larger slack": with_claims(proof, slack={**slack, "relative": "1/100000000"}),
        "no slack": with_claims(proof, slack=None),
        "a design of fractions": with_claims({**proof, "design": fractions}),
        "another source": with_claims(proof, slack={**slack, "given_as_decimals": ["demand"]}),
        "the source as a text": with_claims(proof, slack={**slack, "given_as_decimals": "design"}),
        "slack for a demand that is met": with_claims(
            json.loads(certify(near, Demand.from_gamma(3)).text()), slack=slack
        ),
        "slack without a demand": with_claims(json.loads(certify(near).text()), slack=slack),
        "not met, though it is": with_claims(proof, meets=False, slack=None),
    }
    for name, text in texts.items():
        assert neither_holds(text), name


def test_slack_is_not_that_of_fractions_and_never_reaches_a_bound_that_must_not_be_reached() -> None:
    near = Dense.of([["0.6666666666666667", "0.3333333333333333"], ["0.3333333333333333", "0.6666666666666667"]])
    fractions = Dense.of(near.exact_matrix())
    assert fractions == near
    proof = certify(near, Demand.from_gamma(2)).to_dict()
    assert verify_certificate(proof, design=near).ok
    assert not verify_certificate(proof, design=fractions).ok
    nine, above = (Dense.of([[p, q], [q, p]]) for p, q in (("0.9", "0.1"), ("0.90000000001", "0.09999999999")))
    for design in (nine, above):
        opened, closed = (Demand.from_rho("0.1", "0.5", closed=closed) for closed in (False, True))
        assert opened.met_by(design)
        assert not closed.met_by(design)
        assert certify(design, closed).claims["meets"] is False


@together("demand", [Demand.from_curves(), Demand.from_curves(upper=Smooth.of(lambda p: p * 0 + 1))])
def test_what_allows_everything_is_not_certified(demand: Demand) -> None:
    assert demand.gamma_exact == math.inf
    with pytest.raises(ParameterError, match="allows any parity, so a certificate would prove nothing"):
        certify(WARNER, demand)


def nothing(kind: str, inputs: Any, outputs: Any = (), /, **exact: Any) -> dict[str, Any]:
    return {"kind": kind, "inputs": inputs, "outputs": list(outputs) if outputs == () else outputs, "exact": exact}


NO_FACTORS = nothing("kronecker", {"product": 0}, {"product": 0}, factors=[])
NOTHING: dict[str, dict[str, Any]] = {
    "a product of nothing": NO_FACTORS,
    "a product of an empty product": nothing("kronecker", {"product": 1}, {"product": 1}, factors=[HEAD | NO_FACTORS]),
    "a matrix without rows": nothing("dense", ["a"], denominators=["1"], columns=[[]]),
    "a matrix without columns": nothing("dense", [], denominators=[], columns=[]),
    "no blocks": nothing("blocks", {"cells": []}, parts=[]),
    "no steps": nothing("composed", []),
    "no sets": nothing("patterns", ["a", "b"], denominator="1", outside="1", inside="1", weights=[], sets=[]),
    "a mixture of nothing": nothing("mixture", [], denominator="1", truth="1", fixed=[]),
    "a number of truths that is a truth value": nothing("uniform", {"count": True}, **HALF),
    "no truths": nothing("uniform", {"count": 0}, **HALF),
    "a negative probability": nothing(
        "dense", ["a", "b"], ["a", "b"], denominators=["1", "1"], columns=[["2", "-1"], ["1", "0"]]
    ),
}


@together("name", NOTHING)
@together("parity", ["1", "inf"])
def test_a_design_of_nothing_is_refused_by_both(name: str, parity: str) -> None:
    design = {"maskwell": "design", "version": 1, **NOTHING[name], "provenance": {}}
    covered = {key: value for key, value in design.items() if key != "provenance"}
    design["fingerprint"] = fingerprint_of(covered)
    content = {"maskwell": "certificate", "version": 1, "design": design}
    text = made.sealed_again({**content, "claims": {"parity": parity, "admissible": None}, "seal": ""})
    assert neither_holds(text)


@together("epsilon", ["0", "1/1000000", "1", "7/3", "20", "700"])
def test_epsilon_is_rounded_down_the_same_way_by_both(epsilon: str) -> None:
    text = certify(Uniform.from_gamma("101/100", ABC), Demand.from_epsilon(epsilon)).text()
    assert both_hold(text)


def test_composed_designs_are_certified_by_their_matrix_unless_too_large() -> None:
    twice = Composed.of(WARNER, WARNER)
    proof = certify(twice)
    assert proof.content["design"]["kind"] == "dense"
    assert proof.content["design"]["provenance"]["written_out"]["fingerprint"] == twice.fingerprint
    assert verify_certificate(proof.to_dict(), design=twice).ok
    assert not verify_certificate(proof.to_dict(), design=WARNER).ok
    inner = certify(Kronecker.of([twice, WARNER]))
    assert [factor["kind"] for factor in inner.content["design"]["exact"]["factors"]] == ["dense", "uniform"]
    composed = EXAMPLES["composed uniform"]
    proof = certify(provable(composed)).to_dict()
    parity = composed.parity_exact()
    claims = {"parity": to_text(parity), "admissible": proof_of(composed, parity)}
    content = {**proof, "design": composed.to_dict(), "claims": claims}
    assert neither_holds(made.sealed_again(content))
    large = Uniform.from_gamma(3, numbered(5000))
    with pytest.raises(TooLargeError, match="written out"):
        certify(Composed.of(large, large))
    with pytest.raises(TooLargeError, match="written out"):
        provable_rows(Unary.rappor_from_gamma(3, numbered(10**6)))
    with pytest.raises(TooLargeError, match="written out"):
        provable_rows(Subset.from_gamma(3, numbered(40), size=20))
    product = EXAMPLES["kronecker of two"].to_dict()
    text = lie("improved product", ("claims", "improves", "original"), product)
    assert neither_holds(text)


def test_large_designs_have_small_certificates_that_are_checked() -> None:
    designs = [
        Subset.from_gamma(3, numbered(1000), size=250),
        Subset.from_epsilon(1, numbered(10**6), size=268_941),
        Uniform.from_epsilon(1, numbered(10**6)),
        Unary.oue_from_epsilon(1, numbered(10**6)),
        Kronecker.of([Uniform.from_epsilon(1, numbered(1000))] * 6),
    ]
    for design in designs:
        text = certify(design, Demand.from_gamma("100000")).text()
        assert len(text) < 50_000
        for holds in (made.maskwell_holds, made.page_holds):
            assert holds(text)


def test_a_wrong_garbling_is_not_certified() -> None:
    better, proof = made.improved(made.ROUGH, gamma=3)
    with pytest.raises(CertificateError, match="column"):
        certify(better, improvement=Improves(proof.original, proof.entries[1:]))
    swapped = Dense.of(made.ROUGH.exact_matrix(), Categories.of(["b", "a", "c"]))
    with pytest.raises(CertificateError, match="truths"):
        certify(better, improvement=Improves.of(swapped, proof.entries))
    with pytest.raises(CertificateError, match="after garbling"):
        certify(better, improvement=Improves.of(Dense.of(made.ROUGH.exact_matrix()[::-1], ABC), proof.entries))
    with pytest.raises(CertificateError, match="is outside a matrix"):
        certify(better, improvement=Improves.of(made.ROUGH, [(7, 0, 1)]))
    negative = [*proof.entries[:-1], (*proof.entries[-1][:2], -proof.entries[-1][2])]
    with pytest.raises(CertificateError, match="is not positive"):
        certify(better, improvement=Improves.of(made.ROUGH, negative))


def test_saving_and_loading(tmp_path: Path) -> None:
    proof, path = made.certificates()["improved"], tmp_path / "proof.json"
    proof.save(path)
    assert verify_file(path).ok
    with pytest.raises(CertificateError, match="exists"):
        proof.save(path)
    proof.save(path, overwrite=True)
    path.write_text(proof.text().replace('"level": "3"', '"level": "2"'), encoding="utf-8")
    assert not verify_file(path).ok
    with pytest.raises(CertificateError, match="does not exist"):
        proof.save(tmp_path / "no" / "folder.json")
    with pytest.raises(CertificateError, match="cannot read"):
        verify_file(tmp_path / "nothing.json")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CertificateError, match="UTF-8"):
        verify_file(path)


def test_a_certificate_has_only_so_many_numbers_with_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from maskwell.privacy import certificate_check

    monkeypatch.setattr(certificate_check, "MOST_DECIMALS", 100)
    with pytest.raises(CertificateError, match="numbers with a point"):
        certificate_check.verify_text('{"maskwell": "certificate", "x": [' + "1.5, " * 100 + "1.50]}")

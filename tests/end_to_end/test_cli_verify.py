"""``maskwell audit --certificate`` and ``maskwell verify``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.certificates import certificates, page_holds, sealed_again
from tests.support.command_line import design_file, refused, run


@pytest.fixture
def warner() -> str:
    design_file("warner.json", "warner", "--p", "0.7")
    return "warner.json"


def content(path: str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_audit_writes_a_certificate(warner: str) -> None:
    ran = run("audit", warner, "--rho", "0.1", "0.5", "--certificate", "proof.json")
    assert "The proof is in proof.json; to check it: maskwell verify proof.json" in ran.out.splitlines()
    assert ran.out.splitlines()[-1].startswith("Next: ")
    assert content("proof.json")["claims"]["parity"] == "7/3"
    assert page_holds(Path("proof.json").read_text(encoding="utf-8"))
    said = run("audit", warner, "--certificate", "other.json", "--json").json()
    assert said["certificate"] == "other.json"
    assert "demand" not in content("other.json")["claims"]


def test_verify_says_yes(warner: str) -> None:
    run("audit", warner, "--rho", "0.1", "0.5", "--certificate", "proof.json")
    lines = run("verify", "proof.json", "--design", warner).out.splitlines()
    assert lines[0] == "proof.json holds: parity 7/3 meets the bound 9."
    assert lines[-1] == "Next: the same without maskwell: check_certificate.py, in the documentation under certificate"
    assert sum("holds: " in line for line in lines[1:]) == 9
    assert max(map(len, lines)) <= 100
    found = run("verify", "proof.json", "--json").json()
    assert (found["ok"], found["meets"], found["certificate"]) == (True, True, "proof.json")
    assert {check["name"] for check in found["checks"]} >= {"seal", "design", "parity", "demand", "meets", "admissible"}


def test_a_demand_that_is_not_met_is_a_no(warner: str) -> None:
    run("audit", warner, "--epsilon", "0.1", "--certificate", "proof.json", status=1)
    ran = run("verify", "proof.json", status=1)
    assert ran.out.startswith("proof.json holds, and the demand is not met: parity 7/3 does not meet the bound")
    assert run("verify", "proof.json", "--json", status=1).json()["meets"] is False


def test_a_changed_certificate_is_a_no(warner: str) -> None:
    run("audit", warner, "--rho", "0.1", "0.5", "--certificate", "proof.json")
    changed = content("proof.json")
    changed["claims"]["parity"] = "2"
    Path("bad.json").write_text(json.dumps(changed), encoding="utf-8")
    lines = run("verify", "bad.json", status=1).out.splitlines()
    assert lines[0] == "bad.json does not hold: 2 checks fail."
    Path("bad.json").write_text(sealed_again(changed), encoding="utf-8")
    found = run("verify", "bad.json", "--json", status=1).json()
    wrong = [check for check in found["checks"] if not check["ok"]]
    assert [check["name"] for check in wrong] == ["parity"]
    assert wrong[0]["words"] == 'parity is claimed to be "2", but it is "7/3"'
    assert found["meets"] is None


def test_a_certificate_of_another_design_is_a_no(warner: str) -> None:
    run("audit", warner, "--certificate", "proof.json")
    design_file("other.json", "k-ary", "--categories", "yes,no", "--gamma", "2")
    lines = run("verify", "proof.json", "--design", "other.json", status=1).out
    assert "it is about another design" in lines


def test_every_kind_of_certificate() -> None:
    for number, proof in enumerate(certificates().values()):
        proof.save(f"{number}.json")
        ran = run("verify", f"{number}.json", status=0 if proof.claims.get("meets", True) else 1)
        assert "FAILS" not in ran.out
        assert max(map(len, ran.out.splitlines())) <= 100


def test_an_improvement_is_certified_and_verified() -> None:
    design_file("chow.json", "chow", "--red", "6", "--blue", "4", "--draws", "2")
    run("improve", "chow.json", "-o", "better.json", "--certificate", "proof.json")
    ran = run("verify", "proof.json", "--design", "better.json")
    assert "improves" in ran.out
    assert page_holds(Path("proof.json").read_text(encoding="utf-8"))


def test_bad_input(warner: str) -> None:
    run("audit", warner, "--certificate", "proof.json")
    refused("audit", warner, "--certificate", "proof.json", saying="exists")
    refused("audit", warner, "--certificate", warner, "--force", saying="also an input")
    refused("audit", warner, "--certificate", "no/folder.json", saying="no folder")
    refused("audit", warner, "--average-security", "1.5", "--certificate", "new.json", saying="bounds no parity")
    refused("verify", warner, saying="no certificate", kind="bad_certificate")
    refused("verify", "nothing.json", saying="cannot read", kind="bad_certificate")
    Path("broken.json").write_text("{", encoding="utf-8")
    refused("verify", "broken.json", saying="not JSON", kind="bad_certificate")
    refused("verify", "proof.json", "--design", "proof.json", saying="not a maskwell design file")
    error = run("audit", warner, "--certificate", "-", status=2).err
    assert "give the name of a file" in error
    run("audit", warner, "--certificate", "proof.json", "--force")

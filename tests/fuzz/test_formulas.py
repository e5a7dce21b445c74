"""Formulas from strangers: whatever they hold, nothing is run, and each is worked out or refused in one line."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.formulas import ATTACKS, FACTORS, allowed_formula, formula, predictors, table
from tests.support.fuzzing import check_ended, files_in, numbers, run_command

from maskwell.engines.formula import read_formula
from maskwell.engines.formula_coding import Coding
from maskwell.errors import InputError

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("resource")

ROOT = Path(__file__).parents[2]


def _tried(first: int, last: int, gate: str) -> Any:
    words = [sys.executable, "-m", "tests.support.formulas", str(first), str(last), gate]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_no_formula_runs_anything_and_each_ends_as_it_should() -> None:
    chosen = numbers(200)
    found = _tried(chosen.start, chosen.stop, "gate")
    assert not found["wrong"], dict(list(found["wrong"].items())[:5])
    assert sum(found["ended"].values()) == len(chosen)
    assert min(found["ended"].values()) > len(chosen) // 20  # both kinds of end are tried


def test_the_listener_hears_what_python_would_run() -> None:
    found = _tried(0, 0, "none")
    heard = " ".join(str(said) for said, _ in found["wrong"].values())
    assert {"os.system", "open", "exec"} <= {word for word in ("os.system", "open", "exec") if word in heard}


def test_allowed_formulas_are_coded_the_same_for_some_of_the_rows() -> None:
    rows, coded = table(), 0
    for text in map(allowed_formula, numbers(30)):
        try:
            coding, values = Coding.learn(read_formula(text).right, predictors(rows))
        except InputError:
            continue  # it takes everything away, or is too large
        np.testing.assert_array_equal(coding.apply(predictors(rows.head(9))), values[:9], err_msg=text)
        assert len({*coding.names}) == values.shape[1], text
        coded += 1
    assert coded > len(numbers(30)) // 2


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    draw = np.random.default_rng(4)
    rows = "".join(
        f"{draw.choice(['yes', 'no'])},{draw.integers(20, 60)},{draw.choice(['n', 's'])}\n" for _ in range(80)
    )
    (tmp_path / "people.csv").write_text("y,a,r\n" + rows)
    assert run_command(["design", "warner", "--p", "0.8", "-o", "design.json"], tmp_path).status == 0
    return tmp_path


TYPED = [
    *numbers(1),
    "y ~ I('`' == __import__('os').system('touch run') == '`')",
    "Q(__import__('os').system('touch run')) ~ a",
    "y ~ I(9**9**9)",
    "y ~ (a + r)**30",
    "y ~ " + "(" * 4000 + "a" + ")" * 4000,
]


@pytest.mark.parametrize("typed", TYPED, ids=lambda one: str(one)[:30])
def test_the_command_takes_them(answers: Path, typed: int | str) -> None:
    text = formula(typed).replace("\0", "").replace("\ud800", "") if isinstance(typed, int) else typed
    before = files_in(answers)
    for option in (["--formula", text], ["--formula", "y ~ a", "--latent", text.split("~", 1)[-1]]):
        ended = run_command(["regress", "people.csv", *option, "--design", "y=design.json"], answers)
        check_ended(ended, answers, before)
        assert all(len(line) <= 100 for line in ended.err.decode().splitlines()), ended.err
        assert files_in(answers) == before


PLAN = """
[release]
keys = ["y", "r"]
match = 0.9
formulas = [{formulas}]

[[protect]]
variables = ["y", "r"]
method = "inverse-frequency"
"""


@pytest.mark.parametrize("typed", TYPED[-5:], ids=lambda one: str(one)[:30])
def test_a_plan_takes_them_before_anything_is_written(answers: Path, typed: str) -> None:
    (answers / "plan.toml").write_text(PLAN.format(formulas=json.dumps(typed)))
    before = files_in(answers)
    ended = run_command(["release", "people.csv", "--plan", "plan.toml", "-o", "out"], answers)
    check_ended(ended, answers, before)
    assert ended.status == 2 and b"formula" in ended.err and files_in(answers) == before


def test_parts_that_are_allowed_are_many() -> None:
    assert len(FACTORS) > 50 and len(ATTACKS) > 90

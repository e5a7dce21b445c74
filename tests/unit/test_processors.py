"""Tests can be run as on other processors, and those really compute differently."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import processors

LAST_BITS = """
import math
import numpy as np
x = np.random.default_rng(1).random((90, 90))
print((x @ x).tobytes().hex()[:4000], np.exp(10 * x).tobytes().hex()[:4000], [math.log(a).hex() for a in x[0]])
"""


def computed(root: Path, name: str | None) -> str:
    env = os.environ | ({} if name is None else processors.environment(name))
    done = subprocess.run(
        [sys.executable, "-c", LAST_BITS], env=env, cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_other_processors_give_other_last_bits(root: Path) -> None:
    names = processors.others()
    if len(names) < processors.OTHERS:
        pytest.skip(f"this processor ({processors.kernel()}) can stand in for {len(names)} others only")
    results = [computed(root, name) for name in [None, *names]]
    assert len(set(results)) == len(results)


def test_without_openblas_nothing_is_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(processors, "kernel", lambda: None)
    assert processors.main(["no/such/path"]) == 0
    assert "NumPy brings no OpenBLAS" in capsys.readouterr().out


@pytest.mark.parametrize(("status", "result"), [(0, 0), (1, 1), (-4, 1)])
def test_a_test_that_fails_on_another_processor_fails(
    status: int, result: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses = iter([0, status])
    monkeypatch.setattr(processors, "others", lambda: ["Haswell", "Nehalem"])
    monkeypatch.setattr(
        processors.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, next(statuses))
    )
    assert processors.main(["tests"]) == result
    assert capsys.readouterr().out == "as on Haswell:\nas on Nehalem:\n"

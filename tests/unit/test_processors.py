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


def test_another_processor_gives_other_last_bits(root: Path) -> None:
    name = processors.other()
    if name is None:
        pytest.skip(f"this processor ({processors.kernel()}) can stand in for no other")
    assert computed(root, None) != computed(root, name)


@pytest.mark.parametrize("status", [0, 1, -4])
@pytest.mark.parametrize(
    ("name", "said"), [("Nehalem", "as on Nehalem:\n"), (None, "as on this processor (NumPy brings no OpenBLAS):\n")]
)
def test_the_status_is_that_of_the_tests(
    name: str | None, said: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processors, "kernel", lambda: name)
    monkeypatch.setattr(processors, "other", lambda: name)
    started: list[dict[str, str]] = []
    monkeypatch.setattr(
        processors.subprocess,
        "run",
        lambda command, env, **_: started.append(env) or subprocess.CompletedProcess(command, status),
    )
    assert processors.main(["tests"]) == status
    assert capsys.readouterr().out == said
    assert [one.get("OPENBLAS_CORETYPE") for one in started] == [name or os.environ.get("OPENBLAS_CORETYPE")]

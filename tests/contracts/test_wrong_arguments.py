"""Whatever is given to a public function, it answers, or says in an error of its own what it needs.

Each call that works (:mod:`tests.support.good_calls`) is made again with one argument replaced by something strange.
Either there is a result, or a MaskwellError: nothing from the depths of NumPy, no warning, no wait, and what was given
is left as it was. ``MASKWELL_FUZZ=20`` tries twenty times as many of the replacements.
"""

from __future__ import annotations

import inspect
import math
import pickle
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.support.fuzzing import numbers
from tests.support.good_calls import GoodCall, good_calls
from tests.support.public_names import PUBLIC
from tests.support.together import together

import maskwell as mw
from maskwell.errors import MaskwellError

LONGEST = 10
FEW = 4
"""Replacements for each public name in every run of the tests."""

CALLABLE = [name for name, value in PUBLIC.items() if callable(value)]
RESULTS = {name for name in CALLABLE if inspect.isclass(PUBLIC[name])}
"""Classes: many are only ever made by a function, and have no call of their own."""

ELSEWHERE = {"spark_session"}
"""Starts a JVM: called where tests have a cluster, and with strange arguments in the tests of its file."""


class Anything:
    """Made of whatever it is given; what a function of the user raises itself would be the user's own."""

    def __init__(self, *_: object, **__: object) -> None:
        pass


def _ring() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


MATRIX = [[0.75, 0.25], [0.25, 0.75]]
YES_NO = mw.Categories.of(["yes", "no"])
STRANGE: dict[str, Callable[[], Any]] = {
    "an object": object,
    "None": lambda: None,
    "True": lambda: True,
    "-1": lambda: -1,
    "7": lambda: 7,
    "1.5": lambda: 1.5,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "1e308": lambda: 1e308,
    "10**400": lambda: 10**400,
    "an empty text": lambda: "",
    "a text": lambda: "x",
    "a lone surrogate": lambda: "\ud800",
    "a text with NUL": lambda: "a\0b",
    "a long text": lambda: "x" * 10**5,
    "bytes": lambda: b"x",
    "an empty list": list,
    "an empty dict": dict,
    "an empty tuple": tuple,
    "a set": lambda: {1, 2},
    "a class": lambda: Anything,
    "a function that returns nothing": lambda: lambda *_, **__: None,
    "a function that returns a text": lambda: lambda *_, **__: "x",
    "a function that returns an array": lambda: lambda *_, **__: np.array([0.5, math.nan]),
    "a generator": lambda: (x for x in [1, 2]),
    "an empty array": lambda: np.array([]),
    "an array of no dimension": lambda: np.array(0.5),
    "an array of three dimensions": lambda: np.zeros((2, 2, 2)),
    "an array with NaN": lambda: np.array([math.nan, 1.0]),
    "an array with infinity": lambda: np.array([math.inf, 1.0]),
    "an array of objects": lambda: np.array([object(), None], dtype=object),
    "a masked array": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "two integers": lambda: [1, 2],
    "two shares": lambda: [0.5, 0.5],
    "two texts": lambda: ["a", "b"],
    "nothing twice": lambda: [None, None],
    "huge integers": lambda: [10**400, 1],
    "many": lambda: [1] * 60,
    "lists of different lengths": lambda: [[1, 2], [3]],
    "a list that holds itself": _ring,
    "a matrix": lambda: [list(row) for row in MATRIX],
    "a matrix of NumPy": lambda: np.array(MATRIX),
    "a design": lambda: mw.designs.Uniform.from_gamma(3, YES_NO),
    "a design of sets": lambda: mw.designs.Unary.oue_from_gamma(3, mw.Categories.of(["a", "b", "c"])),
    "categories": lambda: YES_NO,
    "counts": lambda: mw.Counts(np.array([3, 1]), 4, "f"),
    "a frame": lambda: pd.DataFrame({"a": ["yes", "no"], "b": [1.0, None]}),
    "a series": lambda: pd.Series(["yes", None], dtype="string"),
    "integers of pandas": lambda: pd.Series([1, None], dtype="Int64"),
    "a table of Arrow": lambda: pa.table({"a": ["yes", "no"]}),
    "an array of Arrow": lambda: pa.array([1, None]),
    "a time": lambda: datetime(2024, 1, 1),
    "a fraction": lambda: Fraction(1, 3),
    "a decimal": lambda: Decimal("0.1"),
    "a decimal that is none": lambda: Decimal("sNaN"),
    "a complex number": lambda: 1 + 2j,
    "a float of NumPy": lambda: np.float32(0.1),
    "an integer of NumPy": lambda: np.int8(3),
    "a text of NumPy": lambda: np.str_("x"),
    "NA": lambda: pd.NA,
    "NaT": lambda: pd.NaT,
    "a dict": lambda: {"a": 1},
    "a range": lambda: range(3),
    "an endless range": lambda: range(10**12),
}


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[GoodCall]]]:
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(tmp_path_factory.mktemp("calls"))
        yield good_calls()


def test_every_public_function_has_a_call_that_works(calls: dict[str, list[GoodCall]]) -> None:
    assert {*CALLABLE} - {*calls} <= RESULTS | ELSEWHERE


@together("name", CALLABLE)
def test_strange_arguments(name: str, calls: dict[str, list[GoodCall]]) -> None:
    known = [call for call in calls.get(name, ()) if call.parameters()]
    for call in {call.name: call for call in known}.values():
        for parameter in call.parameters():
            check(call, parameter, "an object")
    for number in numbers(FEW if known else 0):
        random = Random(f"{name} {number}")
        call = random.choice(known)
        check(call, random.choice(call.parameters()), random.choice(list(STRANGE)))


def check(call: GoodCall, parameter: str, strange: str) -> None:
    """The rule for every argument."""
    given = STRANGE[strange]()
    before, said = _frozen(given), "a result"
    where = f"{call.name}({parameter} = {strange})"
    with warnings.catch_warnings(), at_most(LONGEST, where):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            call.call(**{parameter: given})
        except MaskwellError as error:
            said = error.message
        except Exception as error:  # whatever else is raised is the fault that is looked for
            inside = traceback.extract_tb(error.__traceback__)[2:]
            by_python = not inside or "unexpected keyword argument" in str(error)
            if not (isinstance(error, TypeError) and by_python):
                raise AssertionError(f"{where}\n{traceback.format_exc()}") from error
    assert said and "\n" not in said, where
    assert _frozen(given) == before, f"{where} was changed"


def _frozen(given: Any) -> bytes:
    if np.ma.isMaskedArray(given):  # to print one changes how it is pickled
        return pickle.dumps((given.data.tolist(), given.mask.tolist()))
    return pickle.dumps(given) if isinstance(given, list | dict | set | np.ndarray) else b""


@contextmanager
def at_most(seconds: int, where: str) -> Iterator[None]:
    """Fail rather than wait for longer."""

    def late(*_: object) -> None:
        pytest.fail(f"{where} took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)

"""Whatever is given to a public function, it answers, or says in an error of its own what it needs.

Each call that works is made again with one argument replaced by something strange.
Either there is a result, or a MaskwellError: nothing from the depths of NumPy, no warning, no wait, and what was given
is left as it was. ``MASKWELL_FUZZ=20`` tries twenty times as many of the replacements.
"""

import doctest
import importlib
import inspect
import math
import pickle
import pkgutil
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from io import StringIO
from random import Random
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.support.fuzzing import numbers
from tests.support.public_names import PUBLIC
from tests.support.together import together

import maskwell
import maskwell as mw
from maskwell.errors import MaskwellError
from maskwell.plots import Picture

SHOWN = "<doctest"
EACH = 2
"""How many calls of one function are kept."""

MORE = """
>>> import numpy as np
>>> import maskwell as mw
>>> coin, cross = mw.design("warner", p="0.7"), mw.design("crosswise", q="0.15")
>>> coin.save("coin.json", overwrite=True)
>>> _ = mw.load_design("coin.json"), mw.designs.design_from_dict(coin.to_dict())
>>> mw.certify(coin).save("certificate.json", overwrite=True)
>>> _ = mw.KeyedRandom.new_file("own.key")
>>> _ = mw.KeyedRandom.from_file("own.key", "survey")
>>> kept = mw.microdata.matrices.method1([30, 20, 50], "1/2")
>>> mw.microdata.matrices.check_publishable(kept, [30, 20, 50], "published in the yearbook")
>>> three = mw.designs.Dense.of([["0.6", "0.2", "0.1"], ["0.2", "0.6", "0.1"], ["0.2", "0.2", "0.8"]])
>>> counted = mw.estimation.Sample.of([50, 60, 70], three).counts
>>> _ = mw.estimation.estimate_by_moments(counted, three)
>>> pairs = mw.Categories.of([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")])
>>> asked = mw.designs.Dense.of(mw.designs.Kronecker.of([coin, coin]).exact_matrix(), pairs)
>>> found = mw.estimation.estimate_by_moments(mw.estimation.Sample.of([40, 30, 20, 60], asked).counts, asked)
>>> _ = mw.plots.plot_flows(coin)
>>> rows = np.random.default_rng(1)
>>> age, said = rows.normal(size=200), rows.choice(["same", "different"], size=200)
>>> anchor = mw.estimation.regression.Anchor(np.repeat(["same", "different"], [30, 170]), cross)
>>> _ = mw.estimation.regression.fit_with_anchor(age, said, cross, anchor)
>>> _ = mw.estimation.regression.fit_logistic(age, rows.choice(["yes", "no"], size=200), coin)
>>> with open("people.csv", "w") as file:
...     _ = file.write("sex,region\\n" + "f,north\\nm,north\\nf,south\\nm,south\\n" * 20)
>>> within = mw.microdata.Protection.of(["sex"], "method1", within=["region"], theta="1/2")
>>> plan = mw.ReleasePlan.of([within], keys=["sex", "region"])
>>> _ = mw.release(mw.engines.csv_file("people.csv", separator=","), plan, "released")
>>> _ = mw.microdata.load_receipt("released/public/receipt.json")
>>> with open("plan.toml", "w") as file:
...     _ = file.write('[[protect]]\\nvariables = ["sex"]\\nmethod = "sequential"\\n')
>>> _ = mw.microdata.load_plan("plan.toml")
>>> with open("matrix.csv", "w") as file:
...     _ = file.write('"","2","4"\\n"2",0.9,0.1\\n"4",0.3,0.7\\n')
>>> _ = mw.microdata.design_from_sdcmicro("matrix.csv")
"""


@dataclass(frozen=True)
class GoodCall:
    """A function, method or class with arguments that it takes, by their names."""

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    signature: inspect.Signature = field(repr=False)

    def parameters(self) -> list[str]:
        return [name for name in self.arguments if name not in ("self", "cls")]

    def call(self, **changed: Any) -> Any:
        """With some arguments replaced; those that go into ``*args`` and ``**kwargs`` by one of their elements."""
        args: list[Any] = []
        named: dict[str, Any] = {}
        for name, parameter in self.signature.parameters.items():
            if name not in self.arguments:
                continue
            value = changed.get(name, self.arguments[name])
            if parameter.kind is parameter.VAR_POSITIONAL:
                args.extend([value] if name in changed else value)
            elif parameter.kind is parameter.VAR_KEYWORD:
                named |= {next(iter(self.arguments[name]), "more"): value} if name in changed else value
            elif parameter.kind is parameter.KEYWORD_ONLY:
                named[name] = value
            else:
                args.append(value)
        return self.function(*args, **named)


@cache
def good_calls() -> dict[str, list[GoodCall]]:
    """Calls by the public name that they are about; made in the present folder, where examples leave their files."""
    noted: dict[tuple[str, str], list[dict[str, Any]]] = {}
    with redirect_stdout(StringIO()), mock.patch.object(Picture, "_rendered", _not_drawn):
        for test in _examples():
            _run(test, noted)
    found: dict[str, list[GoodCall]] = {}
    for (module, qualified), calls in sorted(noted.items()):
        for owner, function in _public(module, qualified):
            for arguments in calls:
                target = function.__init__ if inspect.isclass(function) else function
                kept = {n: v for n, v in arguments.items() if not (n == "self" and inspect.isclass(function))}
                made = GoodCall(f"{module}.{qualified}", function, kept, inspect.signature(target))
                found.setdefault(owner, []).append(made)
    return found


def _not_drawn(*_: object, **__: object) -> bytes:
    """Stands in for drawings, which pages hold by the dozen, while calls are noted: what is in them is not asked."""
    return b"<svg></svg>"


def _examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder()
    for module in pkgutil.walk_packages(maskwell.__path__, "maskwell."):
        if ".cli" not in module.name and not module.name.endswith("__main__"):
            yield from (test for test in finder.find(importlib.import_module(module.name)) if test.examples)
    yield doctest.DocTestParser().get_doctest(MORE, {}, "more", None, 0)


def _run(test: doctest.DocTest, noted: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Run the lines of an example and note what they call; what they print, and whether it is right, is not asked."""

    def trace(frame: FrameType, *_: object) -> None:  # of calls alone: it gives back no function for lines
        if (back := frame.f_back) is not None and back.f_code.co_filename.startswith(SHOWN):
            _note(noted, frame)

    for number, example in enumerate(test.examples):
        if example.options.get(doctest.SKIP):
            continue
        line = compile(example.source, f"{SHOWN} {test.name}[{number}]>", "single", dont_inherit=True)
        sys.settrace(trace)
        try:
            exec(line, test.globs)
        except Exception:
            if example.exc_msg is None:
                raise
        finally:
            sys.settrace(None)


def _note(noted: dict[tuple[str, str], list[dict[str, Any]]], frame: FrameType) -> None:
    code = frame.f_code
    if code.co_name.startswith("<"):
        return
    made = frame.f_locals.get("self") if code.co_filename == "<string>" else None  # the __init__ of a dataclass
    module = type(made).__module__ if made is not None else frame.f_globals.get("__name__", "")
    qualified = f"{type(made).__name__}.{code.co_name}" if made is not None else code.co_qualname
    calls = noted.setdefault((module, qualified), [])
    if module.startswith("maskwell") and len(calls) < EACH:
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
        calls.append({name: frame.f_locals.get(name) for name in code.co_varnames[:count]})


def _public(module: str, qualified: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public name that a call belongs to, and what was called; nothing for inner functions and properties."""
    owner, _, last = qualified.rpartition(".")
    if "<locals>" in qualified or not module.startswith("maskwell"):
        return
    home = sys.modules[module]
    if not owner:
        function = getattr(home, last, None)
        yield from ((name, function) for name, value in PUBLIC.items() if value is function and function)
        return
    kind = getattr(home, owner, None)
    names = [name for name, value in PUBLIC.items() if inspect.isclass(kind) and _is_of(value, kind)]
    if not names or (last.startswith("_") and last != "__init__"):
        return
    static = inspect.getattr_static(kind, last, None)
    if last == "__init__":
        yield names[0], kind
    elif isinstance(static, classmethod | staticmethod) or inspect.isfunction(static):
        yield names[0], getattr(kind, last)


def _is_of(public: Any, kind: type) -> bool:
    return inspect.isclass(public) and issubclass(public, kind)


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

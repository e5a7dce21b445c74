"""Labels to codes and back in every kind of column: maskwell, narwhals and a plain numpy baseline.

    python bench/containers.py [--rows 10000000]

Prints a Markdown table. Each figure is one run, in seconds; in brackets, its ratio to the baseline of its kind:
``np.searchsorted`` among sorted labels (no check for unknown values) to encode, ``labels[codes]`` to decode.
Narwhals has no way into plain arrays and lists.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from maskwell import Categories

try:
    import narwhals as nw
except ImportError:
    nw = None

TEXT = [f"category {i:02d}" for i in range(16)]
NUMBERS = [3 * i + 1 for i in range(16)]


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def columns(codes: np.ndarray) -> dict[str, tuple[list[Any], Any]]:
    """Name: labels and a column of them."""
    texts = np.array(TEXT, dtype=object)[codes]
    arrow = pa.array(TEXT).take(pa.array(codes))
    numbers = np.array(NUMBERS)[codes]
    polars = pl.Series("x", TEXT).gather(codes)
    return {
        "list of text": (TEXT, texts.tolist()),
        "numpy objects": (TEXT, texts),
        "numpy text": (TEXT, np.array(TEXT)[codes]),
        "numpy int64": (NUMBERS, numbers),
        "numpy int64, numbered": (list(range(16)), codes.astype(np.int64)),
        "pandas object": (TEXT, pd.Series(texts, dtype=object)),
        "pandas str": (TEXT, pd.Series(texts, dtype="str")),
        "pandas category": (TEXT, pd.Series(pd.Categorical.from_codes(codes, TEXT[::-1]))),
        "pandas int64": (NUMBERS, pd.Series(numbers)),
        "polars String": (TEXT, polars),
        "polars Enum": (TEXT, polars.cast(pl.Enum(TEXT[::-1]))),
        "polars Categorical": (TEXT, polars.cast(pl.Categorical)),
        "polars Int64": (NUMBERS, pl.Series(numbers)),
        "arrow string": (TEXT, pa.chunked_array([arrow])),
        "arrow dictionary": (TEXT, pa.chunked_array([arrow.dictionary_encode()])),
        "arrow int64": (NUMBERS, pa.chunked_array([numbers])),
    }


def narwhals_encode(labels: list[Any], values: Any) -> Any:
    series = nw.from_native(values, series_only=True)
    if series.dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    return series.replace_strict(labels, list(range(len(labels))), return_dtype=nw.UInt8).to_numpy()


def narwhals_decode(labels: list[Any], codes: np.ndarray, values: Any) -> Any:
    model = nw.from_native(values, series_only=True)
    series = nw.new_series("x", codes, backend=model.implementation)
    dictionary = model.dtype in (nw.Categorical, nw.Enum)
    series = series.replace_strict(
        list(range(len(labels))), labels, return_dtype=nw.String if dictionary else model.dtype
    )
    if dictionary:
        is_enum = model.dtype == nw.Enum
        series = series.cast(nw.Enum(labels) if is_enum else nw.Categorical)
    return series.to_native()


def attempt(work: Callable[[], Any], base: float) -> str:
    try:
        taken = seconds(work)
    except Exception as error:  # noqa: BLE001  (a gap of the library is a result, not a failure of the bench)
        return type(error).__name__
    return f"{taken:.3f} ({taken / base:.2f})"


def baseline(labels: list[Any], codes: np.ndarray) -> tuple[float, float]:
    """Seconds to search, and to take, with numpy alone."""
    ordered = np.array(labels)
    values = ordered[codes]
    return seconds(lambda: np.searchsorted(ordered, values)), seconds(lambda: ordered[codes])


def table(rows: int) -> None:
    codes = np.random.default_rng(1).integers(0, 16, rows).astype(np.uint8)
    bases = {str: baseline(TEXT, codes), int: baseline(NUMBERS, codes)}
    for kind, (find, take) in bases.items():
        print(f"baseline, {kind.__name__}: encode {find:.3f} s, decode {take:.3f} s")
    print("\n| column | encode: maskwell | narwhals | decode: maskwell | narwhals |\n|---|---|---|---|---|")
    for name, (labels, values) in columns(codes).items():
        print(f"| {name} | {' | '.join(row(labels, values, codes, bases[type(labels[0])]))} |", flush=True)


def row(labels: list[Any], values: Any, codes: np.ndarray, base: tuple[float, float]) -> list[str]:
    categories = Categories.of(labels)
    ours = attempt(lambda: categories.encode(values), base[0])
    ours_back = attempt(lambda: categories.decode(codes, like=values), base[1])
    if nw is None or isinstance(values, list | np.ndarray):
        return [ours, "", ours_back, ""]
    theirs = attempt(lambda: narwhals_encode(labels, values), base[0])
    return [ours, theirs, ours_back, attempt(lambda: narwhals_decode(labels, codes, values), base[1])]


def numbered(rows: int) -> None:
    """A million numbered categories: a bounds check, whatever their number."""
    values = np.random.default_rng(1).integers(0, 10**6, rows)
    print(f"\n10**6 numbered categories, int64: {seconds(lambda: Categories.numbered(10**6).encode(values)):.3f} s")


def imports() -> None:
    """Best of five fresh processes, after numpy."""
    print("\n| import, numpy already loaded | ms |\n|---|---|")
    for module in ("maskwell.core.categories", "narwhals", "pyarrow", "polars", "pandas"):
        code = f"import numpy, time; s = time.perf_counter(); import {module}; print(1000 * (time.perf_counter() - s))"
        runs = [
            subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True) for _ in range(5)
        ]
        print(f"| {module} | {min(float(run.stdout or 'nan') for run in runs):.0f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    table(rows)
    numbered(rows)
    imports()

"""Columns of labels and sets, in and out, against codes and against pyarrow's own dictionaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import Categories
from maskwell.designs import Subset, Uniform

ROWS = 10**6
LABELS = [f"category {i:02d}" for i in range(16)]


def _kinds(labels: list[str], codes: np.ndarray) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns that keep codes, and columns of texts."""
    arrow, polars = pa.array(labels).take(pa.array(codes)), pl.Series("x", labels).gather(codes.tolist())
    coded = {
        "pandas category": pd.Series(pd.Categorical.from_codes(codes, labels)),
        "polars Enum": polars.cast(pl.Enum(labels)),
        "polars Categorical": polars.cast(pl.Categorical),
        "Arrow dictionary": pa.chunked_array([arrow.dictionary_encode()]),
    }
    texts = {
        "Arrow": pa.chunked_array([arrow]),
        "polars": polars,
        "pandas str": pd.Series(arrow.to_pylist(), dtype="str"),
    }
    return coded, texts


def _listed(seconds: dict[str, float], base: float) -> str:
    return ", ".join(f"{name} {value / base:.1f} x" for name, value in seconds.items())


def labels() -> Iterator[Line]:
    """The k-ary design with 16 labels."""
    design = Uniform.from_epsilon(1, Categories.of(LABELS))
    codes = np.random.default_rng(1).integers(0, 16, ROWS).astype(np.uint8)
    coded, texts = _kinds(LABELS, codes)
    names, column = pa.array(LABELS), texts["Arrow"].combine_chunks()
    jobs = {name: lambda column=column: design.randomize(column) for name, column in {**coded, **texts}.items()}
    seconds = best_seconds(
        {"codes": lambda: design.sample(codes), "own": lambda: names.take(column.dictionary_encode().indices), **jobs}
    )
    rate = f"{ROWS / seconds['Arrow dictionary'] / 1e6:.0f} M rows/s"
    yield Line(
        "randomize labels, 16 categories", rate, _listed({n: seconds[n] for n in coded}, seconds["codes"]), "5 x codes"
    )
    yield Line(
        "randomize texts, 16 categories",
        f"{ROWS / seconds['Arrow'] / 1e6:.0f} M rows/s",
        _listed({n: seconds[n] for n in texts}, seconds["own"]),
        "1.5 x dictionary_encode and take of pyarrow",
    )


def sets() -> Iterator[Line]:
    """Labels in, packed sets out, and counted again."""
    for k in (16, 64, 256):
        names, n = [f"item {i}" for i in range(k)], 4 * ROWS // k
        design = Subset.from_gamma(3, Categories.of(names), size=k // 4)
        codes = np.random.default_rng(1).integers(0, k, n).astype(np.uint8)
        coded, texts = _kinds(names, codes)

        def work(column: Any, design: Subset = design) -> None:
            design.tally(design.randomize(column))

        columns = {**coded, **texts}
        jobs = {name: lambda column=column, work=work: work(column) for name, column in columns.items()}
        seconds = best_seconds({"codes": lambda design=design, codes=codes: design.tally(design.sample(codes)), **jobs})
        rate = f"{n / seconds['Arrow dictionary'] / 1e6:.1f} M reports/s"
        ratios = _listed({name: seconds[name] for name in columns}, seconds["codes"])
        yield Line(f"labels to packed sets of {k}, and tally", rate, ratios, "3 x codes")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield from labels()
    yield from sets()

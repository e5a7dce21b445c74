"""From true codes to reports, chunk by chunk: random words in, kernel, and the rarest rows by definition."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from maskwell.core.arguments import MADE_BY, Array, Words, as_array, check_kind, code_type, kind_of
from maskwell.core.draws import WordReader
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import SPILL_BLOCKS, RandomSource, Stream
from maskwell.core.report_data import Reports
from maskwell.errors import ParameterError, UnknownCategoryError, WrongTypeError

if TYPE_CHECKING:
    from maskwell.designs.design import Design

Part = TypeVar("Part")
Done = TypeVar("Done")

CHUNK_BYTES = 1 << 20  # random bytes made at a time: Python does not count any more, and they fit into a cache

LIKELY = 2  # further words expected from which on all rows are given them at once: few would do without

BYTES_PER_THREAD = 1 << 23  # a thread is worth starting for this many random bytes: a few milliseconds of work


class Sampler:
    """Randomizes a column in batches, with the same words for row i however it is cut, on up to ``threads`` threads."""

    def __init__(self, design: Design, random: RandomSource, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ParameterError("threads-threads", threads=threads)
        self.design = design
        self.private = random.private
        self._threads = processors() if threads is None else threads
        self._stream = random.stream()
        self._row = 0
        self._lock = threading.Lock()

    def sample(self, codes: Array) -> Reports:
        """Reports of the next rows."""
        design = self.design
        codes = check_codes(codes, design.k)
        out = design.empty_reports(len(codes))
        with self._lock:
            first, self._row = self._row, self._row + len(codes)
        ends = self._cuts(len(codes))
        if len(ends) == 2:
            self._sample_rows(self._stream.twin(), codes, out, first)
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(len(ends) - 1) as pool:
                parts = [slice(start, end) for start, end in pairwise(ends)]
                jobs = [
                    pool.submit(self._sample_rows, self._stream.twin(), codes[p], out[p], first + p.start)
                    for p in parts
                ]
            for job in jobs:
                job.result()
        return Reports(design.fingerprint, design.k, design.encoding, out, self.private)

    def sample_named(self, codes: Array, names: Array | None) -> Reports:
        """The same: who the rows belong to is nothing to these draws."""
        return self.sample(codes)

    def __reduce__(self) -> Any:
        raise WrongTypeError("a-sampler-cannot-be-copied")

    def _cuts(self, rows: int) -> list[int]:
        worthwhile = 4 * self.design.words_per_row * rows // BYTES_PER_THREAD
        parts = max(1, min(self._threads, worthwhile))
        return [rows * part // parts for part in range(parts + 1)]

    def _sample_rows(self, stream: Stream, codes: Array, out: Array, first: int) -> None:
        step = max(1, CHUNK_BYTES // (4 * self.design.words_per_row))
        for start in range(0, len(codes), step):
            chunk = slice(start, start + step)
            self._sample_chunk(stream, codes[chunk], out[chunk], first + start)

    def _sample_chunk(self, stream: Stream, codes: Array, out: Array, first: int) -> None:
        words = stream.words(first, len(codes), self.design.words_per_row)
        for row in _draw_rows(self.design, codes, words, out, lambda rows, n: stream.further(first + rows, n)).tolist():
            reader = WordReader(words[row].tolist(), more=partial(stream.spill, first + row))
            out[row] = self.design.encode_report(self.design.draw(int(codes[row]), reader))


class KeyedSampler:
    """Randomizes one variable by record: the same truth under the same design gets the same report again, in any order.

    Another truth or another design gets a draw of its own. So two reports of one record under one design that differ
    prove that its truth changed; two that agree prove nothing.

    The ids of all records must be different; that is for the caller to check, who sees them all.

    >>> from maskwell.designs import Uniform
    >>> from maskwell import Categories
    >>> design = Uniform.from_gamma(3, Categories.of(["yes", "no"]))
    >>> sampler = KeyedSampler(design, KeyedRandom.of(bytes(range(32)), "labour-2025"), "smokes")
    >>> first, again = sampler.sample([0, 0, 1], [11, 12, 13]), sampler.sample([1, 0], [13, 12])
    >>> first.data.tolist()[:0:-1] == again.data.tolist()
    True
    """

    def __init__(self, design: Design, keyed: KeyedRandom, variable: str, fingerprint: str | None = None) -> None:
        if not hasattr(design, "draw_rows"):
            raise WrongTypeError("design-must-be-a-design-not", hint=MADE_BY["Design"], design_kind=kind_of(design))
        check_kind(KeyedRandom, keyed=keyed)
        check_kind(str, variable=variable)
        check_kind(str | None, fingerprint=fingerprint)
        self.design = design
        self.private = keyed.private
        self._keyed = keyed
        self._stream = keyed.stream(variable, design.fingerprint if fingerprint is None else fingerprint)

    def sample(self, codes: Array, ids: Any) -> Reports:
        """Reports of records with these true codes and ids."""
        return self.sample_named(codes, self._keyed.names(ids))

    def sample_named(self, codes: Array, names: Array | None) -> Reports:
        """The same where the names of the records were made before, with ``keyed.names``, for several variables."""
        design = self.design
        codes = check_codes(codes, design.k)
        if names is None or len(codes) != len(names):
            raise ParameterError(
                "codes-and-record-ids", codes_count=len(codes), names_count=0 if names is None else len(names)
            )
        out = design.empty_reports(len(codes))
        step = max(1, CHUNK_BYTES // (4 * design.words_per_row))
        for start in range(0, len(codes), step):
            chunk = slice(start, start + step)
            self._sample_chunk(codes[chunk], names[chunk], out[chunk])
        return Reports(design.fingerprint, design.k, design.encoding, out, self.private)

    def _sample_chunk(self, codes: Array, names: Array, out: Array) -> None:
        words = self._stream.words(names, codes, self.design.words_per_row)

        def further(rows: Array, refills: int) -> Words:
            return self._stream.further(names[rows], codes[rows], refills)

        for row in _draw_rows(self.design, codes, words, out, further).tolist():
            state = int(codes[row])
            reader = WordReader(words[row].tolist(), more=partial(self._stream.spill, names[row], state))
            out[row] = self.design.encode_report(self.design.draw(state, reader))

    def __reduce__(self) -> Any:
        raise WrongTypeError("a-secret-key-is-not-copied-or-sent")


def sampler_of(
    design: Design, random: RandomSource | KeyedRandom | None, variable: Sequence[str]
) -> Sampler | KeyedSampler:
    """What draws for a variable, which is named by its columns: row after row, or by record where a key is given."""
    if isinstance(random, KeyedRandom):
        return KeyedSampler(design, random, variable_name(variable))
    return design.sampler(random)


def forget_tables(design: Design) -> None:
    """Let go of the tables in which draws from a design are looked up; the next draw makes the same ones again."""
    for name in ("_table", "_cumulative"):
        vars(design).pop(name, None)


def variable_name(columns: Sequence[str]) -> str:
    """The name under which the draws of some columns are kept, unlike that of any others."""
    return json.dumps([*columns])


def _draw_rows(design: Design, codes: Array, words: Words, out: Array, further: Callable[[Array, int], Words]) -> Array:
    """Draw reports into ``out``; returns the rows that :meth:`Design.draw` must settle.

    Rows that their first words do not settle are drawn again with ``further`` words behind these, in reading order.
    """
    expected = design.further_words
    at_once = expected is not None and expected > LIKELY
    unsettled = np.arange(len(codes)) if at_once else design.draw_rows(codes, words, out)
    if expected is None or not len(unsettled):
        return unsettled
    first = words if len(unsettled) == len(words) else words[unsettled]
    refills = min(SPILL_BLOCKS, 4 + math.ceil(2 * expected / 4))  # twice as many as a row is expected to need, and 16
    more = np.concatenate([first, further(unsettled, refills)], axis=1)
    reports = design.empty_reports(len(unsettled))
    still = design.draw_rows(codes[unsettled], more, reports)
    out[unsettled] = reports
    return unsettled[still]


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_all_processors(work: Callable[[Part], Done], parts: Sequence[Part]) -> list[Done]:
    """What is made of each part, in their order: in threads, unless there is only one part, which they would slow."""
    if len(parts) < 2:
        return [*map(work, parts)]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(processors()) as pool:
        return [*pool.map(work, parts)]


def check_codes(codes: Array, k: int) -> Array:
    """Codes as a contiguous one-dimensional array of unsigned integers below k, or an error."""
    try:
        array = as_array(codes, "codes")
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise WrongTypeError("codes-must-be-one-column", shape=array.shape, dtype=array.dtype)
    if len(array) and (int(array.max()) >= k or int(array.min()) < 0):
        wrong = np.unique(array[(array >= k) | (array < 0)])[:10].tolist()
        first = int(np.flatnonzero((array >= k) | (array < 0))[0])
        raise UnknownCategoryError(
            "codes-outside-0-first-in-row", k_sub=k - 1, first=first, k=k, values=str(wrong), codes=wrong
        )
    native = array.dtype.newbyteorder("=") if array.dtype.kind == "u" else code_type(k)
    return np.require(array, dtype=native, requirements=["C_CONTIGUOUS", "ALIGNED"])

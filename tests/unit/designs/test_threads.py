"""Threads change nothing but the time: words belong to rows."""

import concurrent.futures
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from maskwell import Categories, SecureRandom, SeededRandom
from maskwell.core import randomness
from maskwell.designs import Uniform, sampler

DESIGN = Uniform.from_epsilon(1, Categories.numbered(16))


def test_rows_go_on_after_a_threaded_batch(monkeypatch):
    monkeypatch.setattr(sampler, "BYTES_PER_THREAD", 64)
    codes = np.arange(9000) % 16
    whole = DESIGN.sample(codes, random=SeededRandom(3), threads=1).data
    parts = DESIGN.sampler(SeededRandom(3), threads=4)
    assert (np.concatenate([parts.sample(codes[:5000]).data, parts.sample(codes[5000:]).data]) == whole).all()


def test_small_batches_start_no_thread(monkeypatch):
    monkeypatch.setattr(concurrent.futures, "ThreadPoolExecutor", None)
    DESIGN.sample(np.zeros(1000, dtype=int), threads=8)


def test_errors_in_a_thread_come_out(monkeypatch):
    monkeypatch.setattr(sampler, "BYTES_PER_THREAD", 64)
    monkeypatch.setattr(sampler.Sampler, "_sample_chunk", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        DESIGN.sample(np.zeros(5000, dtype=int), threads=2)


def test_key_and_process_are_one(monkeypatch):
    """A twin belongs to the process of the key that it was given, whenever the fork comes."""
    stream = SecureRandom().stream()
    parents = stream.words(0, 8, 4).copy()
    early = stream.twin()  # made before the fork
    monkeypatch.setattr(randomness, "_process", lambda: (-1, -1))
    assert not (early.words(0, 8, 4) == parents).all()
    assert not (stream.twin().words(0, 8, 4) == parents).all()
    child = stream.words(0, 8, 4).copy()
    assert not (child == parents).all()
    assert (stream.twin().words(0, 8, 4) == child).all()


def test_a_sampler_shared_by_threads_gives_every_row_its_own_words():
    """All rows have the same truth; the pieces, put together in any order, are the rows of one pass."""
    design, piece = Uniform.from_epsilon(1, Categories.numbered(200)), 500
    shared = design.sampler(SeededRandom(4), threads=1)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: shared.sample(np.zeros(piece, dtype=int)).data.tobytes(), range(200)))
    whole = design.sample(np.zeros(200 * piece, dtype=int), random=SeededRandom(4)).data.reshape(200, piece)
    assert sorted(found) == sorted(row.tobytes() for row in whole)

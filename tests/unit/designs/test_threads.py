"""Threads change nothing but the time: words belong to rows."""

import concurrent.futures

import numpy as np
import pytest

from maskwell import Categories, SecureRandom, SeededRandom
from maskwell.core import randomness
from maskwell.designs import Dense, Kronecker, Subset, Unary, Uniform, sampler

DESIGNS = [
    Uniform.from_epsilon(1, Categories.numbered(16)),
    Dense.of([["0.7", "0.2"], ["0.3", "0.8"]]),
    Subset.from_epsilon(1, Categories.numbered(20), size=5),
    Unary.rappor_from_epsilon(1, Categories.numbered(9)),
    Kronecker.of([Uniform.from_gamma(3, Categories.numbered(3))] * 2),
]


def test_rows_go_on_after_a_threaded_batch(monkeypatch):
    monkeypatch.setattr(sampler, "BYTES_PER_THREAD", 64)
    design, codes = DESIGNS[0], np.arange(9000) % 16
    whole = design.sample(codes, random=SeededRandom(3), threads=1).data
    parts = design.sampler(SeededRandom(3), threads=4)
    assert (np.concatenate([parts.sample(codes[:5000]).data, parts.sample(codes[5000:]).data]) == whole).all()


def test_small_batches_start_no_thread(monkeypatch):
    monkeypatch.setattr(concurrent.futures, "ThreadPoolExecutor", None)
    DESIGNS[0].sample(np.zeros(1000, dtype=int), threads=8)


def test_errors_in_a_thread_come_out(monkeypatch):
    monkeypatch.setattr(sampler, "BYTES_PER_THREAD", 64)
    monkeypatch.setattr(sampler.Sampler, "_sample_chunk", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        DESIGNS[0].sample(np.zeros(5000, dtype=int), threads=2)


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

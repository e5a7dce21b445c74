"""Where random words come from: known answers, and no word handed out twice."""

import copy
import hashlib
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from tests.support.quiet import told

from maskwell import SecureRandom, SeededRandom
from maskwell.core.randomness import SECURE, Stream, random_order
from maskwell.errors import MaskwellError, ParameterError, WrongTypeError

# NIST SP 800-38A, F.5.5: CTR-AES256
KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
COUNTER = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
PLAIN = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
CIPHER = bytes.fromhex(
    "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"
)


def block(key: bytes, number: int, at: int) -> bytes:
    """One block of the stream by the definition: the counter block encrypted on its own."""
    encryptor = Cipher(AES(key), ECB()).encryptor()
    return encryptor.update(number.to_bytes(8, "big") + at.to_bytes(8, "big"))


def as_bytes(words: Any) -> bytes:
    return np.asarray(words, dtype="<u4").tobytes()


def test_the_stream_is_aes_in_counter_mode() -> None:
    number, at = int.from_bytes(COUNTER[:8], "big"), int.from_bytes(COUNTER[8:], "big")
    words = Stream(KEY, number, secure=False).words(at, 4, 4)
    keystream = bytes(a ^ b for a, b in zip(PLAIN, CIPHER, strict=True))
    assert as_bytes(words) == keystream


@pytest.mark.parametrize("words_per_row", [1, 2, 3, 4, 5, 7, 34])
def test_main_words_follow_the_stated_layout(words_per_row: int) -> None:
    stream = Stream(KEY, 9, secure=False)
    expected = b"".join(block(KEY, 9, at) for at in range(200))
    for first, rows in [(0, 3), (3, 1), (20, 2), (1, 5), (6, 6), (0, 1), (11, 4)]:
        words = stream.words(first, rows, words_per_row)
        start = 4 * words_per_row * first
        assert words.shape == (rows, words_per_row)
        assert as_bytes(words) == expected[start : start + 4 * words_per_row * rows]


def test_spill_words_follow_the_stated_layout_and_disturb_nothing() -> None:
    stream = Stream(KEY, 9, secure=False)
    for row in (0, 1, 12345, 2**40):
        for refill in (0, 1, 65535):
            at = 2**63 + row * 2**16 + refill
            assert as_bytes(stream.spill(row, refill)) == block(KEY, 9, at)
    one, two = (Stream(KEY, 0, secure=False) for _ in range(2))
    expected = one.words(0, 10, 3).copy()
    got = []
    for row in range(10):
        got.append(two.words(row, 1, 3).copy())
        two.spill(row, 0)
    assert (np.concatenate(got) == expected).all()
    stream = SecureRandom().stream()
    assert (stream.twin().words(5, 3, 2) == stream.words(5, 3, 2)).all()


def test_further_words_are_the_spill_words_of_many_rows_and_no_main_words() -> None:
    """The counters differ in the top bit, and those of two rows never meet."""
    stream = Stream(KEY, 2**64 - 1, secure=False)
    rows = np.array([0, 7, 1, 2**40, 2**47 - 1])
    for refills in (0, 1, 3):
        one_by_one = [[w for refill in range(refills) for w in stream.spill(row, refill)] for row in rows.tolist()]
        assert stream.further(rows, refills).tolist() == one_by_one
    assert stream.further(rows[:0], 3).shape == (0, 12)
    assert stream.further(rows[:1], 2**16)[0, -4:].tolist() == stream.spill(0, 2**16 - 1)
    for too_far in ((rows, 2**16 + 1), (rows + 1, 1)):  # would be the words of another row
        with pytest.raises(OverflowError):
            stream.further(*too_far)
    stream = Stream(KEY, 0, secure=False)
    main = {as_bytes(row) for row in stream.words(0, 20_000, 4).copy()}
    spilled = [as_bytes(stream.spill(row, refill)) for row in range(200) for refill in range(5)]
    assert len(main) == 20_000
    assert len(set(spilled)) == 1000
    assert not main & set(spilled)
    with pytest.raises(OverflowError):
        stream.spill(0, 2**16)


def test_a_seed_gives_the_same_streams_again_and_is_not_private() -> None:
    one, two = SeededRandom(7), SeededRandom(7)
    first = [one.stream().words(0, 2, 2).tolist() for _ in range(3)]
    assert first == [two.stream().words(0, 2, 2).tolist() for _ in range(3)]
    assert len({str(words) for words in first}) == 3
    assert SeededRandom(8).stream().words(0, 2, 2).tolist() not in first
    key = hashlib.sha256(b"maskwell seeded source, version 1: 7").digest()
    assert as_bytes(SeededRandom(7).stream().words(0, 1, 4)) == block(key, 0, 0)
    assert SecureRandom().private
    assert SECURE.private
    assert not SeededRandom(1).private
    assert "not private" in repr(SeededRandom(1))


@pytest.mark.parametrize("seed", [1.0, "1", None, True])
def test_a_seed_is_an_integer(seed: Any) -> None:
    with told(WrongTypeError) as raised:
        SeededRandom(seed)
    assert isinstance(raised.value, MaskwellError)
    with pytest.raises(ParameterError, match="-1"):
        SeededRandom(-1)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copied_source_has_a_key_of_its_own(copied: Any) -> None:
    source = SecureRandom()
    used = source.stream().words(0, 4, 4).tobytes()
    assert copied(source).stream().words(0, 4, 4).tobytes() != used
    assert copied(SECURE).stream().words(0, 4, 4).tobytes() != SECURE.stream().words(0, 4, 4).tobytes()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("source", [SecureRandom(), SeededRandom(1)])
def test_a_stream_cannot_be_copied(copied: Any, source: Any) -> None:
    with told(WrongTypeError):
        copied(source.stream())


def test_neither_streams_nor_samplers_are_shared_or_copied() -> None:
    from maskwell import Categories
    from maskwell.designs import Uniform

    with pytest.raises(WrongTypeError):
        pickle.dumps(Uniform.from_gamma(3, Categories.numbered(2)).sampler())
    source, start = SecureRandom(), threading.Barrier(16)

    def work(_: int) -> list[bytes]:
        start.wait()
        return [source.stream().words(0, 1, 4).tobytes() for _ in range(200)]

    with ThreadPoolExecutor(16) as pool:
        found = [words for mine in pool.map(work, range(16)) for words in mine]
    assert len(found) == len(set(found)) == 3200


def test_threads_sample_as_one_would() -> None:
    """Many threads, one design, each with its own seed: the same reports as one after the other."""
    from maskwell import Categories
    from maskwell.designs import Dense, Uniform

    design = Dense.of(Uniform.from_gamma(3, Categories.numbered(12)).exact_matrix())
    codes = np.arange(20_000) % 12
    expected = [design.sample(codes, random=SeededRandom(seed)).data.tobytes() for seed in range(8)]
    fresh = Dense.of(design.exact_matrix())
    with ThreadPoolExecutor(8) as pool:
        drawn = pool.map(lambda seed: fresh.sample(codes, random=SeededRandom(seed)).data.tobytes(), range(8))
    assert [*drawn] == expected


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def run(script: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout.split()


FORKED = """
    import os, sys
    from maskwell import SecureRandom, SeededRandom
    from maskwell.core.randomness import SECURE

    def show(words):
        sys.stdout.write(words.tobytes().hex() + "\\n")
        sys.stdout.flush()

    def in_children(work, children=3):
        for _ in range(children):
            child = os.fork()
            if child == 0:
                work()
                os._exit(0)
            os.waitpid(child, 0)
        work()
"""


FORKS = {
    "a source": (4, """
        SECURE.stream()
        in_children(lambda: show(SECURE.stream().words(0, 1, 4)))"""),
    "an open stream": (4, """
        stream = SECURE.stream()
        stream.words(0, 5, 4)
        in_children(lambda: show(stream.words(5, 1, 4)))"""),
    "spill words and twins": (12, """
        import numpy as np
        stream = SECURE.stream()
        def draw():
            show(np.array(stream.spill(3, 0), dtype="<u4"))
            show(stream.further(np.array([4]), 1))
            show(stream.twin().words(0, 1, 4))
        in_children(draw)"""),
    "grandchildren": (18, """
        source = SecureRandom()
        stream = source.stream()
        def both():
            show(source.stream().words(0, 1, 4))
            show(stream.words(0, 1, 4))
        in_children(lambda: in_children(both, 2), 2)"""),
    "process numbers that are used again": (4, """
        os.getpid = lambda: 4242
        stream = SECURE.stream()
        stream.words(0, 1, 4)
        in_children(lambda: show(stream.words(1, 1, 4)))"""),
}  # fmt: skip


@needs_fork
@pytest.mark.parametrize("what", FORKS)
def test_a_forked_child_draws_other_words(what: str) -> None:
    drawn, script = FORKS[what]
    found = run(textwrap.dedent(FORKED) + textwrap.dedent(script))
    assert len(found) == len(set(found)) == drawn


@needs_fork
def test_a_forked_child_draws_the_same_words_from_a_seed() -> None:
    script = "stream = SeededRandom(1).stream()\nin_children(lambda: show(stream.words(0, 1, 4)))"
    assert len(set(run(textwrap.dedent(FORKED) + script))) == 1


@needs_fork
def test_forks_while_other_threads_draw_do_not_hang_the_children() -> None:
    """Threads take streams without pause while children are forked, which take one each."""
    script = """
    import signal, threading
    sources, done = [SECURE, SeededRandom(1)], threading.Event()

    def work():
        while not done.is_set():
            for source in sources:
                source.stream().words(0, 1, 4)

    for source in sources:
        source.stream()  # the cipher is loaded with the first stream
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    hung = 0
    for _ in range(40):
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            for source in sources:
                source.stream()
            os._exit(0)
        hung += os.waitpid(child, 0)[1] != 0
    done.set()
    for thread in threads:
        thread.join()  # one that the end of the process catches inside the cipher aborts it
    print(hung)
    """
    assert run(FORKED + script) == ["0"]


class Alike:
    """A stream whose rows have words with few different values in each half, or in all of them."""

    def __init__(self, mask: list[int]) -> None:
        self.own, self.mask = SeededRandom(3).stream(), np.array(mask, dtype=np.uint32)

    def words(self, first: int, rows: int, words: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
        return self.own.words(first, rows, words) & self.mask

    def spill(self, row: int, refill: int) -> list[int]:
        return self.own.spill(row, refill)


ALL = 0xFFFFFFFF


@pytest.mark.parametrize("mask", [[ALL, ALL], [ALL, 0xF], [0xF, ALL], [ALL, 0xF0000000]])
@pytest.mark.parametrize("size", [0, 1, 2, 1000, 70_000])
def test_a_random_order_is_that_of_numbers_of_64_bits(mask: list[int], size: int) -> None:
    """Also where many rows have the first 32 bits in common, or the last: the second word holds the first bits."""
    stream: Any = Alike(mask)
    keys = stream.words(5, size, 2).astype(np.uint64)
    numbers = keys[:, 0] + (keys[:, 1] << np.uint64(32))
    order = random_order(stream, 5, size)
    assert sorted(order.tolist()) == [*range(size)]
    assert (np.diff(numbers[order].astype(object)) >= 0).all()
    different = np.unique(numbers).size == size
    assert not different or order.tolist() == np.argsort(numbers).tolist()


def test_equal_numbers_are_put_in_order_by_further_words() -> None:
    stream: Any = Alike([0x3, 0x3])
    order = random_order(stream, 0, 200).tolist()
    numbers = (stream.words(0, 200, 2).astype(np.uint64) * np.array([1, 1 << 32], dtype=np.uint64)).sum(axis=1).tolist()
    assert order == sorted(range(200), key=lambda row: (numbers[row], stream.spill(row, 0)))

"""Draws kept by a key: the published construction, order and kinds of ids, that a key never shows, and its file."""

import copy
import errno
import hashlib
import hmac
import os
import pickle
import re
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from tests.support.arrays import Array
from tests.support.quiet import told

from maskwell import KeyedRandom
from maskwell.core import renames
from maskwell.core.keyed import checked_key, read_key_file
from maskwell.errors import DataFileError, MaskwellError, MissingValueError, ParameterError, WrongTypeError

KEY = bytes(range(32))
KEYED = KeyedRandom.of(KEY, "labour-2025")
DESIGN = "sha256:00"
GOLDEN = [[779678699, 2433031461], [42335662, 123707050]]
COMMITMENT = "2e198d5cfc18bbdf51db3c69662c6fbc1db4330421a23f013f9af737a6917b42"


def subkey(*parts: str) -> bytes:
    """By the description in the module, written anew."""
    message = b"".join(
        len(part).to_bytes(8, "big") + part
        for part in (b"maskwell keyed draws, version 2", *(text.encode() for text in parts))
    )
    return hmac.new(KEY, message, hashlib.sha256).digest()


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(AES(key), ECB()).encryptor().update(block)


def name_of(record: int | str) -> bytes:
    if isinstance(record, int):
        label = record.to_bytes(8, "little", signed=True) + bytes(8)
    else:
        digest = hashlib.blake2b(record.encode(), key=subkey("texts", "labour-2025"), digest_size=16).digest()
        label = digest[:15] + bytes([digest[15] | 0x80])
    return aes(subkey("names", "labour-2025"), label)


def block_of(purpose: str, record: int | str, state: int, number: int, design: str = DESIGN) -> list[int]:
    mask = state.to_bytes(8, "little") + number.to_bytes(8, "little")
    block = bytes(a ^ b for a, b in zip(name_of(record), mask, strict=True))
    made = aes(subkey(purpose, "labour-2025", "sex", design), block)
    return [int.from_bytes(made[i : i + 4], "little") for i in range(0, 16, 4)]


def words(ids: Any, states: Any, count: int, *, variable: str = "sex", design: str = DESIGN) -> Array:
    return KEYED.stream(variable, design).words(KEYED.names(ids), states, count)


@pytest.mark.parametrize("record", [-5, "Zoë-07"])
@pytest.mark.parametrize("state", [0, 1, 3, 2**32 + 1])
def test_words_are_as_described(record: int | str, state: int) -> None:
    stream = KEYED.stream("sex", DESIGN)
    assert KEYED.names([record]).tobytes() == name_of(record)
    first, second, third = (block_of("words", record, state, number) for number in range(3))
    assert words([record], [state], 10).tolist() == [[*first, *second, *third[:2]]]
    assert words([record], [state], 2).tolist() == [first[:2]]
    assert stream.spill(KEYED.names([record])[0], state, 3) == block_of("spill", record, state, 3)


def test_words_are_fixed_for_ever_and_further_ones_are_the_spill_words() -> None:
    """A change would break the draws of releases that were made: it needs another version in the subkeys."""
    assert words([1, "x"], [0, 2], 2).tolist() == GOLDEN
    assert KEYED.commitment() == COMMITMENT
    names, states = KEYED.names(np.arange(50)), np.arange(50) % 3
    before, stream = (names.copy(), states.copy()), KEYED.stream("sex", DESIGN)
    first = stream.words(names, states, 6)
    assert (names == before[0]).all()
    assert (states == before[1]).all()
    assert (stream.words(names, states, 6) == first).all()
    stream, names, states = KEYED.stream("sex", DESIGN), KEYED.names([3, "x", -1]), [5, 0, 2**40]
    one_by_one = [
        [word for refill in range(3) for word in stream.spill(name, state, refill)]
        for name, state in zip(names, states, strict=True)
    ]
    assert stream.further(names, states, 3).tolist() == one_by_one
    assert (names == KEYED.names([3, "x", -1])).all()


@pytest.mark.parametrize(
    "column",
    [
        [1, 20, -3],
        ["1", "20", "-3"],
        [1, "20", -3.0],
        np.array([1, 20, -3], dtype=np.int16),
        np.array([1, 20, -3], dtype=">i4"),
        np.array(["1", 20, -3.0], dtype=object),
        np.array([1, 20, -3], dtype=np.float32),
    ],
)
def test_the_kind_of_column_does_not_matter(column: Any) -> None:
    assert (KEYED.names(column) == KEYED.names([1, 20, -3])).all()


def test_different_ids_states_and_parts_have_different_words() -> None:
    ids = [0, 1, -1, "01", "+1", " 1", "1 ", "1.0", "-0", "x", "X", 2**63 - 1, -(2**63), 2**63, 2**64, "½", "１"]
    names = KEYED.names(ids)
    assert len({name.tobytes() for name in names}) == len(ids)
    assert (KEYED.names([str(2**63)]) == KEYED.names(np.array([2**63], dtype=np.uint64))).all()
    ids, states = (part.reshape(-1) for part in np.meshgrid(np.arange(64), np.arange(64)))
    made = words(ids, states, 4)
    assert len({row.tobytes() for row in made}) == 64 * 64
    blocks = {tuple(block) for row in words(ids, states, 16) for block in row.reshape(4, 4).tolist()}
    assert len(blocks) == 4 * 64 * 64, "a state is not taken for the number of a block either"
    first = KeyedRandom.of(KEY, "ab").subkey("words", "c", "0")
    assert first != KeyedRandom.of(KEY, "a").subkey("words", "bc", "0")
    assert first != KeyedRandom.of(KEY, "ab").subkey("words", "c0", "")


OTHERS = [[True], [1.5], [1e300], [2.0**53], [b"a"], [(1, 2)], np.array([7], "M8[D]"), np.array([7], "M8[ns]")]
TOO_LARGE = [np.array([2.0**24], np.float32), np.array([2.0**11], np.float16), np.array([2.0**53])]


WEAK = ["", "00" * 15, b"short", "0" * 33, "correct horse battery staple", "00" * 32, b"\1\2" * 16]


def test_the_key_is_not_shown_and_a_commitment_tells_keys_apart() -> None:
    shown = repr(KEYED) + str(KEYED) + KEYED.commitment()
    assert KEY.hex() not in shown
    assert repr(KEY) not in shown
    assert KEYED.private
    assert KeyedRandom.of(KEY.hex(), "labour-2025").commitment() == KEYED.commitment()
    others = [KeyedRandom.of(KEY, "labour-2026"), KeyedRandom.of(KEY[::-1], "labour-2025")]
    assert len({KEYED.commitment(), *(other.commitment() for other in others)}) == 3
    hashes = [hashlib.new(name, KEY).hexdigest() for name in ("sha256", "sha512", "sha1")]
    assert KEYED.commitment() not in hashes


@pytest.mark.parametrize("secret", [KEYED, KEYED.stream("sex", DESIGN)])
def test_a_key_is_not_copied_or_sent(secret: Any) -> None:
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(WrongTypeError, match="secret"):
            attempt(secret)


def test_derived_keys_make_the_same_words_and_do_not_hold_the_key() -> None:
    sent = pickle.loads(pickle.dumps(KEYED.derived([("sex", DESIGN)])))
    ids = [7, "seven", 2**70]
    assert (sent.names(ids) == KEYED.names(ids)).all()
    here, there = KEYED.stream("sex", DESIGN), sent.stream("sex", DESIGN)
    assert (here.words(KEYED.names(ids), [0, 1, 2], 6) == there.words(sent.names(ids), [0, 1, 2], 6)).all()
    assert here.spill(KEYED.names(ids)[0], 1, 3) == there.spill(sent.names(ids)[0], 1, 3)
    for ask in (lambda: sent.stream("sex", "other"), lambda: sent.stream("age", DESIGN), sent.commitment):
        with pytest.raises(ParameterError, match="was not sent with the others"):
            ask()
    sent = KEYED.derived([("sex", DESIGN)])
    for text in (repr(sent).encode(), pickle.dumps(sent), repr(vars(sent)).encode()):
        assert KEY not in text and KEY.hex().encode() not in text
    assert sent.subkey("names").hex() not in repr(sent)


@pytest.mark.parametrize(
    ("error", "said", "columns"),
    [
        (MissingValueError, "row 1 ", [[1, None], [1, float("nan")], np.array([1.0, np.nan]), ["a", ""]]),
        (WrongTypeError, "row 0 .*\n.*whole numbers or strings", [*OTHERS, *TOO_LARGE]),
        (WrongTypeError, "shape", [np.zeros((2, 2), dtype=int)]),
    ],
)
def test_what_is_no_column_of_ids_is_refused(error: type[MaskwellError], said: str, columns: list[Any]) -> None:
    for ids in columns:
        with pytest.raises(error, match=said):
            KEYED.names(ids)
    assert KEYED.names([]).shape == (0, 16) and words([], [], 2).shape == (0, 2)


@pytest.mark.parametrize("key", WEAK)
def test_keys_that_could_be_tried_are_refused_and_not_shown(key: Any) -> None:
    with told(ParameterError) as raised:
        KeyedRandom.of(key, "d")
    assert not key or str(key) not in str(raised.value)
    assert all(isinstance(value, int) for value in raised.value.objects.values())


@pytest.mark.parametrize("name", ["", None, 3])
def test_data_sets_variables_and_designs_need_names(name: Any) -> None:
    for call in (KeyedRandom.of, lambda _, name: KEYED.stream(name, DESIGN), lambda _, name: KEYED.stream("sex", name)):
        with pytest.raises(MaskwellError):
            call(KEY, name)


posix = pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")


def test_a_new_key_has_256_bits_only_its_owner_reads_it_and_white_space_is_no_part_of_it(tmp_path: Path) -> None:
    path = KeyedRandom.new_file(tmp_path / "labour.key")
    assert re.fullmatch(r"[0-9a-f]{64}\n", path.read_text())
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
    assert read_key_file(path) == bytes.fromhex(path.read_text().strip())
    assert KeyedRandom.new_file(tmp_path / "other.key").read_text() != path.read_text()
    path = tmp_path / "labour.key"
    path.write_bytes(b" " + bytes(range(16)).hex().upper().encode() + b"\r\n\n")
    path.chmod(0o600)
    assert read_key_file(path) == bytes(range(16))
    assert KeyedRandom.from_file(path, "d").commitment() == KeyedRandom.of(bytes(range(16)), "d").commitment()


@posix
def test_the_mode_does_not_depend_on_the_mask_of_the_process(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = KeyedRandom.new_file(tmp_path / "labour.key")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_key_is_never_replaced_and_a_missing_place_is_named(tmp_path: Path) -> None:
    path = KeyedRandom.new_file(tmp_path / "labour.key")
    before = path.read_text()
    with pytest.raises(DataFileError, match="never replaced"):
        KeyedRandom.new_file(path)
    assert path.read_text() == before
    with pytest.raises(DataFileError, match="does not exist"):
        KeyedRandom.new_file(tmp_path / "nowhere" / "labour.key")
    with pytest.raises(DataFileError, match="cannot read the key file"):
        read_key_file(tmp_path / "absent.key")


@posix
@pytest.mark.parametrize("step", ["write", "fsync", "rename"])
def test_a_key_that_could_not_be_written_does_not_block_the_next_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "labour.key"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        where = {"write": (secrets, "token_hex"), "fsync": (os, "fsync"), "rename": (renames, "_is_renamed")}[step]
        patch.setattr(*where, full)
        with pytest.raises(DataFileError, match="No space left"):
            KeyedRandom.new_file(path)
    assert [*tmp_path.iterdir()] == []
    assert len(read_key_file(KeyedRandom.new_file(path))) == 32


@posix
def test_a_key_is_made_beside_nothing_that_exists(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "folder", tmp_path / "dangling", tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(DataFileError, match="never replaced"):
            KeyedRandom.new_file(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "folder", "pipe"]


@posix
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = KeyedRandom.new_file(tmp_path / "labour.key")
    path.chmod(mode)
    with pytest.raises(DataFileError, match=f"{mode:04o}") as raised:
        read_key_file(path)
    assert "chmod 600" in raised.value.hint
    path.chmod(0o400)
    assert len(read_key_file(path)) == 32


@posix
def test_what_holds_no_key_is_refused(tmp_path: Path) -> None:
    path = KeyedRandom.new_file(tmp_path / "labour.key")
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(0o700)
    for other in (tmp_path / "pipe", tmp_path / "folder", Path("/dev/zero")):
        with pytest.raises(DataFileError, match=r"is not a file|Is a directory"):
            read_key_file(other)
    for text in ("", "not hexadecimal", "0123", "ab" * 15, "ab" * 40):
        path.write_text(text)
        with pytest.raises(ParameterError) as raised:
            read_key_file(path)
        assert not text or text not in str(raised.value)
    path.write_text("ab" * 2049)
    with pytest.raises(DataFileError, match="more than 4,096 bytes"):
        read_key_file(path)
    with pytest.raises(WrongTypeError):
        checked_key(12345)  # type: ignore[arg-type]

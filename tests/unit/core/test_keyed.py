"""Draws kept by a key: the published construction, order, chunks and kinds of ids, and that a key never shows."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from tests.support.chisquare import fits

from maskwell.core.keyed import KeyedRandom
from maskwell.errors import MaskwellError, MissingValueError, ParameterError, WrongTypeError

KEY = bytes(range(32))
KEYED = KeyedRandom.of(KEY, "labour-2025")
GOLDEN = [[830681465, 1164494868], [2948511591, 4022495548]]
COMMITMENT = "1df7092434965765123b25f1b7f7ee300f2f952ffea14168493c2aa85559dba6"


def subkey(*parts: str) -> bytes:
    """By the description in the module, written anew."""
    message = b"".join(
        len(part).to_bytes(8, "big") + part
        for part in (b"maskwell keyed draws, version 1", *(text.encode() for text in parts))
    )
    return hmac.new(KEY, message, hashlib.sha256).digest()


def block(key: bytes, name: bytes) -> list[int]:
    made = Cipher(AES(key), ECB()).encryptor().update(name)
    return [int.from_bytes(made[i : i + 4], "little") for i in range(0, 16, 4)]


# ---- the construction


def test_words_of_a_number_are_as_described() -> None:
    name = (-5).to_bytes(8, "little", signed=True) + bytes(8)
    first = block(subkey("words", "labour-2025", "sex", "0"), name)
    second = block(subkey("words", "labour-2025", "sex", "1"), name)
    assert KEYED.words("sex", [-5], 6).tolist() == [[*first, *second[:2]]]
    assert KEYED.words("sex", [-5], 2).tolist() == [first[:2]]
    assert KEYED.spill("sex", -5, 3) == block(subkey("spill", "labour-2025", "sex", "3"), name)


def test_words_of_a_text_are_as_described() -> None:
    digest = bytearray(hashlib.blake2b("Zoë-07".encode(), key=subkey("names", "labour-2025"), digest_size=16).digest())
    digest[15] |= 0x80
    assert KEYED.names(["Zoë-07"]).tobytes() == bytes(digest)
    expected = block(subkey("words", "labour-2025", "sex", "0"), bytes(digest))
    assert KEYED.words("sex", ["Zoë-07"], 4)[0].tolist() == expected


def test_words_are_fixed_for_ever() -> None:
    """A change would break the draws of releases that were made: it needs another version in the subkeys."""
    assert KEYED.words("sex", [1, "x"], 2).tolist() == GOLDEN
    assert KEYED.commitment() == COMMITMENT


# ---- what words depend on


def test_words_do_not_depend_on_order_or_chunks() -> None:
    ids = np.arange(1000) * 7919 % 100_003
    whole = KEYED.words("sex", ids, 2)
    order = np.random.default_rng(1).permutation(1000)
    assert (KEYED.words("sex", ids[order], 2) == whole[order]).all()
    pieces = [KEYED.words("sex", piece, 2) for piece in np.split(ids, [1, 10, 999])]
    assert (np.concatenate(pieces) == whole).all()


def test_more_words_begin_with_the_fewer() -> None:
    ids = np.arange(20)
    many = KEYED.words("sex", ids, 11)
    for count in range(1, 11):
        assert (KEYED.words("sex", ids, count) == many[:, :count]).all()


@pytest.mark.parametrize(
    "column",
    [
        [1, 20, -3],
        ["1", "20", "-3"],
        [1.0, 20.0, -3.0],
        [1, "20", -3.0],
        np.array([1, 20, -3], dtype=np.int16),
        np.array([1, 20, -3], dtype=">i4"),
        np.array(["1", "20", "-3"]),
        np.array(["1", 20, -3.0], dtype=object),
        np.array([1, 20, -3], dtype=np.float32),
    ],
)
def test_the_kind_of_column_does_not_matter(column: Any) -> None:
    assert (KEYED.names(column) == KEYED.names([1, 20, -3])).all()


def test_a_pandas_column_is_taken() -> None:
    pandas = pytest.importorskip("pandas")
    for kind in ("int64", "Int64", "str", "float64"):
        assert (KEYED.names(pandas.Series([1, 20, -3]).astype(kind)) == KEYED.names([1, 20, -3])).all()


def test_different_ids_have_different_names() -> None:
    ids = [0, 1, -1, "01", "+1", " 1", "1 ", "1.0", "-0", "x", "X", 2**63 - 1, -(2**63), 2**63, 2**64, "½", "１"]
    names = KEYED.names(ids)
    assert len({name.tobytes() for name in names}) == len(ids)
    assert (KEYED.names([str(2**63)]) == KEYED.names(np.array([2**63], dtype=np.uint64))).all()


def test_key_data_set_and_variable_each_change_all_words() -> None:
    ids = np.arange(2000)
    others = [
        KEYED.words("age", ids, 2),
        KeyedRandom.of(KEY, "labour-2026").words("sex", ids, 2),
        KeyedRandom.of(KEY[::-1], "labour-2025").words("sex", ids, 2),
        KEYED.stream("sex")._encrypted("spill", 0, KEYED.names(ids))[:, :2],
    ]
    own = KEYED.words("sex", ids, 2)
    for other in others:
        assert (own == other).sum() <= 1, "4000 words of 32 bits: two or more agree with a chance below 1e-12"


def test_no_two_lists_of_parts_are_one_message() -> None:
    first = KeyedRandom.of(KEY, "ab").subkey("words", "c", "0")
    assert first != KeyedRandom.of(KEY, "a").subkey("words", "bc", "0")
    assert first != KeyedRandom.of(KEY, "ab").subkey("words", "c0", "")


@pytest.mark.parametrize("texts", [False, True])
def test_words_of_ids_in_a_row_look_uniform(texts: bool) -> None:
    """Each byte of the words of 0, 1, 2, ...; false-alarm rate 1e-6 for each of the bytes."""
    ids: Any = [f"person {i}" for i in range(50_000)] if texts else np.arange(50_000)
    words = np.ascontiguousarray(KEYED.words("sex", ids, 2)).view(np.uint8).reshape(-1, 8)
    for byte in words.T:
        assert fits(np.bincount(byte, minlength=256), np.full(256, 1 / 256))


# ---- bad input


@pytest.mark.parametrize("ids", [[1, None], [1, float("nan")], np.array([1.0, np.nan]), ["a", ""]])
def test_a_record_without_an_id_is_refused(ids: Any) -> None:
    with pytest.raises(MissingValueError, match="row 1 "):
        KEYED.names(ids)


@pytest.mark.parametrize("ids", [[True], [1.5], [1e300], [b"a"], [(1, 2)], np.array(["2020-01-01"], dtype="M8[D]")])
def test_ids_of_other_kinds_are_refused(ids: Any) -> None:
    with pytest.raises(WrongTypeError, match="row 0 ") as raised:
        KEYED.names(ids)
    assert "whole numbers or texts" in raised.value.hint


def test_ids_must_be_one_column() -> None:
    with pytest.raises(WrongTypeError, match="shape"):
        KEYED.names(np.zeros((2, 2), dtype=int))
    assert KEYED.names([]).shape == (0, 16)
    assert KEYED.words("sex", [], 2).shape == (0, 2)


WEAK = ["", "00" * 15, b"short", "0" * 33, "correct horse battery staple", "00" * 32, b"\1\2" * 16]


@pytest.mark.parametrize("key", WEAK)
def test_keys_that_could_be_tried_are_refused_and_not_shown(key: Any) -> None:
    with pytest.raises(ParameterError) as raised:
        KeyedRandom.of(key, "d")
    assert not key or str(key) not in str(raised.value)
    assert not raised.value.objects
    assert raised.value.hint


@pytest.mark.parametrize("dataset", ["", None, 3])
def test_a_data_set_needs_a_name(dataset: Any) -> None:
    with pytest.raises(MaskwellError):
        KeyedRandom.of(KEY, dataset)
    with pytest.raises(MaskwellError):
        KEYED.words(dataset, [1], 2)


# ---- the key stays where it is


def test_the_key_is_not_shown() -> None:
    shown = repr(KEYED) + str(KEYED) + KEYED.commitment()
    assert KEY.hex() not in shown
    assert repr(KEY) not in shown
    assert KEYED.private


@pytest.mark.parametrize("secret", [KEYED, KEYED.stream("sex")])
def test_a_key_is_not_copied_or_sent(secret: Any) -> None:
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(WrongTypeError, match="secret"):
            attempt(secret)


def test_a_commitment_tells_keys_and_data_sets_apart() -> None:
    assert KeyedRandom.of(KEY.hex(), "labour-2025").commitment() == KEYED.commitment()
    others = [KeyedRandom.of(KEY, "labour-2026"), KeyedRandom.of(KEY[::-1], "labour-2025")]
    assert len({KEYED.commitment(), *(other.commitment() for other in others)}) == 3
    hashes = [hashlib.new(name, KEY).hexdigest() for name in ("sha256", "sha512", "sha1")]
    assert KEYED.commitment() not in hashes

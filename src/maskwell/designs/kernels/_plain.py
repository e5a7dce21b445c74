"""The kernels in NumPy: what the compiled ones must reproduce, and what runs without a compiler.

Each writes reports into ``out`` and into ``unsettled`` the rows that the caller must draw exactly (a tie, a rejected
choice), and returns how many those are. Two words ``a, b`` read together are the number ``a + 2**32 * b``.
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arguments import Array, Bits, Words

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_FEW = 2  # fewer sets than this are drawn faster by the definition than step by step


def _list(flags: Array, unsettled: Array) -> int:
    rows = np.flatnonzero(flags)
    unsettled[: len(rows)] = rows
    return len(rows)


def _two_words(words: Words) -> Array:
    return words[:, 0].astype(np.uint64) | (words[:, 1].astype(np.uint64) << _SHIFT)


def uniform(codes: Array, words: Words, k: int, threshold: int, out: Array, unsettled: Array) -> int:
    """The truth if two words are below ``threshold``, else ``w0 * k >> 32``, with rejection: [Lemire2019]."""
    high, top = words[:, 1], np.uint32(threshold >> 32)
    product = words[:, 0].astype(np.uint64) * np.uint64(k)
    kept = high < top
    out[:] = np.where(kept, codes, (product >> _SHIFT).astype(codes.dtype))
    rejected = ~kept & ((product & _LOW) < np.uint64(2**32 % k))
    return _list((high == top) | rejected, unsettled)


def categorical(
    columns: Array, words: Words, thresholds: Array, guide: Array, guide_bits: int, out: Array, unsettled: Array
) -> int:
    """Report the number of thresholds of the row's column that lie below the two words."""
    word, columns = _two_words(words), columns.astype(np.int64)
    index = (columns << guide_bits) + (word >> np.uint64(64 - guide_bits)).astype(np.int64)
    report = guide[index].astype(np.int64)
    if thresholds.shape[1] == 0:
        out[:] = report
        return 0
    last = thresholds.shape[1] - 1
    at_threshold = thresholds[columns, np.minimum(report, last)]
    moving = np.flatnonzero((report <= last) & (at_threshold < word))
    while len(moving):
        report[moving] += 1
        moving = moving[report[moving] <= last]
        moving = moving[thresholds[columns[moving], report[moving]] < word[moving]]
    out[:] = report
    tie = (report <= last) & (thresholds[columns, np.minimum(report, last)] == word)
    return _list(tie, unsettled)


def listed(
    codes: Array,
    words: Words,
    columns: Array,
    thresholds: Array,
    guide: Array,
    reports: Array,
    out: Array,
    unsettled: Array,
) -> int:
    """Report the entry of the row's column that follows the thresholds below the two words; the last has none."""
    word = _two_words(words)
    entry, last, at, bits = columns[codes.astype(np.int64)].T
    entry = entry.copy()
    if (guided := np.flatnonzero(bits)).size:
        leading = (word[guided] >> (np.uint64(64) - bits[guided].astype(np.uint64))).astype(np.int64)
        entry[guided] += guide[at[guided] + leading].astype(np.int64)
    moving = np.flatnonzero((entry < last) & (thresholds[entry] < word))
    while len(moving):
        entry[moving] += 1
        moving = moving[entry[moving] < last[moving]]
        moving = moving[thresholds[entry[moving]] < word[moving]]
    out[:] = reports[entry]
    return _list((entry < last) & (thresholds[entry] == word), unsettled)


def subset(
    codes: Array, words: Words, k: int, size: int, coin: int, threshold: int, out: Bits, unsettled: Array
) -> int:
    """Include the truth by a coin (or always) and add uniformly drawn others by Floyd's method, as bits."""
    n, codes = len(codes), codes.astype(np.int64)
    rows = np.arange(n)
    if n < _FEW:
        return _list(rows >= 0, unsettled)
    includes, open_ = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    if coin:
        word = _two_words(words)
        includes, open_ = word < np.uint64(threshold), word == np.uint64(threshold)
        words = words[:, 2:]
    chosen = np.zeros((n, k), dtype=bool)
    for step in range(size if coin else size - 1):
        active = ~includes | (step < size - 1)  # a row that includes the truth draws one other fewer
        bound = np.where(active, k - size + step + includes, 1).astype(np.uint64)
        product = words[:, step].astype(np.uint64) * bound
        open_ |= active & ((product & _LOW) < np.uint64(2**32) % bound)
        pick, last = (product >> _SHIFT).astype(np.int64), bound.astype(np.int64) - 1
        pick += pick >= codes  # the others are numbered without the truth
        last += last >= codes
        pick = np.where(chosen[rows, pick], last, pick)
        chosen[rows[active], pick[active]] = True
    chosen[rows, codes] = includes
    out[:] = np.packbits(chosen, axis=1, bitorder="little")
    return _list(open_, unsettled)


def unary(
    codes: Array,
    words: Words,
    k: int,
    keep: int,
    keep_ends: int,
    flip: int,
    flip_ends: int,
    out: Bits,
    unsettled: Array,
) -> int:
    """Set bit j when the j-th 16-bit half is below its threshold: ``keep`` for the truth, ``flip`` elsewhere.

    A threshold that ends within its first 16 of 48 bits cannot tie; the word after the halves settles a single tie.
    """
    halves = np.ascontiguousarray(words).view("<u2")[:, :k]
    rows, codes = np.arange(len(codes)), codes.astype(np.int64)
    ones, ties = halves < (flip >> 32), (halves == (flip >> 32)) & (not flip_ends)
    ones[rows, codes] = halves[rows, codes] < (keep >> 32)
    ties[rows, codes] = (halves[rows, codes] == (keep >> 32)) & (not keep_ends)
    tied = np.flatnonzero(ties.any(axis=1))
    at = ties[tied].argmax(axis=1)
    following = np.where(at == codes[tied], np.uint32(keep & 0xFFFFFFFF), np.uint32(flip & 0xFFFFFFFF))
    extra = words[tied, (k + 1) // 2]
    ones[tied, at] = extra < following
    out[:] = np.packbits(ones, axis=1, bitorder="little")
    open_ = tied[(ties[tied].sum(axis=1) > 1) | (extra == following)]
    unsettled[: len(open_)] = open_
    return len(open_)


def tally_codes(codes: Array, counts: Array) -> None:
    """Add how often each code occurs to ``counts``."""
    counts += np.bincount(codes, minlength=len(counts))


def tally_bits(bits: Bits, size: int, counts: Array) -> int:
    """Add to ``counts`` how many reports hold each category."""
    for start in range(0, len(bits), 4096):
        ones = np.unpackbits(bits[start : start + 4096], axis=1, count=len(counts), bitorder="little")
        if size >= 0 and (wrong := np.flatnonzero(ones.sum(axis=1, dtype=np.int64) != size)).size:
            return start + int(wrong[0])
        counts += ones.sum(axis=0, dtype=np.int64)
    return -1

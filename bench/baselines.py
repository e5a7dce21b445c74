"""What a careful user would write without maskwell, in plain NumPy: not exact, not cryptographic."""

from __future__ import annotations

from typing import Any

import numpy as np

CHUNK = 1 << 16


def uniform_plain(codes: np.ndarray, k: int, gamma: float, rng: np.random.Generator) -> np.ndarray:
    """K-ary randomized response in two lines: keep with probability p, else one of all categories."""
    p = (gamma - 1) / (gamma - 1 + k)
    return np.where(rng.random(len(codes)) < p, codes, rng.integers(0, k, len(codes)))


def uniform_tuned(codes: np.ndarray, k: int, gamma: float, rng: np.random.Generator) -> np.ndarray:
    """The same in chunks that fit the cache, with one-byte integers throughout."""
    out = np.empty_like(codes)
    p = (gamma - 1) / (gamma - 1 + k)
    for start in range(0, len(codes), CHUNK):
        block = codes[start : start + CHUNK]
        fresh = rng.integers(0, k, len(block), dtype=codes.dtype)
        out[start : start + CHUNK] = np.where(rng.random(len(block)) < p, block, fresh)
    return out


def dense(codes: np.ndarray, P: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Any matrix: inverse distribution function, column by column."""
    out = np.empty(len(codes), dtype=np.uint8)
    steps = P.cumsum(axis=0)
    for truth in range(P.shape[1]):
        rows = np.flatnonzero(codes == truth)
        out[rows] = np.searchsorted(steps[:-1, truth], rng.random(len(rows)), side="right")
    return out


def sparse(codes: np.ndarray, P: Any, rng: np.random.Generator) -> np.ndarray:
    """A matrix by its non-zeros: all columns one after the other, and one search for all rows."""
    steps = np.cumsum(P.data)  # column j ends at j + 1
    entries = np.searchsorted(steps, codes + rng.random(len(codes)), side="right")
    return P.indices[np.minimum(entries, len(P.indices) - 1)]


def subset_plain(codes: np.ndarray, k: int, size: int, include: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Subset selection, one report at a time, each a sorted array of categories."""
    domain, reports = np.arange(k), []
    for truth in codes.tolist():
        others = domain[domain != truth]
        if rng.random() < include:
            reports.append(np.sort(np.append(rng.choice(others, size - 1, replace=False), truth)))
        else:
            reports.append(np.sort(rng.choice(others, size, replace=False)))
    return reports


def subset_tuned(codes: np.ndarray, k: int, size: int, include: float, rng: np.random.Generator) -> np.ndarray:
    """The same without copies of the domain and without sorting, packed into bits."""
    out = np.empty((len(codes), (k + 7) // 8), dtype=np.uint8)
    for row, truth in enumerate(codes.tolist()):
        includes = rng.random() < include
        others = rng.choice(k - 1, size - includes, replace=False)
        chosen = np.zeros(k, dtype=bool)
        chosen[others + (others >= truth)] = True
        chosen[truth] = includes
        out[row] = np.packbits(chosen, bitorder="little")
    return out


def unary(codes: np.ndarray, k: int, keep: float, flip: float, rng: np.random.Generator) -> np.ndarray:
    """One bit for each category, packed."""
    out = np.empty((len(codes), (k + 7) // 8), dtype=np.uint8)
    for start in range(0, len(codes), 4096):
        block = codes[start : start + 4096]
        chance = np.full((len(block), k), flip)
        chance[np.arange(len(block)), block] = keep
        out[start : start + 4096] = np.packbits(rng.random(chance.shape) < chance, axis=1, bitorder="little")
    return out

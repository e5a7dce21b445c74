"""The name of a design: a hash of its canonical JSON form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def fingerprint_of(identity: Mapping[str, Any]) -> str:
    """SHA-256 of the JSON text with sorted keys and no spaces.

    >>> fingerprint_of({"b": 1, "a": 2}) == fingerprint_of({"a": 2, "b": 1})
    True
    """
    return fingerprint_of_text([canonical_text(identity)])


def canonical_text(content: Any) -> str:
    """JSON with sorted keys, no spaces and only ASCII characters.

    >>> canonical_text({"b": ["1", 2], "a": {}})
    '{"a":{},"b":["1",2]}'
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def fingerprint_of_text(pieces: Iterable[str]) -> str:
    """The same from the canonical text, piece by piece, so that a large one never lies in memory whole.

    >>> fingerprint_of_text(['{"a":', '1}']) == fingerprint_of({"a": 1})
    True
    """
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece.encode("ascii"))
    return "sha256:" + digest.hexdigest()


def joint_fingerprint(names: Sequence[str]) -> str:
    """One name for the designs of several samples, from the names of each.

    >>> joint_fingerprint(["sha256:00"])
    'sha256:00'
    """
    return names[0] if len(names) == 1 else fingerprint_of({"samples": list(names)})

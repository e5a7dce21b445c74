"""The name of a design: a hash of its canonical JSON form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def fingerprint_of(identity: Mapping[str, Any]) -> str:
    """SHA-256 of the JSON text with sorted keys and no spaces.

    >>> fingerprint_of({"b": 1, "a": 2}) == fingerprint_of({"a": 2, "b": 1})
    True
    """
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def joint_fingerprint(names: Sequence[str]) -> str:
    """One name for the designs of several samples, from the names of each.

    >>> joint_fingerprint(["sha256:00"])
    'sha256:00'
    """
    return names[0] if len(names) == 1 else fingerprint_of({"samples": list(names)})

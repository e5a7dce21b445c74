"""Sampling and tally loops: compiled where ``COMPILED``, else the same in NumPy (always with ``MASKWELL_PLAIN=1``)."""

from __future__ import annotations

import os
from typing import Any

from maskwell.designs.kernels import _plain

plain: Any = _plain
compiled: Any = None
try:
    from maskwell.designs.kernels import _compiled  # type: ignore[attr-defined]

    compiled = _compiled
except ImportError:  # no compiler was at hand when the package was installed
    pass

COMPILED = compiled is not None and os.environ.get("MASKWELL_PLAIN", "") in ("", "0")
active: Any = compiled if COMPILED else plain

__all__ = ["COMPILED", "active", "compiled", "plain"]

"""Making the receipts of a release: what users need for a valid analysis (public), and all that was done (internal).

The public receipt never tells what would give the counts of the original file away: no matrix that was worked out from
the file (its counts are an eigenvector of it), no parameter of one, and no fingerprint either, because matrices could
be tried until one fits. Source: [Adeshiyan2011, section 4.6].
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maskwell.core.escaping import in_json
from maskwell.core.json_values import plain
from maskwell.core.version import version_text
from maskwell.designs.sparse import Sparse
from maskwell.errors import LabelError
from maskwell.release.folder.advice import advice_of
from maskwell.release.folder.publishing import INCLUDED, WITHHELD, check_matrix, is_included, protection_of
from maskwell.release.folder.receipt import VERSION
from maskwell.release.folder.stage_json import labels_json, numbered, stage_to_dict
from maskwell.release.risk.repeated_releases import path_parities
from maskwell.release.stages.stage import Stage
from maskwell.release.utility.utility_measures import inflation_of

if TYPE_CHECKING:
    from maskwell.release.released import Release

SPEC = "pram-vectors/1"
SHARE_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Steps to which the expected share of changed records is rounded, the finest that tells less than the file does."""

DIGITS = 2


def public_receipt(release: Release) -> dict[str, Any]:
    """What users may know: what was randomized and how, in rounded numbers, with the matrices that were fixed before.

    Raises
    ------
    PublishError
        A matrix that the plan wants published would give the counts of the file away.
    """
    groups = [_public_group(release, stage) for stage in release.stages]
    return {**_head(release, "public"), "groups": groups, "advice": advice_of(groups, release.plan.weights)}


def internal_receipt(release: Release) -> dict[str, Any]:
    """Everything: the plan, every matrix, the counts they came from, risk and utility. Never to be published."""
    return {
        **_head(release, "internal"),
        "source": release.source_name,
        "plan": release.plan.to_dict(),
        "randomness": {
            "source": _randomness(release),
            "commitment": release.keyed,
            "draws": draws_told(release),
            "attempts": release.attempts,
        },
        "missing_values": dict(release.missing),
        "changed": dict(release.changed),
        "groups": [_internal_group(release, stage) for stage in release.stages],
        "risk": release.risk_dict(),
        "side_channels": [one.to_dict() for one in release.side_channels],
        "utility": None if release.utility is None else release.utility.to_dict(),
    }


def draws_told(release: Release) -> list[dict[str, Any]]:
    """With a key, how each group was drawn and what two releases of it tell: exact parities, None where unknown."""
    if release.keyed is None:
        return []
    found = [
        (stage, path_parities(stage, kept=release.keeps(stage))) for stage in release.stages if stage.method != "swap"
    ]
    return [
        {
            "variables": list(stage.variables),
            "draws": release.draws_of(stage),
            "parity_of_two_releases": None if parities is None else parities.to_dict(),
        }
        for stage, parities in found
    ]


def dumps(receipt: Mapping[str, Any]) -> str:
    """The text of a receipt."""
    public = receipt["audience"] == "public"  # internal ones may hold millions of numbers, one on each line otherwise
    text = json.dumps(plain(receipt), indent=1 if public else None, ensure_ascii=False, allow_nan=False)
    return in_json(text) + "\n"


def _head(release: Release, audience: str) -> dict[str, Any]:
    return {
        "maskwell": "receipt",
        "version": VERSION,
        "audience": audience,
        "program": f"maskwell {version_text()}",
        "dataset": release.plan.title or release.plan.dataset,
        "demonstration": release.plan.demonstration or not release.private,
        "rows": release.rows,
        "order": "shuffled" if release.shuffled else "kept",
        "weights": release.plan.weights,
    }


def _randomness(release: Release) -> str:
    return "seed" if not release.private else "operating system" if release.keyed is None else "key"


def _public_group(release: Release, stage: Stage) -> dict[str, Any]:
    check_matrix(release.plan, stage)
    included = is_included(release.plan, stage)
    about = _about(release, stage)
    if not included:
        return {**about, "matrix": WITHHELD}
    return {**about, "matrix": INCLUDED, **_matrix(stage)}


def _about(release: Release, stage: Stage) -> dict[str, Any]:
    """What both parts tell of a group of variables."""
    inflation = {name: inflation_of(stage, name) for name in stage.variables}
    known = {name: found.worst for name, found in inflation.items() if found is not None}
    return {
        "method": "swap" if stage.method == "swap" else "pram",
        "variables": list(stage.variables),
        "within": list(stage.within),
        "linked": list(stage.linked),
        "blocks": _blocks(stage),
        "invariance": stage.invariance,
        "orientation": "columns",
        "vif": {name: rounded_up(factor) for name, factor in known.items()},
        "n_eff": {name: rounded_down(release.rows / rounded_up(factor)) for name, factor in known.items()},
        "changed_expected": rounded_share(stage.expected_changed(), release.rows),
        "missing": "unchanged" if release.plan.missing == "unchanged" else "category",
        "spec": SPEC,
    }


def _matrix(stage: Stage) -> dict[str, Any]:
    """A matrix that may be published, without how it came about: that might tell of the file."""
    design = {**numbered(stage.design).to_dict(), "provenance": {}}
    return {"states": labels_json(stage.states), "outputs": labels_json(stage.outputs), "design": design}


def _internal_group(release: Release, stage: Stage) -> dict[str, Any]:
    return {
        **_about(release, stage),
        "matrix": INCLUDED if is_included(release.plan, stage) else WITHHELD,
        "changed_exactly": stage.expected_changed(),
        "clearance": protection_of(release.plan, stage).clearance,
        "fingerprint": _fingerprint(stage),
        "stage": stage_to_dict(stage),
    }


def _fingerprint(stage: Stage) -> str | None:
    """Names the matrix with its labels; None where a label is a missing value, which has no JSON form."""
    try:
        return stage.design.fingerprint
    except LabelError:
        return None


def _blocks(stage: Stage) -> int:
    """How many parts the states fall into that no record ever leaves."""
    parts = stage.design.components() if isinstance(stage.design, Sparse) else stage.cells
    return len(set(parts.tolist()))


def rounded_share(share: float, rows: int) -> float | None:
    """A share of the records in steps that are coarse for few of them; None for very few.

    Some methods have no other number in them: of ``sequential`` the share of the largest category follows. So a step
    is taken of which the rounding error, ``step / sqrt(12)``, is at least the standard error ``1 / (2 sqrt(n))`` of a
    share that is counted in the released file. (Derived.)

    >>> rounded_share(0.4783, 50_000), rounded_share(0.4783, 2_000), rounded_share(0.4783, 23)
    (0.48, 0.5, None)
    """
    step = next((step for step in SHARE_STEPS if step * math.sqrt(rows) >= math.sqrt(3)), None)
    return None if step is None else round(round(share / step) * step, DIGITS)


def rounded_up(value: float) -> float:
    """Two significant digits, so that nobody relies on more precision than there is.

    >>> rounded_up(1.213), rounded_up(2.0), rounded_up(123.4)
    (1.3, 2.0, 130.0)
    """
    return _rounded(value, math.ceil)


def rounded_down(value: float) -> float:
    """Two significant digits, never more than the value.

    >>> rounded_down(2378.0), rounded_down(11.66)
    (2300.0, 11.0)
    """
    return _rounded(value, math.floor)


def _rounded(value: float, towards: Any) -> float:
    if value <= 0 or not math.isfinite(value):
        return value
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - DIGITS)
    return float(f"{towards(round(value / step, 9)) * step:.{DIGITS}g}")

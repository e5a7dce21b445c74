"""The plan as a TOML file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from maskwell.core.arguments import check_path
from maskwell.core.documents import LARGEST_TOML, from_toml, read_document
from maskwell.core.phrases import fault_of
from maskwell.errors import PlanError
from maskwell.release.plans.matrix_entries import located
from maskwell.release.plans.plan import ReleasePlan
from maskwell.release.plans.protection import Protection

_MATRICES = ("matrix", "first")


def load_plan(path: str | Path) -> ReleasePlan:
    """The plan in a TOML file; names of files in it are seen from its folder.

    Raises
    ------
    PlanError
        Where the file cannot be read, a table or a key is not known, or what is asked contradicts itself.
    """
    check_path(path=path)
    text = read_document(
        path,
        error=PlanError,
        hint="check the path; `maskwell release FILE --init` writes a plan",
        largest=LARGEST_TOML,
    )
    return read_plan(text, name=str(path), folder=str(Path(path).parent))


def read_plan(text: str, *, name: str = "the plan", folder: str = "") -> ReleasePlan:
    """The plan that a text holds.

    >>> read_plan('protect = [{variables = "sex", method = "method1", theta = 0.3}]').protections
    (Protection(sex, method1, theta = 0.3),)
    """
    try:
        tables = from_toml(text)
    except ValueError as error:
        raise PlanError(
            f"{name} is not TOML: {fault_of(error, 60)}",
            hint='texts stand in quotes, lists in brackets: keys = ["sex", "region"]',
        ) from error
    plan = ReleasePlan.from_dict(tables)
    return replace(plan, protections=tuple(_located(one, folder) for one in plan.protections)) if folder else plan


def _located(protection: Protection, folder: str) -> Protection:
    options = dict(protection.options)
    options |= {key: located(options[key], folder) for key in (*_MATRICES, "file") if key in options}
    counts = protection.counts_from
    return replace(protection, options=options, counts_from=counts and located(counts, folder))

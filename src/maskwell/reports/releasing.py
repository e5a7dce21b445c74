"""Releasing a file with the report for the disclosure board in its folder."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from threading import Thread

from maskwell.core.arguments import check_kind, check_path
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import RandomSource
from maskwell.engines.row_batches import Progress
from maskwell.errors import MissingExtraError
from maskwell.release.folder.receipt import Receipt
from maskwell.release.plans.plan import ReleasePlan
from maskwell.release.released import Release
from maskwell.release.releasing import release_folder_of
from maskwell.reports.release_page import release_page

LIBRARIES = ("jinja2", "matplotlib.figure", "matplotlib.backends.backend_svg")


def release_file(
    path: str,
    plan: ReleasePlan,
    folder: str,
    *,
    random: RandomSource | None = None,
    key: KeyedRandom | None = None,
    matrices: Receipt | str | None = None,
    records: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Carry out a plan on a file and write the folder of the release.

    ``folder/public`` holds what users get: the released file, a receipt, a codebook and metadata. ``folder/internal``
    stays with the data holder: all matrices, and the report for a disclosure board.

    Parameters
    ----------
    path
        The true file.
    plan
        What is to be done: :class:`~maskwell.ReleasePlan`, or :func:`~maskwell.load_plan` of a file.
    folder
        A folder that does not exist yet. It appears whole, when everything is written and checked, or not at all.
    random
        Where the draws come from: the operating system's generator by default. A seed only for a demonstration.
    key
        A secret with which draws are kept: the same true value under the same matrix gives the same report in every
        release, anything else an independent draw. So a report that changed under the same matrix proves that the true
        value changed. The plan must name the column with the ids.
    matrices
        The internal receipt of an earlier release with the same key, or its path. Its matrices are carried out again:
        a matrix that is made anew from the counts of this file would give every record a new draw. Rules, bounds and
        risk are looked at again; counts that the matrices kept in the earlier file are not kept in this one.
    records
        Whether the risk of every record is written, too, into ``folder/internal``.
    progress
        Told how far it is.

    Raises
    ------
    PlanError, InfeasibleError, EditRuleError, PublishError, UnknownCategoryError
        Before anything is written.
    """
    check_kind(Callable | None, progress=progress)
    check_path(path=path, folder=folder)
    check_kind(ReleasePlan, plan=plan)
    check_kind(KeyedRandom | None, key=key)
    _load_early()
    return release_folder_of(
        path,
        plan,
        folder,
        random=random,
        key=key,
        matrices=matrices,
        report=release_page,
        records=records,
        progress=progress,
    )


def _load_early() -> None:
    """Load the libraries that draw the report while the file is being counted; without them, say so at once."""
    missing = [name for name in LIBRARIES if find_spec(name.partition(".")[0]) is None]
    if missing:
        raise MissingExtraError(
            f"the report of a release needs {missing[0]}, which is not installed",
            hint="pip install 'maskwell[report]'",
        )
    Thread(target=lambda: [import_module(name) for name in LIBRARIES], daemon=True).start()

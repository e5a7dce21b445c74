"""Randomize columns of a table or of a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maskwell.core.arguments import check_kind, check_option
from maskwell.core.keyed import KeyedRandom
from maskwell.core.phrases import option
from maskwell.core.randomness import RandomSource
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError
from maskwell.verbs.inputs import Designs, assignments_of, check_missing_codes, check_progress

if TYPE_CHECKING:
    from maskwell.engines.row_sources import Progress


def randomize(
    data: Any,
    designs: Designs,
    output: str | os.PathLike[str] | None = None,
    *,
    missing: str = "error",
    missing_codes: Any = None,
    sets: str = "packed",
    random: RandomSource | None = None,
    key: KeyedRandom | None = None,
    id: str | None = None,  # noqa: A002 (as in release plans)
    force: bool = False,
    inputs: Sequence[str | os.PathLike[str]] = (),
    format: str | None = None,  # noqa: A002 (as in the other commands)
    progress: Progress | None = None,
) -> Any:
    """Randomize columns; the other columns stay as they are.

    Parameters
    ----------
    data
        A DataFrame of pandas, polars or Spark, an Arrow table, a dictionary of columns, or the path of a file (``-`` is
        CSV on standard input), a folder or a pattern (``"part-*.csv"``). Files are read in one pass, whatever their
        size.
    designs
        For each column its design, or the path of a design file: ``{"answer": design}``. A product of designs is
        named by its columns: ``{"first,second": design}``.
    output
        Where the randomized file goes; ``-`` is standard output. For a folder also the name of a new one, whose files
        get the names of those that are read. For a table of Spark a folder of Parquet files, needed without a ``key``.
    missing
        ``"error"``, ``"drop"`` the rows, or ``"category"``: draw a report for the category "missing" of the design.
    missing_codes
        Codes of missing values in randomized columns: ``["NA", 99]``, or by column, ``{"answer": [99]}``.
    sets
        How reports that are sets of categories come: ``"packed"`` as bytes, eight categories to each, wherever the
        table or the file can hold bytes (CSV cannot); ``"texts"`` of k characters, 1 where the category was named.
    random
        Where the draws come from: by default the operating system's generator, which nobody can repeat. Draws of
        ``SeededRandom(1)`` can be repeated, for tests and simulation, and are not private.
    key, id
        Keep the draws by a secret key: the column ``id`` identifies the person of a row, and the same person, value and
        design get the same report again, anywhere. A changed report reveals that the value, or the design, changed.
    force, inputs
        Whether the output may replace a file, and files besides those of designs that it must not replace.
    format
        What standard output gets: ``"csv"``, as without it, or ``"arrow"`` for a stream of Arrow.
    progress
        Called after each batch of a file with the rows so far and the share of the work that is done.

    Returns
    -------
    DataFrame, Table, dict or Randomized
        A table of the kind that was given; for a file what was done to it, as ``maskwell randomize --json`` prints it.

    >>> import maskwell as mw
    >>> from maskwell import SeededRandom
    >>> design = mw.design("k-ary", categories=mw.Categories.of(["never", "once", "often"]), epsilon=1)
    >>> answers = {"id": [1, 2, 3, 4], "drugs": ["never", "often", "once", "never"]}
    >>> randomize(answers, {"drugs": design}, random=SeededRandom(1))["id"]   # as it was; reports in "drugs"
    [1, 2, 3, 4]
    """
    from maskwell.engines.column_randomizer import KeptDraws
    from maskwell.engines.randomized_data import randomize_file, randomize_table
    from maskwell.engines.row_sources import STREAMS

    check_progress(progress)
    check_option("missing", missing, ("error", "drop", "category"))
    if format is not None:
        check_option("format", format, [*STREAMS])
        if output != "-":
            raise ParameterError("format-is-for-standard-output")
    _check_draws(random, key, id)
    assignments = assignments_of(designs)
    check_missing_codes(missing_codes, assignments, reports=False)
    rows = Rows.of(data, missing_codes, [name for one in assignments for name in one.columns])
    draws = random if key is None or id is None else KeptDraws(key, id)
    if not rows.at_hand:
        from maskwell.engines.spark_frames import SparkTable
        from maskwell.engines.spark_randomizer import randomize_spark

        assert isinstance(rows, SparkTable)
        folder = None if output is None else os.fspath(output)
        return randomize_spark(rows, assignments, folder, random=draws, missing=missing, sets=sets, force=force)
    if rows.path is None:
        if output is not None:
            raise ParameterError("output-is-for-files")
        return randomize_table(rows.data, assignments, random=draws, missing=missing, sets=sets)
    if output is None:
        raise ParameterError("is-a-file-and-no-output", rows=rows)
    named = designs.values() if isinstance(designs, Mapping) else ()
    kept = [os.fspath(one) for one in (*inputs, *named) if isinstance(one, str | os.PathLike)]
    how: dict[str, Any] = {"random": draws, "missing": missing, "sets": sets, "to": format, "progress": progress}
    return randomize_file(rows.path, os.fspath(output), assignments, force=force, inputs=kept, **how)


def _check_draws(random: object, key: object, person: object) -> None:
    check_kind(KeyedRandom | None, key=key)
    check_kind(str | None, id=person)
    if random is not None and key is not None:
        raise ParameterError("random-and-key-draws-come")
    if (key is None) != (person is None):
        there, lacks = ("id", "key") if key is None else ("key", "id")
        raise ParameterError(
            "there-option-without-lacks-option", there_option=option(there), lacks_option=option(lacks)
        )

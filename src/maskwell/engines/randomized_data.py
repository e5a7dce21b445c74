"""Randomize columns of a file of any size, in one pass and with the same memory however long it is; or of a table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskwell.core.arguments import Array, check_option
from maskwell.core.atomic import atomic_file, check_output
from maskwell.core.categories import Encoded
from maskwell.core.display import entries
from maskwell.core.exact import Parity, to_float, to_text
from maskwell.core.phrases import shorten
from maskwell.core.report_data import SETS, join_sets
from maskwell.designs.kronecker import product_of
from maskwell.engines.arrow_arrays import BASKETS, VALUES, require
from maskwell.engines.assignments import Assignment, expected_categories
from maskwell.engines.basket_reader import BasketCoder
from maskwell.engines.column_codes import Problems, common_rows, raise_first
from maskwell.engines.column_randomizer import (
    BatchRandomizer,
    Draws,
    How,
    KeptDraws,
    Persons,
    ProductSampler,
    RandomizedColumn,
    basket_items,
    check_columns,
    check_true_values,
    true_coders,
)
from maskwell.engines.column_tables import TableInMemory
from maskwell.engines.file_parts import PartRows, check_outside, same_files
from maskwell.engines.missing_codes import RowsWithoutCodes
from maskwell.engines.row_batches import BackgroundSink, EvenRows, in_background
from maskwell.engines.row_sources import (
    STREAMS,
    Progress,
    RowPass,
    ending_of,
    engine_of,
    input_files,
    is_several,
    lost_in,
    open_sink,
    open_source,
)
from maskwell.errors import DataFileError, ParameterError


@dataclass(frozen=True)
class Randomized:
    """What :func:`randomize_file` did: rows written, rows left out, each column, and where it is."""

    rows: int
    dropped: int
    columns: dict[str, RandomizedColumn]
    output: str
    parity_joint_exact: Parity | None = None
    """The product of the parities where several columns were randomized: what all reports of a row reveal together."""
    lost: tuple[str, ...] = ()  # what the input told besides its rows and the output cannot hold, in words

    @property
    def private(self) -> bool:
        """Whether the randomization cannot be undone."""
        return all(column.private for column in self.columns.values())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        columns = {
            name: {word: value for word, value in vars(column).items() if word != "item_parity" or value is not None}
            for name, column in self.columns.items()
        }
        parity, joint = self.parity_joint_exact, {}
        if parity is not None:
            joint = {"parity_joint": to_float(parity), "parity_joint_exact": to_text(parity)}
        return {**entries(self, "rows dropped"), "columns": columns, **entries(self, "output private lost"), **joint}


def randomize_file(
    path: str,
    output: str,
    assignments: Sequence[Assignment],
    *,
    random: Draws | None = None,
    missing: str = "error",
    sets: str = "packed",
    force: bool = False,
    inputs: Sequence[str] = (),
    to: str | None = None,
    progress: Progress | None = None,
) -> Randomized:
    """Randomize the assigned columns and copy the others as they are."""
    check_columns(assignments, random)
    check_option("sets", sets, SETS)
    files = input_files(path)
    folder = output != "-" and is_several(path) and (output.endswith(("/", os.sep)) or not Path(output).suffix)
    kind = f"rows{STREAMS[to]}" if to is not None else files[0] if folder else output  # a name of the kind written
    engine = engine_of(kind)
    if not folder:
        check_output(output, force=force, inputs=[path, *files, *inputs])
    check_outside(output, path)
    expected, same_kind = expected_categories(assignments, reports=False), ending_of(path) == ending_of(kind)
    with open_source(path, coded=expected, exact=same_kind, copied=engine.takes_dictionaries) as source:
        how = How(missing, sets == "texts" or not engine.holds_bytes, engine.takes_dictionaries)
        batches = BatchRandomizer(assignments, source.schema, path, random, how)
        schema, at_once = batches.schema, batches.rows_at_once
        rows, written = RowPass(source, path, rows_at_once=at_once, progress=progress), 0
        protected: dict[str, Any] = {"force": force, "inputs": [*files, *inputs], "like": files}
        parts = None
        if folder:
            several = source.source if isinstance(source, RowsWithoutCodes) else source
            assert isinstance(several, PartRows)
            parts, told = several, [n for one in assignments for n in one.columns if n in several.keys]
            if told:  # the names of folders stay as they are
                raise ParameterError("the-folders-of-the-files-tell", told=shorten(repr(told[0]), 24), column=told[0])
            schema = require().schema([*schema][: len(schema) - len(parts.keys)], metadata=schema.metadata)

        def one_file(place: str) -> AbstractContextManager[EvenRows | BackgroundSink]:
            return _one_file(place, kind=kind, schema=schema, style=source.style, at_once=at_once, **protected)

        with one_file(output) if parts is None else same_files(parts, output, one_file) as target:
            for batch in rows:
                changed = batches.randomize(batch, rows.rows)
                if changed is not None:
                    target.write(changed)
                    written += len(changed)
            raise_first(batches.problems, rows.rows)
        lost = lost_in(source.style, kind)
    leaves = [leaf for assignment in assignments for leaf in assignment.leaves]
    joint = None if len(leaves) == 1 else product_of(leaf.parity_exact() for leaf in leaves)
    return Randomized(written, rows.rows - written, batches.summary(), output, joint, lost)


@contextmanager
def _one_file(
    path: str, *, kind: str, schema: Any, style: Any, at_once: int, **protected: Any
) -> Iterator[EvenRows | BackgroundSink]:
    """Where the rows of one file go; it gets its name when all is written."""
    with (
        atomic_file(path, **protected) as file,
        open_sink(file, kind, schema, style=style) as sink,
        in_background(sink) as behind,
    ):
        target = EvenRows(behind, at_once) if engine_of(kind).shows_cuts else behind
        yield target
        target.finish()


def randomize_table(
    data: Any,
    assignments: Sequence[Assignment],
    *,
    random: Draws | None = None,
    missing: str = "error",
    sets: str = "packed",
) -> Any:
    """A table of the kind that was given, with reports in place of the truth; the other columns stay as they are."""
    check_option("sets", sets, SETS)
    columns = check_columns(assignments, random)
    table = TableInMemory(data)
    table.check(columns)
    if not table.rows:
        raise DataFileError("the-table-has-no-rows")
    for name in columns:
        check_true_values(name, table.field(name))
    kept, codes = _true_codes(table, assignments, missing)
    names, draws = None, random.keys if isinstance(random, KeptDraws) else random
    if isinstance(random, KeptDraws):
        names = Persons(random).names(table.columns([random.person], VALUES)[random.person], 0, kept)
    reports, notes, remaining = {}, {}, iter(codes)
    for assignment in assignments:
        true = [next(remaining) for _ in assignment.columns]
        if assignment.baskets is not None:
            drawn = [assignment.baskets.sampler(draws, assignment.columns[0]).sample(true[0], names)]
        else:
            drawn = ProductSampler(assignment.design, draws, assignment.columns).sample(true, names)
        for name, (leaf, _), part in zip(assignment.columns, assignment.parts, drawn, strict=True):
            like = table.column(name)
            if part.encoding == "bits":
                reports[name] = join_sets(part, like, kept, sets=sets)
            else:
                reports[name] = leaf.written_reports().decode(part.data, like=like, match="text", kept=kept)
            notes[name] = dict(part.describe())
    return table.with_columns(reports, kept, notes)


def _true_codes(
    table: TableInMemory, assignments: Sequence[Assignment], missing: str
) -> tuple[Array | None, list[Array]]:
    """The rows that are kept (None for all), and for each column the codes of their true values."""
    encoded: list[Encoded | None] = []
    problems: list[Problems] = []
    for assignment in assignments:
        if assignment.baskets is not None:
            name, items = assignment.columns[0], basket_items(assignment)
            baskets = BasketCoder(name, items.names, missing)
            encoded.append(baskets.read([table.columns([name], BASKETS)[name]], 1))
            problems += baskets.problems
            continue
        coders = true_coders(assignment, missing)
        encoded += [coder.codes(table.column(coder.column), 1) for coder in coders]
        problems += [coder.problems for coder in coders]
    raise_first(problems, table.rows)
    return common_rows([one for one in encoded if one is not None], table.rows)

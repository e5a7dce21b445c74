"""``maskwell randomize``."""

from __future__ import annotations

import click

from maskwell.cli import options as opt
from maskwell.cli.output import Progress, print_json, print_lines
from maskwell.errors import ParameterError


class Asked(opt.OfRows):
    """The options of the command."""

    file: str = opt.argument(type=opt.FilePath())
    designs: tuple[str, ...] = opt.shared(opt.designs_option)
    output: str = opt.option("-o", "--output", type=opt.FilePath(), required=True, metavar="OUT")
    written_as: str | None = opt.option("--format", type=click.Choice(["csv", "arrow"]))
    missing: str = opt.shared(opt.missing_option)
    missing_codes: tuple[str, ...] = opt.shared(opt.missing_codes_option)
    sets: str = opt.option(type=click.Choice(["packed", "texts"]), default="packed")
    seed: int | None = opt.option(type=int, metavar="N")
    key: str | None = opt.option(type=opt.FilePath(), metavar="KEY")
    dataset: str | None = opt.option(metavar="NAME")
    person: str | None = opt.option("--id", metavar="COL")
    force: bool = opt.option(is_flag=True)


@opt.command(Asked)
def randomize(asked: Asked) -> None:
    """Randomize columns of FILE in one pass, whatever its size; other columns are copied unchanged.

    Formats by extension: .csv .tsv (or .csv.gz .bz2 .zst) .parquet .arrow .arrows .xlsx; with labels and missing
    codes, .sav .dta .xpt (.sas7bdat is read only); - is standard input or output. FILE may be a folder, with partitions
    such as year=2025, or a pattern in quotes: 'part-*.csv'.
    """
    from maskwell.core.keyed import KeyedRandom
    from maskwell.core.randomness import SeededRandom
    from maskwell.reports.text.design_report import randomized_report
    from maskwell.verbs.randomize import randomize as randomize_columns

    if asked.as_json and asked.output == "-":
        raise ParameterError("json-and-o-both-need-standard-output")
    assignments, paths = opt.read_assignments(asked.designs)
    key, dataset = asked.key, asked.dataset
    if (key is None) != (dataset is None):
        raise ParameterError("key-without-dataset" if dataset is None else "dataset-without-key")
    with Progress() as progress:
        done = randomize_columns(
            asked.file,
            assignments,
            asked.output,
            random=None if asked.seed is None else SeededRandom(asked.seed),
            key=None if key is None or dataset is None else KeyedRandom.from_file(key, dataset),
            id=asked.person,
            missing=asked.missing,
            missing_codes=asked.missing_codes or None,
            sets=asked.sets,
            force=asked.force,
            inputs=[*paths.values(), *([] if key is None else [key])],
            format=asked.written_as,
            progress=progress,
        )
    if not done.private:
        click.echo("note: seeded draws are not private: anyone who knows the seed can undo them", err=True)
    if asked.as_json:
        print_json(done.to_dict())
    else:
        print_lines(randomized_report(done.to_dict(), paths), err=asked.output == "-")

"""``maskwell randomize``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from maskwell.cli.options import (
    FilePath,
    designs_option,
    example,
    json_option,
    missing_codes_option,
    missing_option,
    read_assignments,
    show_values_option,
    text_form_options,
)
from maskwell.cli.output import Progress, print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.core.keyed import KeyedRandom


@click.command(
    epilog=example(
        "printf 'id,drugs\\n1,never\\n2,often\\n3,once\\n' > answers.csv",
        "maskwell design k-ary --categories never,once,often --epsilon 1 -o drugs.json",
        "maskwell randomize answers.csv --design drugs=drugs.json -o reports.csv",
    )
)
@click.argument("file", type=FilePath())
@designs_option
@click.option(
    "-o",
    "--output",
    type=FilePath(),
    required=True,
    metavar="OUT",
    help="Where the randomized file goes; - is standard output. Without an ending, a folder like that of FILE.",
)
@click.option(
    "--format",
    "written_as",
    type=click.Choice(["csv", "arrow"]),
    help="With -o -: CSV (default), or a stream of Arrow.",
)
@missing_option
@missing_codes_option
@click.option(
    "--sets",
    type=click.Choice(["packed", "texts"]),
    default="packed",
    help="Set reports as bytes where the file can hold them (default), or as texts of 0 and 1.",
)
@click.option("--seed", type=int, metavar="N", help="Repeatable draws, for tests and simulation. NOT PRIVATE.")
@click.option("--key", type=FilePath(), metavar="KEY", help="Keep the draws by the secret key in this file.")
@click.option("--dataset", metavar="NAME", help="With --key: what the data are called, the same in every run.")
@click.option("--id", "person", metavar="COL", help="With --key: the column that tells whose row it is.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@text_form_options("file")
@show_values_option
@json_option
def randomize(
    file: str,
    designs: tuple[str, ...],
    output: str,
    missing: str,
    missing_codes: tuple[str, ...],
    sets: str,
    written_as: str | None,
    seed: int | None,
    key: str | None,
    dataset: str | None,
    person: str | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Randomize columns of FILE, in one pass, whatever its size; the other columns are copied as they are.

    Files by ending: .csv .tsv (or .csv.gz .bz2 .zst) .parquet .arrow .arrows and, with labels and missing codes kept,
    .sav .dta .xpt (.sas7bdat is read only); - is standard input or output. FILE may be a folder, with partitions
    such as year=2025, or a pattern in quotes: 'part-*.csv'.
    """
    from maskwell.core.randomness import SeededRandom
    from maskwell.reports.text.design_report import randomized_report
    from maskwell.verbs.randomize import randomize as randomize_columns

    if as_json and output == "-":
        raise ParameterError("json-and-o-both-need-standard-output")
    assignments, paths = read_assignments(designs)
    random = None if seed is None else SeededRandom(seed)
    keyed = _keyed(key, dataset)
    with Progress() as progress:
        done = randomize_columns(
            file,
            assignments,
            output,
            random=random,
            key=keyed,
            id=person,
            missing=missing,
            missing_codes=missing_codes or None,
            sets=sets,
            force=force,
            inputs=[*paths.values(), *([] if key is None else [key])],
            format=written_as,
            progress=progress,
        )
    if not done.private:
        click.echo("note: drawn from a seed: not private, whoever knows the seed can undo it", err=True)
    if as_json:
        print_json(done.to_dict())
    else:
        print_lines(randomized_report(done.to_dict(), paths), err=output == "-")


def _keyed(key: str | None, dataset: str | None) -> KeyedRandom | None:
    from maskwell.core.keyed import KeyedRandom

    if (key is None) != (dataset is None):
        raise ParameterError("key-without-dataset" if dataset is None else "dataset-without-key")
    return None if key is None or dataset is None else KeyedRandom.from_file(key, dataset)

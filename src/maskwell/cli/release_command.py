"""``maskwell release``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import (
    FilePath,
    check_plot,
    example,
    json_option,
    plot_content,
    plot_option,
    show_values_option,
    text_form_options,
    with_plot,
    write_plot,
)
from maskwell.cli.output import Progress, print_json, print_lines, with_form
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.core.keyed import KeyedRandom
    from maskwell.microdata.plans.release_plan import ReleasePlan
    from maskwell.microdata.release_values import AnyRelease


KEPT = (
    "With it a record is reported as before while its true value and the matrix stay the same. A report that changed "
    "shows that the true value changed."
)
HOUSEHOLDS = "A column may name households or other units: the line # unit in the plan says which, and why."


@click.command(
    epilog=example(
        "printf 'sex,region\\nf,north\\nf,north\\nf,south\\nm,north\\nm,south\\nm,south\\n' > people.csv",
        "maskwell release people.csv --init -o plan.toml",
        "maskwell release people.csv --plan plan.toml --dry-run",
        "maskwell release people.csv --plan plan.toml -o released",
    )
)
@click.argument("file", type=FilePath(), required=False)
@click.option("--plan", "plan_file", type=FilePath(), metavar="P.toml", help="What is to be randomized, and how.")
@click.option(
    "-o", "--output", type=FilePath(), metavar="DIR", help="The new folder of the release; with --init the plan file."
)
@click.option("--init", is_flag=True, help="Write a commented plan to start from, made from FILE.")
@click.option(
    "--match",
    metavar="M",
    help="With --init: the largest chance of a correct match, from which all of the plan follows (0.5).",
)
@click.option("--keys", metavar="A,B,...", help="With --init: columns that an intruder may know; guessed if left out.")
@click.option("--dry-run", is_flag=True, help="Show risk and utility for several bounds; write nothing.")
@click.option("--record-risks", is_flag=True, help="Write the risk of every record into DIR/internal, too.")
@click.option(
    "--key",
    type=FilePath(),
    metavar="FILE",
    help="Secret key: the same true value under the same matrix is reported the same way again; a report that changed "
    "shows that the true value did.",
)
@click.option(
    "--matrices",
    type=FilePath(),
    metavar="FILE",
    help="With --key: use the matrices of an earlier release (its internal/receipt.json), so that records whose true "
    "values did not change keep their reports.",
)
@click.option(
    "--ledger",
    type=FilePath(),
    metavar="FILE",
    help="Where releases of the data set are written down; with --key beside the key, KEY.ledger, if left out.",
)
@click.option(
    "--draw-anew",
    is_flag=True,
    help="Release although columns get a second, independent draw and a bound does not hold for all releases together.",
)
@click.option("--new-key", type=FilePath(), metavar="FILE", help="Make a secret key file, and nothing else.")
@click.option("--seed", type=int, metavar="N", help="Repeatable draws, for demonstrations only. NOT PRIVATE.")
@click.option("--force", is_flag=True, help="With --init or --plot: replace a file that exists.")
@plot_option("the map of risk and change, with --dry-run")
@text_form_options("file")
@show_values_option
@json_option
def release(
    file: str | None,
    *,
    plan_file: str | None,
    output: str | None,
    init: bool,
    match: str | None,
    keys: str | None,
    dry_run: bool,
    record_risks: bool,
    key: str | None,
    matrices: str | None,
    ledger: str | None,
    draw_anew: bool,
    new_key: str | None,
    seed: int | None,
    force: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Post-randomize FILE as a plan says, so that its tables stay right and the risk of its records stays bounded.

    DIR/public is what users get: the released file, a receipt for its analysis, a codebook and metadata. DIR/internal
    stays with you: the matrices and the report for the disclosure board.
    """
    if new_key is not None:
        if new_key == "-" or any(
            (file, plan_file, output, init, match, keys, dry_run, record_risks, key, matrices, ledger, plot)
        ):
            raise ParameterError("new-key-makes-a-key-file")
        _make_key(new_key, as_json=as_json)
        return
    if file is None:
        raise ParameterError("no-file-was-given")
    if init:
        _start(file, output, match, keys, force=force, as_json=as_json)
        return
    if match is not None:
        raise ParameterError("match-is-for-init-a-plan", match=match)
    if keys is not None:
        raise ParameterError("keys-is-for-init-a-plan")
    plan = _plan(plan_file, file)
    ledger = f"{key}.ledger" if ledger is None and key is not None else ledger
    if dry_run:
        _try_out(file, plan, str(plan_file), plot, key, matrices, ledger, force=force, as_json=as_json)
        return
    if output is None:
        raise ParameterError("no-folder-for-the-release")
    if plot is not None:
        raise ParameterError("plot-draws-the-map-of-dry")
    sequence = {"matrices": matrices, "ledger": ledger, "draw_anew": draw_anew}
    _carry_out(file, plan, output, key, seed, sequence, record_risks=record_risks, as_json=as_json)


def _plan(path: str | None, file: str) -> ReleasePlan:
    from maskwell.microdata.plans.release_plan import load_plan

    if path is None:
        raise ParameterError("no-plan-was-given", file=file)
    return load_plan(path)


def _make_key(path: str, *, as_json: bool) -> None:
    from maskwell.core.keyed import new_key_file
    from maskwell.reports.report import Paragraph, Report, line

    new_key_file(path)
    if as_json:
        print_json({"key": path})
    else:
        made = line(f"A new secret key is in {path}. Keep it apart from every release.")
        following = f"maskwell release FILE --plan plan.toml --key {path} -o DIR"
        print_lines(Report(made, [Paragraph(KEPT)], next_step=following))


def _start(file: str, output: str | None, match: str | None, keys: str | None, *, force: bool, as_json: bool) -> None:
    from maskwell.core.atomic import atomic_file, check_output
    from maskwell.microdata.plans.plan_drafts import MATCH
    from maskwell.verbs.release import first_plan

    output = None if output == "-" else output  # where the plan goes anyway
    if output is not None:
        check_output(output, force=force, inputs=[file])
    with Progress() as progress:
        text = first_plan(
            file,
            keys=keys,
            plan=output or "plan.toml",
            match=MATCH if match is None else match,
            progress=progress,
        )
    text = "".join(f"{with_form(line)}\n" for line in text.splitlines())
    if output is not None:
        with atomic_file(output, force=force, inputs=[file], like=file) as written:
            written.write(text.encode())
    if as_json:
        print_json({"plan": text, "output": output})
    elif output is None:
        print_lines(text.splitlines())
    else:
        print_lines(
            [
                f"A plan to start from is in {output}. Read it: what was guessed is said there.",
                *([HOUSEHOLDS] if "\n# unit = " in text else []),
                f"Next: maskwell release {shlex.quote(file)} --plan {shlex.quote(output)} --dry-run",
            ]
        )


def _try_out(
    file: str,
    plan: ReleasePlan,
    plan_file: str,
    plot: str | None,
    key: str | None,
    matrices: str | None,
    ledger: str | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    from maskwell.plots import plot_risk_utility
    from maskwell.reports.text.release_report import dry_run_report
    from maskwell.verbs.release import dry_run

    check_plot(plot, force=force, inputs=[file, plan_file])
    secret = _key(key, plan)
    with Progress() as progress:
        tried = dry_run(file, plan, key=secret, matrices=matrices, ledger=ledger, progress=progress)
    release, points = tried.release, tried.points
    bound = None if plan.match is None else float(plan.match)
    drawn = write_plot(plot_content(plot, lambda: plot_risk_utility(points, bound=bound)), force=force)
    if as_json:
        beside = {"map": [point.to_dict() for point in points], "recodes": [one.to_dict() for one in tried.recodes]}
        print_json({**release.to_dict(), **beside, **drawn})
    else:
        named = None if ledger == f"{key}.ledger" else ledger
        options = {"--key": key, "--matrices": matrices, "--ledger": named}
        report = dry_run_report(release, points, tried.recodes, source=file, plan=plan_file, given=options)
        print_lines(with_plot(report, drawn))
    _answer(release)


def _carry_out(
    file: str,
    plan: ReleasePlan,
    folder: str,
    key: str | None,
    seed: int | None,
    sequence: dict[str, Any],
    *,
    record_risks: bool,
    as_json: bool,
) -> None:
    from maskwell.core.randomness import SeededRandom
    from maskwell.reports.text.release_report import release_report
    from maskwell.verbs.release import release as publish

    with Progress() as progress:
        done = publish(
            file,
            plan,
            folder,
            random=None if seed is None else SeededRandom(seed),
            key=_key(key, plan),
            record_risks=record_risks,
            **sequence,
            progress=progress,
        )
    if not done.private:
        click.echo("note: drawn from a seed: a demonstration, not to be published", err=True)
    if as_json:
        print_json({**done.to_dict(), "output": folder})
    else:
        print_lines(release_report(done, folder))


def _key(path: str | None, plan: ReleasePlan) -> KeyedRandom | None:
    from maskwell.core.keyed import KeyedRandom

    if path is None:
        return None
    if plan.dataset is None:
        raise ParameterError("draws-by-key-need-a-name")
    return KeyedRandom.from_file(path, plan.dataset)


def _answer(release: AnyRelease) -> None:
    """Exit with 1 where a plan does not keep what it asks for."""
    from maskwell.errors import InfeasibleError
    from maskwell.microdata.kept_bounds import check_kept

    try:
        check_kept(release)
    except InfeasibleError:
        raise SystemExit(1) from None

"""``maskwell release``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from maskwell.cli import options as opt
from maskwell.cli.output import Progress, print_json, print_lines, with_form
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.core.keyed import KeyedRandom
    from maskwell.microdata.plans.release_plan import ReleasePlan


KEPT = (
    "With it a record keeps its report while its true value and the matrix stay the same. A report that changed under "
    "the same matrix proves that the true value changed."
)
HOUSEHOLDS = "One column may identify households or other units: see the comment above the line unit in the plan."


class Asked(opt.OfRows):
    """The options of the command."""

    file: str | None = opt.argument(type=opt.FilePath(), required=False)
    plan_file: str | None = opt.option("--plan", type=opt.FilePath(), metavar="P.toml")
    output: str | None = opt.option("-o", "--output", type=opt.FilePath(), metavar="DIR")
    init: bool = opt.option(is_flag=True)
    match: str | None = opt.option(metavar="M")
    k: int | None = opt.option("--k", type=int, metavar="K")
    keys: str | None = opt.option(metavar="A,B,...")
    dry_run: bool = opt.option(is_flag=True)
    record_risks: bool = opt.option(is_flag=True)
    key: str | None = opt.option(type=opt.FilePath(), metavar="FILE")
    matrices: str | None = opt.option(type=opt.FilePath(), metavar="FILE")
    ledger: str | None = opt.option(type=opt.FilePath(), metavar="FILE")
    draw_anew: bool = opt.option(is_flag=True)
    earlier_files: tuple[str, ...] = opt.option(type=opt.FilePath(), metavar="FILE", multiple=True)
    new_key: str | None = opt.option(type=opt.FilePath(), metavar="FILE")
    seed: int | None = opt.option(type=int, metavar="N")
    force: bool = opt.option(is_flag=True)
    plot: str | None = opt.shared(opt.plot_option("the map of risk and change, with --dry-run"))

    @property
    def ledger_file(self) -> str | None:
        """The ledger, beside the key where it is not named."""
        return f"{self.key}.ledger" if self.ledger is None and self.key is not None else self.ledger


NOT_WITH_NEW_KEY = (
    *(
        "file",
        "plan_file",
        "output",
        "init",
        "match",
        "k",
        "keys",
        "dry_run",
        "record_risks",
        "key",
        "matrices",
        "ledger",
        "earlier_files",
    ),
    "plot",
)


@opt.command(Asked)
def release(asked: Asked) -> None:
    """Post-randomize FILE by a plan that preserves tables and limits the risk of re-identification.

    DIR/public is for users: the released file, a receipt (perturbation metadata) for its analysis, a codebook and
    metadata. DIR/internal stays with you: the matrices and the report for the disclosure board.
    """
    from maskwell.core.keyed import KeyedRandom
    from maskwell.microdata.plans.release_plan import load_plan
    from maskwell.reports.report import Paragraph, Report, line

    if asked.new_key is not None:
        if asked.new_key == "-" or any(getattr(asked, name) for name in NOT_WITH_NEW_KEY):
            raise ParameterError("new-key-makes-a-key-file")
        KeyedRandom.new_file(asked.new_key)
        if asked.as_json:
            print_json({"key": asked.new_key})
            return
        made = line(f"A new secret key is in {asked.new_key}. Keep it apart from every release.")
        following = f"maskwell release FILE --plan plan.toml --key {asked.new_key} -o DIR"
        print_lines(Report(made, [Paragraph(KEPT)], next_step=following))
        return
    if asked.file is None:
        raise ParameterError("no-file-was-given")
    if asked.init:
        _start(asked.file, asked)
        return
    if asked.match is not None:
        raise ParameterError("match-is-for-init-a-plan", name="match", match=asked.match)
    if asked.k is not None:
        raise ParameterError("match-is-for-init-a-plan", name="k", match=asked.k)
    if asked.keys is not None:
        raise ParameterError("keys-is-for-init-a-plan")
    if asked.plan_file is None:
        raise ParameterError("no-plan-was-given", file=asked.file)
    plan = load_plan(asked.plan_file)
    if asked.dry_run:
        _try_out(asked.file, plan, asked.plan_file, asked)
        return
    if asked.output is None:
        raise ParameterError("no-folder-for-the-release")
    if asked.plot is not None:
        raise ParameterError("plot-draws-the-map-of-dry")
    _carry_out(asked.file, plan, asked.output, asked)


def _start(file: str, asked: Asked) -> None:
    from maskwell.core.atomic import atomic_file, check_output
    from maskwell.verbs.release import first_plan

    output = None if asked.output == "-" else asked.output  # where the plan goes anyway
    if output is not None:
        check_output(output, force=asked.force, inputs=[file])
    with Progress() as progress:
        text = first_plan(
            file, keys=asked.keys, plan=output or "plan.toml", match=asked.match, k=asked.k, progress=progress
        )
    text = "".join(f"{with_form(line)}\n" for line in text.splitlines())
    if output is not None:
        with atomic_file(output, force=asked.force, inputs=[file], like=file) as written:
            written.write(text.encode())
    if asked.as_json:
        print_json({"plan": text, "output": output})
    elif output is None:
        print_lines(text.splitlines())
    else:
        print_lines(
            [
                f"Wrote a starter plan to {output}. Every guess is marked in a comment.",
                *([HOUSEHOLDS] if "\n# unit = " in text else []),
                f"Next: maskwell release {shlex.quote(file)} --plan {shlex.quote(output)} --dry-run",
            ]
        )


def _try_out(file: str, plan: ReleasePlan, plan_file: str, asked: Asked) -> None:
    from maskwell.errors import InfeasibleError, PublishError
    from maskwell.microdata.folder.linked_releases import check_linked
    from maskwell.microdata.kept_bounds import check_kept
    from maskwell.reports.pictures.risk_utility_map import plot_risk_utility
    from maskwell.reports.text.release_report import dry_run_report
    from maskwell.verbs.release import dry_run

    opt.check_plot(asked.plot, force=asked.force, inputs=[file, plan_file])
    secret, ledger = _key(asked.key, plan), asked.ledger_file
    with Progress() as progress:
        tried = dry_run(
            file,
            plan,
            key=secret,
            matrices=asked.matrices,
            ledger=ledger,
            earlier_files=asked.earlier_files,
            progress=progress,
        )
    release, points = tried.release, tried.points
    bound = None if plan.match is None else float(plan.match)
    drawn = opt.write_plot(
        opt.plot_content(asked.plot, lambda: plot_risk_utility(points, bound=bound)), force=asked.force
    )
    if asked.as_json:
        beside = {"map": [point.to_dict() for point in points], "recodes": [one.to_dict() for one in tried.recodes]}
        print_json({**release.to_dict(), **beside, **drawn})
    else:
        named = None if ledger == f"{asked.key}.ledger" else ledger
        options = {"--key": [asked.key], "--matrices": [asked.matrices], "--ledger": [named]}
        options |= {"--earlier-files": [*asked.earlier_files]}
        report = dry_run_report(release, points, tried.recodes, source=file, plan=plan_file, given=options)
        print_lines(opt.with_plot(report, drawn))
    try:
        check_kept(release)
        check_linked(release.linked)
    except (InfeasibleError, PublishError):  # the plan does not keep what it asks for
        raise SystemExit(1) from None


def _carry_out(file: str, plan: ReleasePlan, folder: str, asked: Asked) -> None:
    from maskwell.core.randomness import SeededRandom
    from maskwell.reports.text.release_report import release_report
    from maskwell.verbs.release import release as publish

    with Progress() as progress:
        done = publish(
            file,
            plan,
            folder,
            random=None if asked.seed is None else SeededRandom(asked.seed),
            key=_key(asked.key, plan),
            record_risks=asked.record_risks,
            matrices=asked.matrices,
            ledger=asked.ledger_file,
            draw_anew=asked.draw_anew,
            earlier_files=asked.earlier_files,
            progress=progress,
        )
    if not done.private:
        click.echo("note: drawn from a seed: for demonstration only, do not publish", err=True)
    if asked.as_json:
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

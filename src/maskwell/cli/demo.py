"""``maskwell demo``: the whole story on made-up people, in a few seconds."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from maskwell.cli.options import FilePath, example
from maskwell.cli.output import print_json, print_lines
from maskwell.core.arrays import Real
from maskwell.core.categories import Categories
from maskwell.core.exact import to_text
from maskwell.designs import wire
from maskwell.designs.uniform import Uniform
from maskwell.errors import DataFileError, MissingExtraError
from maskwell.estimation.moments import estimate_by_moments
from maskwell.estimation.share_estimate import Estimate
from maskwell.privacy.criteria import Demand
from maskwell.reports import words
from maskwell.reports.tables import WIDTH, table
from maskwell.reports.text import chances

FOLDER = "maskwell-demo"
QUESTION = "In the last 12 months, how often did you work for cash without declaring it?"
ANSWERS = ("never", "once", "a few times", "every month")
PEOPLE = {
    "north": (3900, 650, 416, 234),
    "east": (3010, 645, 430, 215),
    "south": (4453, 793, 549, 305),
    "west": (2992, 704, 440, 264),
}
"""Made-up people by region and true answer, 20,000 in all."""
EPSILON = 1
LEVEL = 0.95
FILES = {
    "page": ("page.html", "the story with pictures, for a browser"),
    "people": ("people.csv", "made-up people with their true answers"),
    "design": ("design.json", "how an answer becomes a report"),
    "reports": ("reports.csv", "the same people with their reports"),
    "estimate": ("estimate.json", "what the reports tell about everyone"),
}


@dataclass(frozen=True, eq=False)
class Story:
    """What happened: the design asked for, what was reported and what was learned."""

    demand: Demand
    design: Uniform
    reported: Real
    estimate: Estimate
    truth: Real

    @property
    def half_widths(self) -> Real:
        """Half widths of the intervals."""
        return self.estimate.intervals(LEVEL).half_width

    @property
    def answer(self) -> str:
        """The question answered in one sentence."""
        share, error = 1 - float(self.estimate.pi_hat[0]), float(self.half_widths[0])
        return (
            f"From {self.estimate.n:,} randomized reports: {words.percent(share)} ± {words.percent(error)} % worked "
            "undeclared; no single report settles who."
        )


@click.command(epilog=example("maskwell demo", "maskwell demo -o first-look --json"))
@click.option(
    "-o",
    "--output",
    type=FilePath(file_okay=False),
    metavar="DIR",
    help="A new or empty folder. Without it: maskwell-demo here, or maskwell-demo-2, -3, … where that exists.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def demo(output: str | None, *, as_json: bool) -> None:
    """Tell the whole story on made-up people, in a few seconds.

    Asks 20,000 made-up people a sensitive question: states a demand, makes a design, randomizes the answers, estimates
    the shares, compares them with the truth that only a demo can know, and writes a folder with the files and a page.
    The draws are unpredictable, so the numbers differ from run to run. Nothing is ever overwritten.
    """
    _check_extras()
    target = _target(output)
    story = _write(target)
    shown = _shown(target)
    commands = _commands(shown)
    if as_json:
        print_json(_as_dict(story, target, commands))
    else:
        print_lines(_lines(story, shown, commands))


def _check_extras() -> None:
    missing = [name for name in ("pyarrow", "jinja2", "matplotlib") if not _installed(name)]
    if missing:
        raise MissingExtraError(
            f"the demo needs {', '.join(missing)}, not installed here", hint="pip install 'maskwell[arrow,report]'"
        )


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # blocked on purpose: an entry without a specification
        return False


# ---- where the files go


def _target(output: str | None) -> Path:
    """The folder to make: the one asked for, or the first free number."""
    if output is None:
        names = (FOLDER if number == 1 else f"{FOLDER}-{number}" for number in range(1, 10**6))
        return next(path for name in names if _is_free(path := Path(name)))
    target = Path(output)
    if not _is_free(target):
        what = "is not empty" if target.is_dir() else "is a file"
        raise DataFileError(f"{output} {what}", hint="give the name of a new or empty folder", path=output)
    return target


def _is_free(path: Path) -> bool:
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def _write(target: Path) -> Story:
    """Make everything beside the target, then give it its name; on failure nothing is left."""
    from maskwell.core.atomic import allowed_mode, name_folder, partial_folder

    whole = target.resolve()
    try:
        with partial_folder(whole) as draft:
            story = _run(draft, _commands(_shown(target)))
            draft.chmod(allowed_mode(0o777) & (whole.stat().st_mode | 0o700 if whole.exists() else 0o777))
            name_folder(draft, whole, over_empty=True)
    except OSError as error:
        hint = "choose a place where files may be written, in a folder that exists"
        raise DataFileError(f"cannot write {target}: {error.strerror or error}", hint=hint, path=target) from error
    return story


# ---- the story


def _run(folder: Path, commands: list[tuple[str, str]]) -> Story:
    from maskwell.engines.columns import Assignment
    from maskwell.engines.randomize import randomize_file
    from maskwell.engines.tally import tally_file

    path = {name: folder / file for name, (file, _) in FILES.items()}
    demand = Demand.from_epsilon(EPSILON)
    design = Uniform.from_epsilon(EPSILON, Categories.of(ANSWERS)).with_provenance(family="k-ary")
    path["design"].write_text(wire.dumps(design), encoding="utf-8")
    _write_people(path["people"])
    columns = [Assignment.of("answer", design)]
    randomize_file(str(path["people"]), str(path["reports"]), columns)
    counts = tally_file(str(path["reports"]), columns).counts
    story = Story(demand, design, counts.share(), estimate_by_moments(counts, design), _truth())
    content = {"variables": ["answer"], **story.estimate.to_dict(LEVEL)}
    path["estimate"].write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    path["page"].write_text(_page(story, commands), encoding="utf-8")
    return story


def _truth() -> Real:
    counts = np.array(list(PEOPLE.values())).sum(axis=0)
    return np.asarray(counts / counts.sum())


def _write_people(path: Path) -> None:
    """The people in an order that tells nothing; the same ones each time, since nobody real is among them."""
    people = [
        (region, answer)
        for region, counts in PEOPLE.items()
        for answer, count in zip(ANSWERS, counts, strict=True)
        for _ in range(count)
    ]
    order = np.random.default_rng(20_000).permutation(len(people)).tolist()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person", "region", "answer"])
        writer.writerows((number, *people[i]) for number, i in enumerate(order, start=1))


def _page(story: Story, commands: list[tuple[str, str]]) -> str:
    from maskwell.reports.html import PageContent, page

    return page(
        PageContent(
            title="How many work undeclared?",
            question=f"“{QUESTION}”",
            lead=story.answer.replace(" ± ", f"{words.SPACE}±{words.SPACE}").replace(" %", f"{words.SPACE}%"),
            notice="The people on this page are made up, so the truth is known and shown beside each estimate. In a "
            "real survey nobody knows it. About one interval in twenty misses.",
            design=story.design,
            estimate=story.estimate,
            demand=story.demand,
            truth=story.truth,
            reported=story.reported,
            commands=commands,
            level=LEVEL,
        )
    )


# ---- telling it


def _shown(target: Path) -> Path:
    """The folder as a reader here would type it."""
    try:
        return target.resolve().relative_to(Path.cwd())
    except ValueError:
        return target.resolve()


def _commands(folder: Path) -> list[tuple[str, str]]:
    """What to type next, and what it does."""
    name = {key: shlex.quote(str(folder / file)) for key, (file, _) in FILES.items()}
    again = shlex.quote(str(folder / "reports-2.csv"))
    program = _program()
    assigned = f"--design answer={name['design']}"
    return [
        (f"{program} audit {name['design']} --epsilon {EPSILON}", "what does the design promise?"),
        (f"{program} estimate {name['reports']} {assigned}", "the estimates again, from the reports alone"),
        (
            f"{program} randomize {name['people']} {assigned} -o {again}",
            "new draws for the same people; ask real people only once: each report reveals more",
        ),
    ]


def _program() -> str:
    """How this program is called here."""
    called = Path(sys.argv[0])
    if shutil.which("maskwell") is None and called.name == "maskwell" and called.exists():
        return shlex.quote(os.path.relpath(called))
    return "maskwell"


def _as_dict(story: Story, target: Path, commands: list[tuple[str, str]]) -> dict[str, Any]:
    told = story.estimate.to_dict(LEVEL)
    return {
        "folder": str(target),
        "files": {name: str(target / file) for name, (file, _) in FILES.items()},
        "rows": story.estimate.n,
        "epsilon": story.design.epsilon(),
        "parity": story.design.parity(),
        "parity_exact": to_text(story.design.parity_exact()),
        "meets": story.demand.met_by(story.design),
        "level": LEVEL,
        "estimates": [
            {**row, "truth": truth} for row, truth in zip(told["estimates"], story.truth.tolist(), strict=True)
        ],
        "commands": [command for command, _ in commands],
    }


def _lines(story: Story, folder: Path, commands: list[tuple[str, str]]) -> list[str]:
    parity = story.design.parity_exact()
    before, low, high = words.range_in_words(parity, Fraction(1, 10))
    met = "meets the demand" if story.demand.met_by(story.design) else "does not meet the demand"
    return [
        story.answer,
        "",
        f"Question  “{QUESTION}”",
        f"Demand    {story.demand.text}: one report changes the odds of any statement about its sender by at most",
        f"          a factor of {words.factor_up(parity)}: a belief of {before} % becomes {low} to {high} %.",
        f"Design    k-ary, {met}: it {chances(story.design)}.",
        f"Reports   {story.estimate.n:,} answers randomized with the operating system's generator, then counted.",
        "",
        *_table(story),
        "",
        "The truth is known because the people are made up. About one interval in twenty misses it.",
        *(f"Note: {flag}." for flag in story.estimate.flags),
        "",
        f"Written to {folder}{os.sep}",
        *(f"  {file:<14} {what}" for file, what in FILES.values()),
        "",
        f"Open {folder / FILES['page'][0]} in a browser, or try next:",
        *(line for command, does in commands for line in (*_wrapped(command), f"      {does}")),
    ]


def _wrapped(command: str) -> list[str]:
    """A command on one line, or broken before options into lines that a shell reads as one."""
    first, *options = re.split(r" (?=--?[a-z])", command)
    lines = [f"  {first}"]
    for option in options:
        if len(lines[-1]) + 1 + len(option) <= WIDTH - len(" \\"):
            lines[-1] += f" {option}"
        else:
            lines = [*lines[:-1], f"{lines[-1]} \\", f"    {option}"]
    return lines


def _table(story: Story) -> list[str]:
    low, high = story.estimate.confidence_interval(LEVEL).T
    header = ["in percent", "reported", "estimate", "95 % interval", "standard error", "truth"]
    rows = [
        [
            answer,
            words.percent(story.reported[i]),
            words.percent(story.estimate.pi_hat[i]),
            f"{words.percent(low[i])} to {words.percent(high[i])}",
            words.percent(story.estimate.standard_error[i], 2),
            words.percent(story.truth[i]),
        ]
        for i, answer in enumerate(ANSWERS)
    ]
    return table(header, rows)

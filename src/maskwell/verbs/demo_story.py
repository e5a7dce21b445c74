"""The whole story on made-up people: a demand, a design, reports, estimates, and a folder that holds them all."""

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
from pathlib import Path
from typing import Any

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.categories import Categories
from maskwell.core.exact import to_text
from maskwell.core.extras import is_installed, missing_extra
from maskwell.core.percentages import SPACE, percent
from maskwell.designs import wire
from maskwell.designs.uniform import Uniform
from maskwell.errors import DataFileError
from maskwell.estimation.moments import estimate_by_moments
from maskwell.estimation.share_estimate import Estimate
from maskwell.privacy.criteria import Demand
from maskwell.reports.plain_words import factor_up, range_in_words
from maskwell.reports.report import GAP, WIDTH, Block, Grid, Report, line
from maskwell.reports.text.design_report import chances

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
    "estimate": ("estimate.json", "the estimated shares of everyone"),
}


@dataclass(frozen=True, eq=False)
class Story:
    """What happened: the design asked for, what was reported and what was learned, and where the files are."""

    demand: Demand
    design: Uniform
    reported: Real
    estimate: Estimate
    truth: Real
    folder: Path

    @property
    def half_widths(self) -> Real:
        """Half widths of the intervals."""
        return self.estimate.intervals(LEVEL).half_width

    @property
    def answer(self) -> str:
        """The question answered in one sentence."""
        share, error = 1 - float(self.estimate.pi_hat[0]), float(self.half_widths[0])
        return (
            f"From {self.estimate.n:,} randomized reports: {percent(share)} ± {percent(error)} % worked "
            "undeclared; no single report settles who."
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = self.estimate.to_dict(LEVEL)
        return {
            "folder": str(self.folder),
            "files": {name: str(self.folder / file) for name, (file, _) in FILES.items()},
            "rows": self.estimate.n,
            "epsilon": self.design.epsilon(),
            "parity": self.design.parity(),
            "parity_exact": to_text(self.design.parity_exact()),
            "meets": self.demand.met_by(self.design),
            "level": LEVEL,
            "estimates": [
                {**row, "truth": truth} for row, truth in zip(told["estimates"], self.truth.tolist(), strict=True)
            ],
            "commands": [command for command, _ in _commands(_as_typed(self.folder))],
        }

    def report(self) -> Report:
        """For people."""
        parity, folder = self.design.parity_exact(), _as_typed(self.folder)
        before, low, high = range_in_words(parity, Fraction(1, 10))
        met = "meets the demand" if self.demand.met_by(self.design) else "does not meet the demand"
        said = [
            f"Question  “{QUESTION}”",
            f"Demand    {self.demand.text}: one report changes the odds of any statement about its sender by at most",
            f"          a factor of {factor_up(parity)}: a belief of {before} % becomes {low} to {high} %.",
            f"Design    k-ary, {met}: it {chances(self.design)}.",
            f"Reports   {self.estimate.n:,} answers randomized with the operating system's generator, then counted.",
        ]
        after = [
            "The truth is known because the people are made up. About one interval in twenty misses it.",
            *(f"Note: {flag}." for flag in self.estimate.flags),
        ]
        files = [f"Written to {folder}{os.sep}", *(f"  {file:<14} {what}" for file, what in FILES.values())]
        commands = [
            f"Open {folder / FILES['page'][0]} in a browser, or try next:",
            *(row for command, does in _commands(folder) for row in (*_broken_command(command), f"      {does}")),
        ]
        parts: list[list[Block]] = [[line(text) for text in texts] for texts in (said, after, files, commands)]
        parts.insert(1, [_table(self)])
        return Report(line(self.answer), [block for part in parts for block in (GAP, *part)])


def tell_story(output: str | None = None) -> Story:
    """Ask made-up people, and write the folder ``output``, or the first free one; nothing is ever overwritten."""
    missing = [name for name in ("jinja2", "matplotlib") if not is_installed(name)]
    if missing:
        raise missing_extra(missing[0], "the demo")
    if output is None:
        names = (FOLDER if number == 1 else f"{FOLDER}-{number}" for number in range(1, 10**6))
        return _write(next(path for name in names if _is_free(path := Path(name))))
    target = Path(output)
    if not _is_free(target):
        what = "is not empty" if target.is_dir() else "is a file"
        raise DataFileError("path-what", what=what, path=output)
    return _write(target)


def _is_free(path: Path) -> bool:
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def _write(target: Path) -> Story:
    """Make everything beside the target, then give it its name; on failure nothing is left."""
    from maskwell.core.atomic import allowed_mode, name_folder, partial_folder

    whole = target.resolve()
    try:
        with partial_folder(whole) as draft:
            story = _run(draft, target)
            draft.chmod(allowed_mode(0o777) & (whole.stat().st_mode | 0o700 if whole.exists() else 0o777))
            name_folder(draft, whole, over_empty=True)
    except OSError as error:
        raise DataFileError("cannot-write-choose-a", strerror=error.strerror or error, path=target) from error
    return story


def _run(folder: Path, target: Path) -> Story:
    """Make all files in a folder that will be called ``target``."""
    from maskwell.engines.assignments import Assignment
    from maskwell.engines.randomized_data import randomize_file
    from maskwell.engines.report_counts import tally_file
    from maskwell.engines.rows import Rows

    path = {name: folder / file for name, (file, _) in FILES.items()}
    demand = Demand.from_epsilon(EPSILON)
    design = Uniform.from_epsilon(EPSILON, Categories.of(ANSWERS)).with_provenance(family="k-ary")
    path["design"].write_text(wire.dumps(design), encoding="utf-8")
    _write_people(path["people"])
    columns = [Assignment.of("answer", design)]
    randomize_file(str(path["people"]), str(path["reports"]), columns)
    counts = tally_file(Rows.of(path["reports"]), columns).counts
    people = np.array(list(PEOPLE.values())).sum(axis=0)
    truth = np.asarray(people / people.sum())
    story = Story(demand, design, counts.share(), estimate_by_moments(counts, design), truth, target)
    content = {"variables": ["answer"], **story.estimate.to_dict(LEVEL)}
    path["estimate"].write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    path["page"].write_text(_page(story, _commands(_as_typed(target))), encoding="utf-8")
    return story


def _write_people(path: Path) -> None:
    """The people in an order that reveals nothing; the same ones each time, since all of them are simulated."""
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
    from maskwell.reports.pages.survey_page import PageContent, page

    return page(
        PageContent(
            title="How many work undeclared?",
            question=f"“{QUESTION}”",
            lead=story.answer.replace(" ± ", f"{SPACE}±{SPACE}").replace(" %", f"{SPACE}%"),
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


def _as_typed(target: Path) -> Path:
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


def _broken_command(command: str) -> list[str]:
    """A command on one line, or broken before options into lines that a shell reads as one."""
    first, *options = re.split(r" (?=--?[a-z])", command)
    lines = [f"  {first}"]
    for option in options:
        if len(lines[-1]) + 1 + len(option) <= WIDTH - len(" \\"):
            lines[-1] += f" {option}"
        else:
            lines = [*lines[:-1], f"{lines[-1]} \\", f"    {option}"]
    return lines


def _table(story: Story) -> Grid:
    low, high = story.estimate.confidence_interval(LEVEL).T
    header = ["in percent", "reported", "estimate", "95 % interval", "standard error", "truth"]
    rows = [
        [
            answer,
            percent(story.reported[i]),
            percent(story.estimate.pi_hat[i]),
            f"{percent(low[i])} to {percent(high[i])}",
            percent(story.estimate.standard_error[i], 2),
            percent(story.truth[i]),
        ]
        for i, answer in enumerate(ANSWERS)
    ]
    return Grid(header, rows)

"""Draw the pictures of the README and of the pages: python docs/images/make.py.

The README shows three pictures of the report on one card, from made-up people and a seeded source, so that it comes out
the same. The pages show breach regions and costs, which are computed.
"""

from __future__ import annotations

import html
import json
import re
import sys
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maskwell import Categories, Demand, Release, ReleasePlan, SeededRandom, estimate, regress
from maskwell.designs import Uniform
from maskwell.estimation import estimate_by_moments
from maskwell.microdata.risk_utility import risk_utility_map
from maskwell.planning.sample_size import plan_sample
from maskwell.plots import Picture, plot_canonical, plot_family, plot_flows, plot_frontier, plot_variance
from maskwell.privacy import Lines, Steps
from maskwell.procedures.decks import make_deck
from maskwell.procedures.dice_spinner import make_spinner
from maskwell.procedures.forced_answers import forced
from maskwell.procedures.realisation import make_device
from maskwell.procedures.statement_cards import warner
from maskwell.reports.device.legend_sheets import spinner_svg
from maskwell.reports.device.paper_cards import Face, faces_of, sheets_of
from maskwell.reports.pictures.demand_regions import plot_demand, plot_demands
from maskwell.reports.pictures.estimate_picture import plot_learned
from maskwell.reports.pictures.forest_plot import plot_coefficients
from maskwell.reports.pictures.palette import TEXT_FONTS, colour
from maskwell.reports.pictures.precision_picture import plot_margins
from maskwell.reports.pictures.revelation import plot_revealed
from maskwell.reports.pictures.risk_curves import plot_release_risk
from maskwell.reports.pictures.risk_utility_map import plot_risk_utility
from maskwell.reports.pictures.sheet import WIDTH
from maskwell.verbs import dry_run

FOLDER = Path(__file__).parent
TRUTH = {"never": 0.72, "once": 0.14, "a few times": 0.09, "every month": 0.05}
PEOPLE = 20_000
MARGIN, HEADING = 28, 44

SUSPICION = Demand.from_rho("0.1", "0.5")
OVERLAPPING = (Demand.from_rho("0.2", "0.6"), Demand.from_beta(4))
"""Neither region holds the other."""
GENERAL = Demand.from_curves(
    upper=Steps.of(["0.2", "0.5"], ["0.4", "0.8", 1], closed_right=[False, True]),
    lower=Lines.of([(0, 0), ("0.6", "0.2"), (1, 1)]),
    text="steps above, lines below",
)


def pictures() -> tuple[Picture, Picture, Picture]:
    """The three pictures, for epsilon = 1."""
    design = Uniform.from_epsilon(1, Categories.of(TRUTH))
    truth = np.array(list(TRUTH.values()))
    codes = np.repeat(np.arange(design.k), np.rint(truth * PEOPLE).astype(int)).astype(np.uint8)
    counts = design.tally(design.sample(codes, random=SeededRandom(1965)))
    learned = plot_learned(estimate_by_moments(counts, design), truth=truth, reported=counts.share())
    return plot_flows(design), plot_revealed(design.parity_exact()), learned


def placed(picture: Picture, number: int, x: float, y: float) -> tuple[str, float]:
    """A picture under its heading, and where it ends."""
    drawn = picture.svg()
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    assert found is not None
    width, height = map(float, found.groups())
    box = f'<svg x="{x}" y="{y + HEADING}" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    drawn = re.sub(r"<svg[^>]*?(?= role=)", box, drawn, count=1, flags=re.DOTALL)
    style = f'font-family="{TEXT_FONTS}" font-size="17" font-weight="600"'
    number_ = f'<tspan fill="{colour("muted")}" font-weight="400">{number}</tspan>'
    title = f'<text x="{x + 4}" y="{y + 20}" fill="{colour("ink")}" {style}>{number_}  {picture.title}</text>'
    return title + drawn, y + HEADING + height


def story() -> str:
    """The card: where an answer goes and what is learned on the left, what an answer reveals on the right."""
    flows, revealed, learned = pictures()
    first, end = placed(flows, 1, MARGIN, MARGIN)
    second, beside = placed(revealed, 2, 2 * MARGIN + WIDTH, MARGIN)
    third, below = placed(learned, 3, MARGIN, end + MARGIN)
    width, height = 2 * WIDTH + 3 * MARGIN, max(beside, below) + MARGIN / 2
    text = f"{flows.text} {revealed.text} {learned.text}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="story-title story-desc">',
        "<title id='story-title'>From one randomized answer to an estimate about everyone</title>",
        f"<desc id='story-desc'>{html.escape(text)}</desc>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{colour("paper")}" '
        f'stroke="{colour("rule")}"/>',
        first,
        second,
        third,
        "</svg>",
    ]
    return re.sub(r" style=\"\"", "", "\n".join(parts)) + "\n"


class Drawing(NamedTuple):
    """A picture that no data stand behind."""

    text: str
    drawn: str

    def save(self, path: Path) -> None:
        """Write it."""
        path.write_text(self.drawn, encoding="utf-8")


def devices() -> Drawing:
    """A sheet of cards and a spinner, as they are printed."""
    cards = sheets_of(faces_of(make_device(warner("0.7")).deck))[0]
    spinner = spinner_svg(make_spinner(make_deck(forced("1/2", "1/4", "1/4"))))
    width, height = 680, 300
    text = (
        "Left: a sheet of ten cards to cut out, seven with the statement “My true answer is: yes” and three with “My "
        "true answer is: no”. Right: a spinner of three fields, A of 90, B of 180 and C of 90 degrees."
    )
    placed_spinner = re.sub(r'<svg class="spinner" xmlns="[^"]*"', '<svg x="420" y="30"', spinner, count=1)
    placed_spinner = re.sub(r'width="160mm" height="160mm"', 'width="240" height="240"', placed_spinner, count=1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-labelledby="devices-title devices-desc" font-family="{TEXT_FONTS}">',
        "<title id='devices-title'>Cards to cut out, and a spinner</title>",
        f"<desc id='devices-desc'>{html.escape(text, quote=False)}</desc>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *(_card(face, 24 + 120 * (i % 3), 24 + 63 * (i // 3)) for i, face in enumerate(cards.faces)),
        placed_spinner,
        "</svg>",
    ]
    return Drawing(text, "\n".join(parts) + "\n")


def _card(face: Face, x: int, y: int) -> str:
    """One card of the sheet, 120 by 63 pixels."""
    bold, plain = textwrap.wrap(face.text, 17), textwrap.wrap(face.note, 30)
    rows = [(line, 10, 600) for line in bold] + [(line, 6.5, 400) for line in plain]
    lines = "".join(
        f'<text x="{x + 60}" y="{y + 18 + 12 * i}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="middle">{html.escape(line)}</text>'
        for i, (line, size, weight) in enumerate(rows)
    )
    box = f'<rect x="{x}" y="{y}" width="120" height="63" fill="none" stroke="#000" stroke-width="0.6"'
    return f'{box} stroke-dasharray="3 2"/>{lines}'


def released(**protect: object) -> Release:
    """What the plan of the tutorial does to its made-up survey."""
    page = (FOLDER.parent / "tutorials/release.md").read_text(encoding="utf-8")
    survey: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], survey)  # noqa: S102  # our own page: it makes the file
    keys = ["region", "sex", "age", "job"]
    rows = survey["people"](np.random.default_rng(2026))
    file = dict(zip([*keys, "income", "weight"], zip(*(row[1:7] for row in rows), strict=True), strict=True))
    protect = {"variables": keys, "method": "mixing", **protect}
    plan = ReleasePlan.of(
        [protect], keys=keys, sensitive=["income"], weights="weight", match="0.5", intruder="all-columns"
    )
    return dry_run({name: [*column] for name, column in file.items()}, plan).release


def asked() -> dict[str, np.ndarray]:
    """Made-up people who answered by Warner's cards, with their age and region."""
    rng, design = np.random.default_rng(1965), warner("0.8")
    age, south = rng.integers(18, 80, PEOPLE // 4), rng.random(PEOPLE // 4) < 0.4
    true = rng.random(PEOPLE // 4) < 1 / (1 + np.exp(2.5 - 0.03 * age - 0.6 * south))
    reports = design.randomize(np.where(true, "yes", "no"), random=SeededRandom(1965))
    return {"evades": reports, "age": age // 10, "region": np.where(south, "south", "north")}


def groups() -> Picture:
    """Shares of two regions and of all."""
    return estimate(asked(), {"evades": warner("0.8")}, by="region").plot()


def coefficients() -> Picture:
    """A logistic regression of the answers."""
    return plot_coefficients(regress(asked(), "evades ~ age + region", {"evades": warner("0.8")}))


def bribes() -> Picture:
    """The picture of the notebook about bribes, whose cells are run as far as it."""
    notebook = json.loads((FOLDER.parent / "notebooks/bribes.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and "picture" not in names:
            exec("".join(cell["source"]), names)  # noqa: S102 - a notebook of this folder
    picture = names["picture"]
    assert isinstance(picture, Picture)
    return picture


def growth() -> Picture:
    """How time and memory grow, from figures that were measured before."""
    sys.path.insert(0, str(FOLDER.parents[1]))
    from bench.scaling import picture_of, stored_points

    return picture_of(stored_points())


def pages() -> dict[str, Picture | Drawing]:
    """The pictures of the pages, by the name of their file."""
    return {
        "two-demands": plot_demands(OVERLAPPING),
        "demand": plot_demand(GENERAL),
        "canonical": plot_canonical(SUSPICION),
        "canonical-general": plot_canonical(GENERAL),
        "family": plot_family(demand=SUSPICION),
        "family-alone": plot_family(),
        "flows": plot_flows(Uniform.from_epsilon(1, Categories.of(TRUTH))),
        "groups": groups(),
        "bribes": bribes(),
        "coefficients": coefficients(),
        "met": plot_revealed(Fraction(5), demand=SUSPICION),
        "not-met": plot_revealed(Fraction(16), demand=SUSPICION),
        "margin": plot_margins(plan_sample(warner("0.7"), pi=[0.1, 0.9], margin=0.05)),
        "variance": plot_variance(),
        "frontier": plot_frontier(10, demand=Demand.from_epsilon(1)),
        "devices": devices(),
        "release": plot_release_risk(released(within=["income"])),
        "release-map": plot_risk_utility(risk_utility_map(released()), bound=0.5),
        "scaling": growth(),
    }


if __name__ == "__main__":
    (FOLDER / "story.svg").write_text(story(), encoding="utf-8")
    for name, picture in pages().items():
        picture.save(FOLDER / f"{name}.svg")

"""Plans in words: which design to take, how many respondents with which margin and power, how they are divided."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from maskwell.core.arguments import Real
from maskwell.core.exact import rounded
from maskwell.core.phrases import Printed, file_name, shorten
from maskwell.core.verdicts import at_least, below, tied
from maskwell.designs.design import Design
from maskwell.notes import Note
from maskwell.planning.design_choice import Choice
from maskwell.planning.power import PowerPlan
from maskwell.planning.respondent_variance import Sampling, UnitVariance
from maskwell.planning.sample_size import SamplePlan
from maskwell.planning.several_questions import QuestionsPlan
from maskwell.planning.stratum_allocation import Allocation
from maskwell.reports.plain_words import counted, factor_down, label, number
from maskwell.reports.report import GAP, WIDTH, Block, Facts, Grid, Notes, Paragraph, Report
from maskwell.reports.text.design_report import made_as, promise_note, typed_categories

DOMINATED = "*"


def choice_report(choice: Choice, path: str | None, demand: str) -> Report:
    """What to take and what it costs; ``demand`` is how the demand was typed, ``path`` where the design was written."""
    ranked = choice.ranked
    names = [f"{o.rank} {o.label}{'' if o.dominated_by is None else DOMINATED}" for o in ranked]
    columns = {"V_R": _figures([o.added_variance or 0.0 for o in ranked])}
    if choice.n is not None:
        columns["error"] = _figures([o.rms_error or 0.0 for o in ranked])
        columns["margin"] = _figures([o.margin or 0.0 for o in ranked])
        columns["n"] = _figures([o.n or 0 for o in ranked], decimals=1)
    columns["guess"] = _figures([o.guess_probability for o in ranked], decimals=1)
    columns["bits"] = _sizes([o.design.report_bits() for o in ranked])
    columns["sent"] = _sizes([o.candidate.wire_bits for o in ranked])
    body: list[Block] = [
        Facts(_choice_facts(choice)),
        GAP,
        Grid(["design", *columns], [list(row) for row in zip(names, *columns.values(), strict=True)]),
        Paragraph(Note("columns-of-a-choice" if choice.n is None else "columns-of-a-choice-for-n"), indent="  "),
    ]
    remarks = [Notes(choice.warnings, word="warning"), Notes([*_remarks(choice)]), promise_note(choice.design)]
    return Report(_choice_answer(choice, path), [*body, *remarks], next_step=_after_plan(choice, path, demand))


def _choice_answer(choice: Choice, path: str | None) -> str:
    saved = "" if path is None else f" (saved to {path})"
    first = f"Recommended for {choice.demand.text}: {choice.recommended.label}{saved}."
    if choice.n is None:
        return first
    which = "each share" if choice.category is None else f"the share of {_named(choice.category)}"
    level = f"{Printed(100 * choice.level):g} %"
    within = f"±{number(choice.margin, 3)} ({level})"
    return f"{first} With {_respondents(choice.n)}, {which} is estimated to within {within}."


def _choice_facts(choice: Choice) -> list[tuple[str, str]]:
    given = [f"{Printed(float(p)):.4g}" for p in choice.pi or ()]
    shares = f"shares {', '.join(given if len(given) <= 8 else [*given[:7], '...'])}" if given else "equal shares"
    level = "" if choice.n is None else f", {Printed(100 * choice.level):g} % intervals"
    demand = choice.demand
    gamma, limit = (demand.gamma_exact, "below") if demand.strict else (choice.gamma, "at most")
    factor = factor_down(gamma)
    facts = [
        ("why", choice.reason),
        ("parity", f"{limit} {rounded(gamma, 15, up=False) if factor == '1' else factor}"),
        ("planned for", f"{shares}{level}"),
    ]
    sizes = choice.respondents
    if sizes is None:
        return [*facts, *_sampling(choice.sampling)]
    if choice.category is not None:  # which margins are about, where they differ
        facts.append(("category", f"{_named(choice.category)}{', the hardest to estimate' if choice.hardest else ''}"))
    worst, direct = (
        f"within {number(margin, 3)}; within {number(sizes.margin, 3)} from {_respondents(n or 0)}"
        for margin, n in ((sizes.worst_margin, sizes.worst_n), (sizes.direct_margin, sizes.direct_n))
    )
    facts += [*_sampling(choice.sampling), ("whatever the shares", worst)]
    return [*facts, ("asked directly", f"{direct}, but without protection")]


def _figures(values: Sequence[float], *, decimals: int = 2) -> list[str]:
    """A column of figures: three digits, whole numbers where that is more, and all as powers where some are extreme."""
    if below(min(values), 1e-3) or at_least(max(values), 1e8):
        return [f"{Printed(value):.{decimals}e}" for value in values]
    return [f"{Printed(v):,.0f}" if at_least(v, 100) or tied(v, round(v)) else f"{Printed(v):.3g}" for v in values]


def _sizes(bits: Sequence[float]) -> list[str]:
    """Numbers of bits: with a decimal where they are few, in thousands where they are many."""
    if below(max(bits), 100):
        return [f"{Printed(size):.0f}" if tied(size, round(size)) else f"{Printed(size):.1f}" for size in bits]
    return [f"{Printed(size / 1000):,.0f}k" if at_least(size, 1e5) else f"{Printed(size):,.0f}" for size in bits]


def _remarks(choice: Choice) -> Iterable[str]:
    """What must be known about some of the lines."""
    dominated = next((option for option in choice.options if option.dominated_by is not None), None)
    if dominated is not None:
        yield f"{DOMINATED} not admissible: {dominated.note} at the same parity, whatever the shares"
    for option in choice.options:
        if option.rank is None:
            variance = "" if option.added_variance is None else f", V_R {_figures([option.added_variance])[0]}"
            yield f"{option.label}{variance}: {option.note}"
    yield from choice.notes


def _after_plan(choice: Choice, path: str | None, demand: str) -> str:
    if path is not None:
        return f"maskwell audit {shlex.quote(path)} {demand}".rstrip()
    design = choice.design
    parameters = design.provenance["parameters"]
    size = f" --size {parameters['size']}" if "size" in parameters else ""
    family = choice.recommended.candidate.family
    command = f"maskwell design {family} {typed_categories(design.inputs)}{size} {demand} -o design.json"
    return command if len(command) <= WIDTH - len("Next: ") else "save it with -o design.json"


MOST_SHARES = 6


def questions_report(plan: QuestionsPlan) -> Report:
    """Several questions under one demand: how to ask them, and what each way costs."""
    answer = f"For {plan.demand.text} of all reports of a person together, {plan.advice}."
    if plan.n is not None:
        give = "gives" if plan.n == 1 else "give"
        answer += f" {_respondents(plan.n)} {give} every share within {number(plan.margin, 3)}."
    header = ["question", "categories", "parity alone", "V alone", "V together"]
    together = [f"{Printed(v):.3g}" for v in plan.together_variance] or ["-"] * len(plan.names)
    rows = [
        [name, f"{one.k:,}", f"{Printed(one.parity()):.4g}", f"{Printed(v):.3g}", joint]
        for name, one, v, joint in zip(plan.names, plan.separate, plan.separate_variance, together, strict=True)
    ]
    legend = Paragraph("  V: n times the variance of the hardest share, at equal shares.")
    return Report(answer, [Grid(header, rows), legend])


def sample_report(plan: SamplePlan, path: str) -> Report:
    """How many respondents, what they give, and where the error comes from."""
    give = "gives" if plan.n == 1 else "give"
    what = f"the share of {_named(plan.label)} within {number(plan.margin, 3)}"
    answer = f"With {file_name(path)}, {_respondents(plan.n)} {give} {what}."
    worst = "the worst possible shares: " if plan.worst_case else ""
    facts = [
        ("design", made_as(plan.design)),
        ("planned for", f"{worst}{_shares(plan.design, plan.pi)}; {Printed(100 * plan.level):g} % intervals"),
        *_sampling(plan.sampling),
        ("variance, times n", _parts(plan.variance)),
    ]
    if plan.worst_n is not None and plan.worst_margin is not None and not plan.worst_case:
        facts.append(("whatever the shares", _either(plan.worst_margin, plan.worst_n, plan.margin)))
    direct = _either(plan.direct_margin, plan.direct_n, plan.margin)
    body: list[Block] = [
        Facts([*facts, ("asked directly", f"{direct}, but without protection")]),
        Notes(plan.warnings(), word="warning"),
    ]
    return Report(answer, body, next_step=f"maskwell audit {shlex.quote(path)}")


def _either(margin: float, n: int, asked: float) -> str:
    return f"within {number(margin, 3)}; within {number(asked, 3)} from {_respondents(n)}"


def power_report(plan: PowerPlan, path: str) -> Report:
    """How many respondents find the difference, with which chance."""
    what = f"a share of {number(plan.against, 4)} of {_named(plan.label)} instead of {number(plan.null, 4)}"
    find = "detects" if plan.n == 1 else "detect"
    answer = f"With {file_name(path)}, {_respondents(plan.n)} {find} {what} with probability {number(plan.power, 3)}."
    below, above = plan.detectable
    detected = [f"from {number(above, 4)} upwards"] if above is not None else []
    detected += [f"down from {number(below, 4)}"] if below is not None else []
    pairs = [
        ("design", made_as(plan.design)),
        ("test", f"two-sided, false alarms {number(plan.alpha, 3)}; hypothesis {_shares(plan.design, plan.pi)}"),
        *_sampling(plan.sampling),
        ("variance, times n", f"{_parts(plan.variance_null)} under the hypothesis"),
        ("", f"{_parts(plan.variance_against)} against it"),
        ("detected as reliably", " and ".join(detected) or "nothing between 0 and 1"),
        ("interval for this n", f"within {number(plan.margin, 3)}, {Printed(100 * (1 - plan.alpha)):g} %"),
        ("asked directly", f"{_respondents(plan.direct_n)}, but without protection"),
    ]
    return Report(answer, [Facts(pairs)], next_step=f"maskwell audit {shlex.quote(path)}")


def _sampling(sampling: Sampling) -> list[tuple[str, str]]:
    if sampling.simple:
        return []
    clusters = ""
    if sampling.icc is not None and sampling.cluster_size is not None:
        size = number(sampling.cluster_size, 4)
        clusters = f" (clusters of {size}, intraclass correlation {number(sampling.icc, 3)})"
    raised = number(100 * (sampling.weighting - 1), 3)
    weights = f"; weights with cv {number(sampling.cv_weights, 4)} raise the randomization part by {raised} %"
    text = f"deff {number(sampling.deff, 4)}{clusters} on the sampling part"
    return [("complex sample", f"{text}{weights if sampling.cv_weights else ''}")]


def _parts(variance: UnitVariance) -> str:
    sampling, randomization = number(variance.sampling, 4), number(variance.randomization, 4)
    return f"{number(variance.total, 5)} = {sampling} sampling + {randomization} randomization"


def _shares(design: Design, pi: Real) -> str:
    """The shares that are not 0, or the first of them."""
    positive = [(one, p) for one, p in zip(design.inputs.labels, pi.tolist(), strict=True) if p > 0]
    texts = [f"{_named(one)} {number(p, 4)}" for one, p in positive[:MOST_SHARES]]
    return ", ".join([*texts, *(["..."] if len(positive) > MOST_SHARES else [])])


def _named(one: object) -> str:
    return shorten(label(one), 24)


def _respondents(n: int) -> str:
    return counted(n, "respondent", "respondents")


def allocation_report(allocation: Allocation) -> Report:
    """How to divide them, and what that gains."""
    parts = "stratum" if allocation.kind == "strata" else "sample"
    many = {"stratum": "strata", "sample": "samples"}[parts]
    into = counted(len(allocation.names), parts, many)
    answer = (
        f"Allocate {_respondents(allocation.n)} to {into} as "
        f"below: the estimate is within {number(allocation.margin, 3)} ({Printed(100 * allocation.level):g} %)."
    )
    rows = [
        [shorten(name, 40), f"{n:,}", f"{Printed(share):.4f}"]
        for name, n, share in zip(allocation.names, allocation.counts, allocation.fractions, strict=True)
    ]
    header, following = [parts, "n", "best share"], "--design 'y[group=1]=D1' --design 'y[group=2]=D2'"
    if allocation.kind == "strata":
        header, following = [*header, "of all", "variance, times n"], "--strata COLUMN and a --design for each deck"
        for row, part in zip(rows, allocation.details["unit_variances"], strict=True):
            row += [f"{Printed(part['share']):.4f}", f"{Printed(part['total']):.4f}"]
    unused = [name for name, n in zip(allocation.names, allocation.counts, strict=True) if not n]
    not_needed = [f"{shorten(name, 40)} is not needed: the others are more informative" for name in unused]
    facts = [("variance", number(allocation.variance, 4))]
    if allocation.plain_variance is not None:
        plain = "allocated by size" if allocation.kind == "strata" else "allocated equally"
        more = allocation.plain_variance / allocation.variance - 1
        beside = f"{number(100 * abs(more), 3)} % {'more' if more >= 0 else 'less'}"
        facts.append((plain, f"{number(allocation.plain_variance, 4)}, {beside}"))
    if allocation.cost != allocation.n:
        facts.append(("cost", f"{Printed(allocation.cost):,.10g}"))
    return Report(
        answer,
        [Grid(header, rows), Facts(facts), Notes([*not_needed, *allocation.details.get("notes", ())])],
        next_step=f"after the survey: maskwell estimate FILE {following}",
    )

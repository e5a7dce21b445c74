"""Privacy in words: what a design promises, a privacy requirement in all its forms, and the check of a certificate."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from maskwell.core.exact import Parity, parity_text, rounded, told_apart
from maskwell.core.phrases import Printed, file_name, shorten
from maskwell.designs.basket_bits import find_item_bits
from maskwell.designs.design import EXACT_LIMIT, Design
from maskwell.engines.assignments import Assignment
from maskwell.privacy.certificate import parity_from_text
from maskwell.privacy.certificate_check import Verified
from maskwell.privacy.criteria import RHO_EXAMPLES, posterior_range, stands_for
from maskwell.privacy.design_audit import PRIORS, REPETITIONS
from maskwell.reports.plain_words import count, counted, factor_up, label, number
from maskwell.reports.report import GAP, WIDTH, Block, Facts, Grid, Notes, Paragraph, Report
from maskwell.reports.text import design_report

ROOM = WIDTH - len("Next: ")


def audit_report(audit: Mapping[str, Any], design: Design, path: str, demand: str = "") -> Report:
    """What a design promises; ``demand`` is how the demand was typed."""
    return Report(
        _demand_answer(audit, design, path) if "meets" in audit else _promise(design, path),
        [
            Facts(_audit_facts(audit, design)),
            *design_report.matrix_blocks(design),
            *_posteriors(design),
            *_after_reports(audit, design),
            Notes(audit["warnings"], word="warning"),
            Notes(audit.get("demand", {}).get("notes", [])),
        ],
        next_step=_after_audit(audit, design, path, demand),
    )


def _promise(design: Design, path: str) -> str:
    if isinstance(design.parity_exact(), float):
        return f"{path} does not bound parity: some report rules out some true answer."
    most = factor_up(stands_for(design))
    return f"{path}: a report changes the odds of any statement about the truth at most {most}-fold."


def _demand_answer(audit: Mapping[str, Any], design: Design, path: str) -> str:
    demand = audit["demand"]
    said = "Yes: {} meets" if audit["meets"] else "No: {} does not meet"
    answer = f"{said.format(path)} the demand {demand['stated']}"
    if "phi" in demand:
        near = " within 1e-9 (given as decimals)" if audit["slack_used"] else ""
        return f"{answer}: phi is {number(audit['average_security'])}{near}. Parity is not bounded."
    strict = ", which must not be reached" if demand["strict"] else ""
    bound = parity_from_text(demand["gamma_exact"])
    if audit["slack_used"]:
        both = design.decimals and demand["decimals"]
        whose = "both were" if both else f"the {'design' if design.decimals else 'demand'} was"
        parity = parity_text(bound)
        return f"{answer} (parity {parity} within 1e-9, limit {parity}{strict}; {whose} given as decimals)."
    reached, most = told_apart(design.parity_exact() if demand["strict"] else stands_for(design), bound)
    return f"{answer} (parity {reached}, limit {most}{strict})."


def _after_audit(audit: Mapping[str, Any], design: Design, path: str, demand: str) -> str:
    """A design that meets the demand, protects, is informative or more informative; or to use this one."""
    parity, columns = design.parity_exact(), len(Assignment((), design).leaves)
    if audit.get("meets") is False:
        return _better(audit["demand"], design, demand, path, columns)
    if isinstance(parity, float) or parity < INFORMATIVE:
        return _planned("a bound on parity" if isinstance(parity, float) else "informative reports", design, columns)
    if audit["admissible"] is False and design.has_entries_up_to(EXACT_LIMIT):
        return f"a more informative design at no cost in privacy: maskwell improve {shlex.quote(path)}"
    if audit["identifiable"] is False:
        return _planned("reports from which shares can be estimated", design, columns)
    basket = columns > 1 and find_item_bits(design) is not None
    assigned = f"{'BASKETS' if basket else ','.join(['COLUMN'] * columns)}={path}"
    return f"maskwell randomize DATA.csv --design {shlex.quote(assigned)} -o REPORTS.csv"


def _planned(what: str, design: Design, columns: int) -> str:
    """The command that plans a design over the same categories."""
    if columns > 1:
        return f"give every part {what}: maskwell choose --help"
    command = f"maskwell choose {design_report.typed_categories(design.inputs)} --epsilon 1"
    said = f"a design with {what}: {command}"
    return said if len(said) <= ROOM else f"a design with {what}: maskwell choose --help"


def _better(asked: Mapping[str, Any], design: Design, demand: str, path: str, columns: int) -> str:
    """The command for a design over the same categories that meets the demand."""
    if columns > 1:
        return "make each part more private, since their parities multiply: maskwell design k-ary --help"
    if "phi" in asked:  # for security on average ``2 gamma / (gamma + 1) <= phi`` is enough
        phi = Fraction(asked["phi"])
        enough: Parity = phi / (2 - phi)
    else:
        enough = parity_from_text(asked["gamma_exact"])
    gamma = rounded(enough, 15, up=False)
    if gamma == "1":
        return TELL_NOTHING
    option = demand or f"--gamma {gamma}"
    output = "design-2.json" if Path(path).name == "design.json" else "design.json"
    command = f"maskwell design k-ary {design_report.typed_categories(design.inputs)} {option} -o {output}"
    return command if len(command) <= ROOM else f"maskwell design k-ary --categories @LABELS.txt {option} -o {output}"


def _audit_facts(audit: Mapping[str, Any], design: Design) -> list[tuple[str, str]]:
    right, blind = audit["guess_probability"], number(audit["guess_without_report"])
    facts = [
        ("made as", design_report.made_as(design)),
        *design_report.what_is_reported(design, f"{count(audit['k'])}: "),
        *design_report.what_it_does(design),
        ("parity", design_report.parity_of(design)),
        ("epsilon", number(audit["epsilon"], 10)),
        (
            "best guess is right",
            f"{'not computed' if right is None else f'{number(right)} of the time'} ({blind} without the report)",
        ),
        *_solvable(audit),
        ("admissible", _admissible(audit)),
        ("added variance", _added_variance(audit)),
    ]
    if "added_variance_by_estimator" in audit:
        variances = audit["added_variance_by_estimator"].items()
        facts.append(("by estimator", ", ".join(f"{name} {number(value)}" for name, value in variances)))
    facts.append(("average security", _on_average(audit)))
    parity = stands_for(design)
    if not isinstance(parity, float):
        worn = ", ".join(f"{t} reports {parity_text(parity**t, 4)}" for t in REPETITIONS)
        facts.append(("asked again, parity", worn))
    if "hazard" in audit:
        hazard = {name: number(audit["hazard"][name]) for name in ("prior", "greatest", "ratio")}
        said = "{prior} before, at most {greatest} after a report (one-sided ratio {ratio})".format(**hazard)
        facts.append(("sensitive categories", said))
    if "row_parities" in audit and len(audit["row_parities"]) <= design_report.SHOWN_LABELS:
        facts.append(("parity of each report", ", ".join(number(p) for p in audit["row_parities"])))
    if "parity_within" in audit:
        facts.append(("parity within a cell", str(audit["parity_within"])))
    return facts


def _solvable(audit: Mapping[str, Any]) -> list[tuple[str, str]]:
    if audit["identifiable"] is None:
        return [("identifiable", "not computed")]
    answer = "yes" if audit["identifiable"] else f"no: rank {audit['rank']} for {audit['k']} categories"
    return [("identifiable", answer), ("condition", number(audit["condition"]))]


def _on_average(audit: Mapping[str, Any]) -> str:
    if audit["average_security"] is None:
        return "not computed: too many columns to compare in pairs"
    return f"{number(audit['average_security'])} (for comparison only, not recommended)"


def _added_variance(audit: Mapping[str, Any]) -> str:
    value = audit["added_variance"]
    if audit["identifiable"] is None:
        return "not computed"
    return "none: shares cannot be estimated" if value is None else f"{number(value)} divided by n, at equal shares"


def _admissible(audit: Mapping[str, Any]) -> str:
    if audit["admissible"] is None:
        return f"not computed: {audit['inadmissible_because']}"
    if audit["admissible"]:
        return "yes" if audit["admissible_exactly"] else "yes, within 1e-8"
    return f"no, another design of this parity is more informative: {audit['inadmissible_because']}"


def _posteriors(design: Design) -> list[Block]:
    """The range of posteriors: the smallest rounded down, the largest rounded up."""
    parity = stands_for(design)
    if isinstance(parity, float):
        return []
    ranges = [(prior, *posterior_range(parity, Fraction(prior))) for prior in PRIORS]
    rows = [[prior, rounded(low, 6, up=False), rounded(high, 6, up=True)] for prior, low, high in ranges]
    return [GAP, Grid(["a probability of", "can fall to", "can rise to"], rows)]


def _after_reports(audit: Mapping[str, Any], design: Design) -> list[Block]:
    """What the given prior becomes after each report, for small designs."""
    if "posterior" not in audit or design.k > design_report.SHOWN_LABELS or design.m > design_report.SHOWN_LABELS:
        return []
    header = ["after the report", *(shorten(label(one), 12) for one in design.inputs.labels)]
    names = [
        "(before)",
        *(shorten(one, design_report.MATRIX_LABEL_WIDTH) for one in design_report.report_names(design)),
    ]
    beliefs = [audit["prior"], *audit["posterior"]]
    rows = [
        [name, *("–" if math.isnan(p) else f"{Printed(p):.4f}" for p in row)]
        for name, row in zip(names, beliefs, strict=True)
    ]
    return [GAP, Grid(header, rows)]


INFORMATIVE = 1 + Fraction(1, 10**15)  # the least parity for which designs are offered: below it nothing is said
TELL_NOTHING = "allow more than gamma = 1, at which a report reveals nothing about the true answer"
LOGARITHM = 1 + Fraction(1, 10**14)
"""Above 1 by more than the error of a logarithm, so that the epsilon that was typed is not shown a digit smaller."""


def convert_report(languages: Mapping[str, Any], option: str) -> Report:
    """A privacy requirement in all its forms; ``option`` is how it is typed."""
    gamma = parity_from_text(languages["gamma_exact"])
    if isinstance(gamma, float):
        nothing = f"{languages['stated']} allows any parity, so every design meets it."
        return Report(nothing, next_step="a privacy requirement that protects: maskwell convert --epsilon 1")
    strict = languages["closed"] and languages["attained"]
    limit = "below" if strict else "at most"
    says = "is as accurate as subset selection of parity" if "l" in languages else f"means that parity is {limit}"
    rows = [[number(float(p)), rounded(posterior_range(gamma, p)[1], 6, up=True)] for p in RHO_EXAMPLES]
    whose = "with subset selection " if "l" in languages else ""
    return Report(
        f"{languages['stated']} {says} {rounded(gamma, 10, up=False)}.",
        [
            Facts(_language_facts(languages, gamma, strict=strict)),
            GAP,
            Grid(["a probability of", f"{whose}{'stays below' if strict else 'can rise to at most'}"], rows),
        ],
        next_step=_after_convert(languages, gamma, option),
    )


def _language_facts(languages: Mapping[str, Any], gamma: Fraction, *, strict: bool) -> list[tuple[str, str]]:
    below = "below " if strict else ""
    epsilon = rounded(Fraction(languages["epsilon"]) * LOGARITHM, 10, up=False)
    itself = [("l-diversity itself", "parity is unbounded: a probability can rise to certainty")]
    pairs = [
        *(itself if "l" in languages else []),
        ("gamma, beta, Bayes factor", f"{below}{rounded(gamma, 10, up=False)}"),
        ("epsilon", f"{below}{epsilon}"),
    ]
    if "q" in languages:
        pairs.append((f"best subset size, k = {languages['k']}", " or ".join(map(str, languages["q_all"]))))
    if "l_real" in languages:
        pairs.append((f"as accurate as l, k = {languages['k']}", _matching_l(languages)))
    return pairs


def _after_convert(languages: Mapping[str, Any], gamma: Fraction, option: str) -> str:
    if gamma < INFORMATIVE:
        return TELL_NOTHING
    if "l" in languages:
        return f"maskwell design subset --k {languages['k']} --gamma {rounded(gamma, 10, up=False)} -o design.json"
    family = "subset" if languages.get("q", 1) > 1 else "k-ary"
    return f"maskwell design {family} --k {languages.get('k', 4)} {option} -o design.json"


def _matching_l(languages: Mapping[str, Any]) -> str:
    """The l of local diversity beside a demand, and what rounding it either way means."""
    low, high, real = languages["l_floor"], languages["l_ceiling"], number(languages["l_real"])
    if languages["k"] < 3:
        return f"{real}: l-diversity needs three categories or more"
    if low == high:
        return f"{real}, which does not bound parity"
    less, more, both = f"l = {low} adds less variance", f"l = {high} hides the true answer among more others", True
    if low < 2:
        less, both = "no l adds so little variance", False
    if high >= languages["k"]:
        more, both = "no l hides it among more answers", False
    return f"{real}: {less}, {more}; {'neither bounds parity' if both else 'it does not bound parity'}"


NOT_PROVED = (
    "labels and provenance are not checked, and nothing here shows that reports were really drawn by this design. "
    "Anyone can make a seal, so the author of the file is not proved."
)


def verified_report(verified: Verified, path: str) -> Report:
    """The answer, every check, and what a certificate does not prove."""
    checks = [(check.name, ("holds: " if check.ok else "FAILS: ") + check.words) for check in verified.checks]
    answer = Paragraph(_verified_answer(verified, file_name(path)), hang="", split=True)
    return Report(answer, [Facts(checks), Notes([NOT_PROVED])], next_step=_after_verify(verified, path))


def _verified_answer(verified: Verified, path: str) -> str:
    if [check.name for check in verified.failed] == ["the same"]:
        return f"{path} is a certificate of another design: {verified.failed[0].words}."
    if not verified.ok:
        return f"{path} does not hold: {counted(len(verified.failed), 'check fails', 'checks fail')}."
    words = {check.name: check.words for check in verified.checks}
    if verified.meets is None:
        return f"{path} holds: {words['parity']}."
    as_given = ", which is as given" if "as given" in words["demand"] else ""
    return f"{path} holds{'' if verified.meets else ', and the demand is not met'}: {words['meets']}{as_given}."


def _after_verify(verified: Verified, path: str) -> str:
    if [check.name for check in verified.failed] == ["the same"]:
        return "use the design that the certificate is about, or certify yours"
    if not verified.ok:
        return f"get the file as it was made, or make it: maskwell audit D --certificate {shlex.quote(path)}"
    if any(check.name == "demand" and "curves" in check.words for check in verified.checks):
        return "hand it out with the design (the short checker of the documentation knows no curves)"
    return "the same without maskwell: check_certificate.py, in the documentation under certificate"

"""The first lines of a release: the highest probability of re-identification, the intruder, and what that assumes."""

from __future__ import annotations

from collections.abc import Iterator

from maskwell.core.percentages import in_percent
from maskwell.core.phrases import in_words, one_line, shorten
from maskwell.core.verdicts import above, at_least, below
from maskwell.microdata.plans.release_plan import JOINT_TABLE, RECORD_ORDER
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.intruders import INTRUDERS
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.notes import Note
from maskwell.reports.plain_words import counted
from maskwell.reports.text.names_in_words import (
    NAME,
    keys_in_words,
    names_in_short,
)
from maskwell.reports.text.release_words import chance


def found_for_sure(risk: RiskReport) -> int:
    """Records that are found with certainty: of the release where there is one."""
    return int(risk.table.counts[at_least(risk.risk, 1)].sum())


def headline(risk: RiskReport, *, whole: bool = False) -> str:
    """The highest probability of re-identification, by whom, and the limit; ``whole`` names all keys at length."""
    now = risk.before if risk.after is None else risk.after
    keys = in_words([one_line(key) for key in risk.keys]) if whole else keys_in_words(risk.keys)
    who = f"an intruder who knows {keys}{INTRUDERS[risk.intruder].words}"
    limit = "" if risk.threshold is None else f" (limit {chance(risk.threshold)})"
    if at_least(now.max_risk, 1) and not risk.is_flagged("exchange-beyond-the-keys"):  # whose figures are bounds
        records = counted(found_for_sure(risk), "record", "records")
        return f"{records} can be re-identified with certainty by {who}{limit}."
    highest = f"Highest probability that {who} identifies the right record: {chance(now.max_risk)}{limit}"
    return "; ".join([highest, *_who_finds_more(risk)]) + "."


def unit_headline(risk: RiskReport) -> list[str]:
    """What a headline adds for a file with units, such as households: the highest probabilities, and for whom."""
    units = risk.units
    if units is None:
        return []
    now, column = units.before if units.after is None else units.after, one_line(shorten(units.unit, NAME))
    said = f"At least one of the records with the same {column} is re-identified with a probability of up to"
    said += f" {chance(now.max_risk)} by an intruder who attacks each of them once"
    said += ", if they are matched independently" if below(now.max_risk, now.max_bound) else ""
    if now.worst_risk is not None and above(now.worst_risk, now.max_risk, scale=1):
        finds_most = INTRUDERS[risk.intruder].outdone(counts="released_counts" in risk.per_cell)
        said += f"; {chance(now.worst_risk)} for an intruder who {finds_most}"
    said += "; the limit applies to single records." if risk.threshold is not None else "."
    if not units.seen_share:
        return [said]
    seen = names_in_short(units.seen_by)
    return [said, Note("units-are-seen-together", seen=seen, chance=chance(units.known_together))]


def linked_headline(release: AnyRelease) -> list[str]:
    """What the headline adds for a release of people who are in earlier ones too."""
    words = "" if release.linked is None else release.linked.words
    return [f"{words[0].upper()}{words[1:]}."] if words else []


def _who_finds_more(risk: RiskReport) -> Iterator[str]:
    now = risk.before if risk.after is None else risk.after
    if above(now.max_risk_any_release, now.max_risk, scale=1):
        yield f"{chance(now.max_risk_any_release)} for an intruder who uses the most revealing released value"
    counts = now.max_risk_released_counts
    if counts is not None and above(counts, max(now.max_risk, now.max_risk_any_release), scale=1):
        yield f"{chance(counts)} for an intruder who also compares all released counts with the true ones"
    joined = risk.joined
    if joined is not None and above(joined.right_surest, risk.worst_by_counts, scale=1):
        yield Note("weighing-finds-more", chance=in_percent(joined.right_surest))
    if risk.not_computed == JOINT_TABLE:
        yield Note("no-figure-for-joint-table", what=joint_table_in_words(risk))
    elif risk.not_computed is not None:
        yield Note("no-figure-for-released-counts")


def joint_table_in_words(risk: RiskReport) -> str:
    """What an intruder uses beside the keys: randomized columns that are not among them, and units that are shown."""
    joint = risk.joint_table
    if joint is None:
        return ""
    columns = f"the released values of {keys_in_words(joint.columns)}" if joint.columns else ""
    unit = f"which records have the same {one_line(shorten(joint.unit, NAME))}" if joint.unit else ""
    return " and ".join(filter(None, [columns, unit]))


def weighing_in_words(risk: RiskReport, *, whole: bool = False) -> str:
    """What the simulated linkage attack on unchanged columns reaches; empty where it was not simulated."""
    joined = risk.joined
    if joined is None:
        return ""
    named = in_words([one_line(name) for name in joined.columns]) if whole else keys_in_words(joined.columns)
    most = joined.right_most_sure
    return Note(
        "weighing-was-simulated",
        most="" if most is None else f" ({in_percent(most)} of the hundredth)",
        named=named,
        right=in_percent(joined.right),
        surest=in_percent(joined.right_surest),
        error=in_percent(joined.error),
        tried=joined.tried,
        attack=joined.attack,
    )


ASSUMED = (
    "Assumes the intruder knows that the person is in the file, the transition matrices, the true counts and the errors"
    " of tables that the receipt states."
)
OF_UNITS = (
    "Assumes the intruder knows that the person is in the file, the transition matrices, the true counts of records and"
    " units, the errors of tables that the receipt states, and which records belong together, where the file shows it."
)


def assumptions(risk: RiskReport, release: AnyRelease | None = None) -> str:
    """What an intruder is taken to know besides the keys, and what is not counted; empty without a release."""
    after = risk.after
    if after is None:
        return ""
    known = OF_UNITS if risk.is_flagged("all-records-of-a-unit") else ASSUMED
    joint = risk.joint_table
    used = joint is not None and joint.one_look is not None
    also = Note("joint-table-is-used", what=joint_table_in_words(risk)) if used else ""
    assumed = " ".join(filter(None, [known, also, weighing_in_words(risk)]))
    if left := [] if release is None else _not_counted(release):
        assumed += f" Not counted: {'; '.join(left)}."
    if after.max_risk_released_counts is not None:
        return assumed
    if after.smallest is None:
        return f"{assumed} What comparing all released counts adds is known once the file is drawn."
    return assumed


def _not_counted(release: AnyRelease) -> list[str]:
    """What else a released file shows that may help to re-identify a record."""
    risk = release.risk
    accepted = risk is not None and risk.joint_table is not None and risk.joint_table.accepted
    columns = list[str]()
    if risk is not None and accepted:
        columns.append(Note("joint-table-is-accepted", what=joint_table_in_words(risk)))
    if risk is not None and risk.joint_table is not None and not risk.joint_table.every_look:
        columns.append(Note("coarser-looks-are-not-counted"))
    within = (name for stage in release.stages for name in stage.within)
    counted_with = {*release.plan.keys, *release.plan.randomized, *release.file.seen, *within}
    names = release.file.others or [column.name for column in release.columns]
    if (still := [name for name in names if name not in counted_with]) and release.joined is None:
        columns.append(f"how {keys_in_words(still)} may help to link records")
    unjudged = RECORD_ORDER in release.plan.accept
    return columns + ([Note("order-is-not-counted")] if not release.shuffled and unjudged else [])

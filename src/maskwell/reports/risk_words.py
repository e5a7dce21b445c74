"""The risk of a match in words: how many records are above a bound, and which combination is found most easily."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskwell.core.escaping import one_line
from maskwell.core.phrases import listed, shorten
from maskwell.engines.labelled_columns import Labels
from maskwell.release.folder.advice import in_words
from maskwell.release.released import Release
from maskwell.release.risk.file_risk import EXCHANGED, FINDS_MORE, NOT_COVERED, UNUSUAL, RiskReport
from maskwell.release.risk.summary import SLACK
from maskwell.reports.release_numbers import split_by
from maskwell.reports.release_words import INTRUDER_WORDS, shown
from maskwell.reports.state_names import label_of
from maskwell.reports.tables import broken, count, counted
from maskwell.reports.words import SPACE, percent

SURE = 1 - 1e-8
"""Chances from here on are certain but for rounding of floats."""

NAME, NAMES, LABEL = 24, 60, 24
"""Letters of one name of a column, of several, and of a label; what is longer is cut, numbers never are."""


def sentence(text: str) -> list[str]:
    """A sentence in lines that fit; a number stays with its unit."""
    return [line.replace(SPACE, " ") for line in broken(text)]


def names_in_short(columns: Sequence[str], width: int = NAMES) -> str:
    r"""Names of columns on one line, as many as fit.

    >>> names_in_short(["town", "job\nnow"]), names_in_short([f"column {i}" for i in range(20)], 34)
    ('town, job now', 'column 0, ... (20 in all)')
    """
    return listed((shorten(one_line(name), NAME) for name in columns), len(columns), width)


def is_sure(chance: float) -> bool:
    """Whether a chance of a match is one, but for rounding."""
    return chance > SURE


def found_for_sure(risk: RiskReport) -> int:
    """Records that are found with certainty: of the release where there is one."""
    return risk.count_above(SURE)


def headline(risk: RiskReport) -> str:
    """The worst chance that somebody is found, who finds them and what was allowed: what stands above everything.

    It speaks of the intruder of the report; where another one finds more, that is said in the same sentence.
    """
    now = risk.before if risk.after is None else risk.after
    who = f"someone who knows {keys_in_words(risk.keys)}{INTRUDER_WORDS[risk.intruder]}"
    limit = "" if risk.threshold is None else f" (limit {shown('match', risk.threshold)})"
    if is_sure(now.max_risk) and EXCHANGED not in risk.flags:  # whose figures are bounds
        records = counted(found_for_sure(risk), "record", "records")
        return f"{records} can be found with certainty by {who}{limit}."
    told = f"Highest chance that {who} finds the right record: {shown('match', now.max_risk)}{limit}"
    return "; ".join([told, *_who_finds_more(risk)]) + "."


def _who_finds_more(risk: RiskReport) -> Iterator[str]:
    now = risk.before if risk.after is None else risk.after
    if now.max_risk_any_release > now.max_risk + SLACK:
        yield f"{shown('match', now.max_risk_any_release)} for someone who looks where it is easiest"
    counts = now.max_risk_released_counts
    if counts is not None and counts > max(now.max_risk, now.max_risk_any_release) + SLACK:
        yield f"{shown('match', counts)} for someone who also compares all released counts with the true ones"


def assumptions(risk: RiskReport, release: Release | None = None) -> str:
    """What an intruder is taken to know besides the keys, and what is not counted; empty without a release."""
    after = risk.after
    if after is None:
        return ""
    told = "Assumed known: that the person is in the file, the matrices, and the true counts."
    if left := [] if release is None else _not_counted(release):
        told += f" Not counted: {'; '.join(left)}."
    if after.max_risk_released_counts is not None:
        return told
    if after.smallest is None:
        return f"{told} What comparing all released counts adds is known once the file is drawn."
    return f"{told} Not covered: someone who compares all released counts with the true ones."


def _not_counted(release: Release) -> list[str]:
    """What else a released file shows that may help to find a record."""
    others = [name for name in release.randomized if name not in release.plan.keys]
    found = [f"what {keys_in_words(others)}, randomized too, may tell of the keys"] if others else []
    return found + (["what the order of the records tells, which is kept"] if not release.shuffled else [])


def keys_in_words(keys: Sequence[str]) -> str:
    """The keys as a sentence has them, or as many as fit a line.

    >>> keys_in_words(["sex", "region", "age"])
    'sex, region and age'
    """
    said = in_words([one_line(key) for key in keys])
    return said if len(said) <= NAMES else names_in_short(keys)


def above_in_words(above: int, records: int, most: float, bound: float) -> str:
    r"""Records above a bound, as part of a sentence.

    >>> above_in_words(1, 30162, 1.0, 0.5).replace("\xa0", " ")
    '1 of 30,162 records keeps a chance of 100 %, the limit is 50 %'
    >>> above_in_words(7, 900, 0.8, 0.5).replace("\xa0", " ")
    '7 of 900 records keep a chance of up to 80 %, the limit is 50 %'
    """
    keep = "keeps a chance of" if above == 1 else "keep a chance of up to"
    of = f"{count(above)} of {counted(records, 'record', 'records')}"
    return f"{of} {keep} {shown('match', most)}, the limit is {shown('match', bound)}"


def easiest(risk: RiskReport, labels: Labels | None = None) -> str:
    """The combination whose records are found most easily, with how many they are and their chance."""
    table, cell = risk.table, int(risk.risk.argmax())
    label = dict(zip(table.columns, table.label(cell), strict=True))
    keys = [name for name in risk.keys if name in label]
    named = _named(keys, label, labels)
    others = split_by(risk)
    within = f", with {_named(others, label, labels)}" if others else ""
    records = counted(int(table.counts[cell]), "record", "records")
    return f"Found most easily: {named}{within} ({records}, {shown('match', float(risk.risk[cell]))})"


def _named(columns: Sequence[str], label: dict[str, object], labels: Labels | None) -> str:
    def parts() -> Iterator[str]:
        for name in columns:
            value = one_line(label_of(label[name], name, labels))
            yield f"{shorten(one_line(name), NAME)} = {shorten(value, LABEL)}"

    return ", ".join(parts())


def risk_notes(risk: RiskReport) -> list[str]:
    """What a reader should know of the risk; of k-anonymity only where that of a released file is shown."""
    counted_after = risk.after is not None and risk.after.smallest is not None
    said = {NOT_COVERED} if counted_after else {UNUSUAL}  # of who is not covered the first lines tell
    return [flag for flag in risk.flags if flag not in said and not flag.startswith(FINDS_MORE)]


def rise_in_words(risk: RiskReport) -> str:
    """Why a chance can rise: records with the same keys are randomized differently. Empty where they are not."""
    others = split_by(risk)
    if risk.after is None or not others:
        return ""
    told = (
        f"Records with the same keys are randomized differently, depending on {in_words(others)}. Whoever knows the"
        " keys sees them together: where others with the same keys leave more often than a person's own record, it is"
        " found more easily among those that stay"
    )
    more = risk.per_cell["after"] - risk.per_cell["before"]
    rises = int(risk.table.counts[more > SLACK].sum())
    if not rises:
        return f"{told}."
    by = f"by up to {percent(float(more.max()))} percentage points"
    return f"{told}: {counted(rises, 'record has', 'records have')} a greater chance than before, {by}."

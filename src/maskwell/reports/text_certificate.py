"""What came of checking a certificate, as text for a terminal."""

from __future__ import annotations

import shlex
import textwrap

from maskwell.privacy.verify import Verified
from maskwell.reports.tables import WIDTH, counted, facts, notes

NOT_PROVED = (
    "labels and provenance are as given, and nothing here shows that reports were really drawn by this design. Anyone "
    "can make a seal: who made the file is not proved."
)


def verified_text(found: Verified, path: str) -> list[str]:
    """The answer, every check, and what a certificate does not prove."""
    rows = [(check.name, ("holds: " if check.ok else "FAILS: ") + check.words) for check in found.checks]
    return [*textwrap.wrap(_answer(found, path), WIDTH), *facts(rows), *notes([NOT_PROVED]), _next(found, path)]


def _answer(found: Verified, path: str) -> str:
    if not found.ok:
        return f"{path} does not hold: {counted(len(found.failed), 'check fails', 'checks fail')}."
    words = {check.name: check.words for check in found.checks}
    if found.meets is None:
        return f"{path} holds: {words['parity']}."
    return f"{path} holds{'' if found.meets else ', and the demand is not met'}: {words['meets']}."


def _next(found: Verified, path: str) -> str:
    if found.ok:
        return f"Next: the same by a program of a page: python check_certificate.py {shlex.quote(path)}"
    return f"Next: get the file as it was made, or make it again: maskwell audit D --certificate {shlex.quote(path)}"

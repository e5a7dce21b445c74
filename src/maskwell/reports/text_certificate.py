"""What came of checking a certificate, as text for a terminal."""

from __future__ import annotations

import shlex
import textwrap

from maskwell.privacy.certificate_check import Verified
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
    if [check.name for check in found.failed] == ["the same"]:
        return f"{path} is a certificate of another design: {found.failed[0].words}."
    if not found.ok:
        return f"{path} does not hold: {counted(len(found.failed), 'check fails', 'checks fail')}."
    words = {check.name: check.words for check in found.checks}
    if found.meets is None:
        return f"{path} holds: {words['parity']}."
    given = ", which is as given" if "as given" in words["demand"] else ""
    return f"{path} holds{'' if found.meets else ', and the demand is not met'}: {words['meets']}{given}."


def _next(found: Verified, path: str) -> str:
    if [check.name for check in found.failed] == ["the same"]:
        return "Next: give the design that the certificate is about, or certify the one you have"
    if not found.ok:
        return f"Next: get the file as it was made, or make it: maskwell audit D --certificate {shlex.quote(path)}"
    if any(check.name == "demand" and "curves" in check.words for check in found.checks):
        return "Next: hand it out with the design (the short checker of the documentation knows no curves)"
    return "Next: the same without maskwell: check_certificate.py, in the documentation under certificate"

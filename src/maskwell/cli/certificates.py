"""``--certificate C.json``: checked before any work, written whole or not at all."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.designs.base import Design
    from maskwell.privacy.average import AverageSecurity
    from maskwell.privacy.criteria import Demand
    from maskwell.reports.report import Report


def check_certificate(path: str | None, *, force: bool, inputs: Sequence[str] = ()) -> None:
    """Raise unless a certificate may be written there, if one was asked for."""
    if path is None:
        return
    from maskwell.core.atomic import check_output

    if path == "-":
        raise ParameterError("--certificate - would mix the proof with the report", hint="give the name of a file")
    check_output(path, force=force, inputs=inputs)


def certificate_content(path: str | None, design: Design, demand: Demand | AverageSecurity | None) -> bytes | None:
    """The proof as the file will hold it, if one was asked for; made before anything is written."""
    if path is None:
        return None
    from maskwell.privacy.average import AverageSecurity
    from maskwell.privacy.certificate import certify

    if isinstance(demand, AverageSecurity):
        raise ParameterError(
            "--certificate with --average-security, which bounds no parity",
            hint="ask for a bound on parity, such as --epsilon 1, or leave the demand out",
        )
    return certify(design, demand).text().encode()


def with_certificate(report: Report, path: str | None) -> Report:
    """What a command says, with how to check the proof.

    >>> from maskwell.reports.report import Report
    >>> list(with_certificate(Report("Parity 3.", next_step="more"), "proof.json"))
    ['Parity 3.', 'The proof is in proof.json; to check it: maskwell verify proof.json', 'Next: more']
    """
    if path is None:
        return report
    return report.with_line(f"The proof is in {path}; to check it: maskwell verify {shlex.quote(path)}")

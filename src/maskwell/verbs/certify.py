"""Certificates: making one for a design, and checking one, or the files of a release."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Unpack

from maskwell.designs.wire import read_design
from maskwell.errors import ParameterError
from maskwell.microdata.folder.receipt import is_folder
from maskwell.microdata.folder.release_check import verify_release
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.privacy.certificate import Certificate
from maskwell.privacy.certificate import certify as certify_design
from maskwell.privacy.certificate_check import Verified, verify_certificate, verify_file
from maskwell.privacy.criteria import Demand
from maskwell.privacy.provable_claims import Improves
from maskwell.verbs.inputs import DemandWords, DesignOrPath, read_demand


def certify(
    design: DesignOrPath,
    demand: Demand | None = None,
    *,
    improvement: Improves | None = None,
    **words: Unpack[DemandWords],
) -> Certificate:
    """Prove what a design promises: exact parity, the demand's bound, admissibility, and an improvement if it is one.

    The design may be the path of its file; the demand may be stated as a keyword, such as ``epsilon=1``.

    >>> from maskwell.verbs.design import design
    >>> verify(certify(design("warner", p="0.7"), rho=("0.1", "0.5"))).ok
    True
    """
    return certify_design(read_design(design), read_demand(demand, words), improvement=improvement)


def verify(
    certificate: Certificate | str | Path | Any,
    *,
    design: DesignOrPath | None = None,
    source: str | Path | None = None,
    plan: ReleasePlan | str | Path | None = None,
    sha256: str | None = None,
    ledger: str | Path | None = None,
    earlier: str | Path | None = None,
) -> Verified:
    """Work out anew all that a certificate claims, or check that the files of a release are those that were signed.

    Parameters
    ----------
    certificate
        The path of its file, the certificate, or what its file holds, read as JSON; or the folder of a release, or the
        public part of one.
    design
        The design that the certificate should be about, or its file, if that is to be checked too.
    source, plan
        The true file of the release and its plan, if they are to be checked too.
    sha256
        The hash that was signed, of the list of the files of a release.
    ledger
        The ledger of the data set, if a release is to be looked up in it.
    earlier
        The folder of an earlier release, to report what changed since.
    """
    if isinstance(certificate, str | os.PathLike) and is_folder(certificate):
        _check_none("a release", design=design)
        return verify_release(
            os.fspath(certificate), source=source, plan=plan, sha256=sha256, ledger=ledger, earlier=earlier
        )
    _check_none("a certificate", source=source, plan=plan, sha256=sha256, ledger=ledger, earlier=earlier)
    about = None if design is None else read_design(design)
    if isinstance(certificate, str | os.PathLike):
        return verify_file(Path(certificate) if not isinstance(certificate, str) else certificate, design=about)
    content = certificate.to_dict() if isinstance(certificate, Certificate) else certificate
    return verify_certificate(content, design=about)


def _check_none(what: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise ParameterError("with-which-is-checked-without-it", name=name, what=what)

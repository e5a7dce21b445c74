"""``maskwell audit``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from maskwell.cli import options as opt
from maskwell.cli.output import ANSWER_IS_NO, OK, print_json, print_lines
from maskwell.cli.verify_command import with_certificate
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.designs.design import Design
    from maskwell.privacy.criteria import Demand
    from maskwell.privacy.design_audit import AverageSecurity
    from maskwell.reports.pictures.canvas import Picture

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "GOTO_NUM_THREADS")


class Asked:
    """The options of the command."""

    design: str = opt.argument(metavar="D", type=opt.FilePath())
    demand: dict[str, Any] = opt.demand_options()
    average_security: str | None = opt.option(metavar="PHI")
    prior: str | None = opt.option(metavar="A,B,...")
    sensitive: str | None = opt.option(metavar="A,B,...")
    explain: bool = opt.option(is_flag=True)
    certificate: str | None = opt.option(type=opt.FilePath(), metavar="C.json")
    plot: str | None = opt.shared(opt.plot_option("what a report reveals, against the demand if there is one"))
    force: bool = opt.shared(opt.force_option)
    as_json: bool = opt.shared(opt.json_option)


@opt.command(Asked)
def audit(asked: Asked) -> int:
    """Report what the design in the file D promises, from its exact numbers.

    With a privacy requirement, the exit status is 1 when the design does not meet it.
    """
    if "numpy" not in sys.modules and not any(name in os.environ for name in THREADS):
        os.environ[THREADS[0]] = "1"  # of linear algebra: several wait for each other
    from maskwell.core.atomic import check_output, write_files
    from maskwell.privacy.certificate import certify
    from maskwell.privacy.design_audit import AverageSecurity
    from maskwell.reports.demand_words import explain
    from maskwell.reports.report import Paragraph, Report
    from maskwell.reports.text.privacy_report import audit_report
    from maskwell.verbs.audit import audit as audit_design
    from maskwell.verbs.audit import audited_demand

    inputs, certificate = [asked.design, asked.demand["curves"] or "-"], asked.certificate
    opt.check_plot(asked.plot, force=asked.force, inputs=inputs)
    if certificate == "-":
        raise ParameterError("certificate-would-mix-the-proof")
    if certificate is not None:
        check_output(certificate, force=asked.force, inputs=[*inputs, asked.plot or "-"])
    loaded = opt.load_design(asked.design)
    demand = audited_demand(None, asked.average_security, asked.demand)
    shares = None if asked.prior is None else opt.read_shares(asked.prior, "--prior", loaded)
    codes = [] if asked.sensitive is None else opt.read_codes(asked.sensitive, "--sensitive", loaded)
    audited = audit_design(loaded, demand, shares, sensitive=[loaded.inputs.labels[code] for code in codes])
    picture = opt.plot_content(asked.plot, lambda: _picture(loaded, demand, asked.design))
    proof = None
    if certificate is not None:
        if isinstance(demand, AverageSecurity):
            raise ParameterError("certificate-with-average-security-which-bounds")
        proof = certify(loaded, demand).text().encode()
    written = write_files({"certificate": (certificate, proof), **picture}, force=asked.force, inputs=inputs)
    if asked.as_json:
        told = [one.replace("\u00a0", " ") for one in explain(loaded, demand)]  # a page has unbreakable spaces
        print_json(audited.to_dict() | {"explanation": told} | written)
    elif asked.explain:
        sentences = [Paragraph(one, hang="", keeps_units=True) for one in explain(loaded, demand)]
        print_lines(opt.with_plot(Report(sentences), written))
    else:
        report = audit_report(audited.to_dict(), loaded, asked.design, opt.typed_demand(asked.demand))
        print_lines(with_certificate(opt.with_plot(report, written), certificate))
    return ANSWER_IS_NO if audited.meets is False else OK


def _picture(design: Design, demand: Demand | AverageSecurity | None, path: str) -> Picture:
    """What a report reveals; security on average draws no region."""
    from pathlib import Path

    from maskwell.privacy.criteria import Demand, stands_for
    from maskwell.reports.pictures.revelation import plot_revealed

    stated = demand if isinstance(demand, Demand) else None
    return plot_revealed(stands_for(design), demand=stated, name=Path(path).name, decimals=design.decimals)

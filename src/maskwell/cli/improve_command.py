"""``maskwell improve``."""

from __future__ import annotations

from typing import Any

import click

from maskwell.cli import options as opt
from maskwell.cli.output import ANSWER_IS_NO, OK, print_json, print_lines
from maskwell.cli.verify_command import with_certificate
from maskwell.errors import ParameterError


class Asked:
    """The options of the command."""

    design: str = opt.argument(metavar="D", type=opt.FilePath())
    demand: dict[str, Any] = opt.demand_options()
    sensitive: str | None = opt.option(metavar="LABEL")
    split: str | None = opt.option(type=click.Choice(["layers", "lemmas"]))
    exactly: bool = opt.option(is_flag=True)
    allow_identity: bool = opt.option(is_flag=True)
    output: str | None = opt.option("-o", "--output", type=opt.FilePath(), metavar="D2.json")
    certificate: str | None = opt.option(type=opt.FilePath(), metavar="C.json")
    force: bool = opt.option(is_flag=True)
    as_json: bool = opt.shared(opt.json_option)


@opt.command(Asked)
def improve(asked: Asked) -> int:
    """Find a more informative design at the privacy level of the design in the file D.

    Without a privacy requirement, the better design has the same parity. With one, which D must meet, it uses all that
    is allowed. A second draw turns reports of the better design into reports of D, so no information is lost. If
    nothing can be gained, D2.json holds the unchanged design, and the exit status is 0.

    With --sensitive only one category is protected, as in a survey where no one objects to being cleared. The exit
    status is 1 if no better design of that kind is known.
    """
    from maskwell.core.atomic import check_outputs, write_files
    from maskwell.designs.wire import dumps
    from maskwell.planning.improvement import Improvement
    from maskwell.reports.text.order_report import improved_report, one_sided_report
    from maskwell.verbs.improve import improve as improve_design
    from maskwell.verbs.inputs import read_demand

    path, output, certificate = asked.design, asked.output, asked.certificate
    if asked.as_json and "-" in (output, certificate):
        raise ParameterError("json-and-both-need-standard-output")
    if output is not None and output == certificate:
        raise ParameterError("design-and-certificate-would-both", output=output)
    check_outputs([one for one in (output, certificate) if one is not None], force=asked.force, inputs=[path])
    loaded, demand = opt.load_design(path), read_demand(None, asked.demand)
    codes = None if asked.sensitive is None else opt.read_codes(asked.sensitive, "--sensitive", loaded)
    if codes is not None and len(codes) > 1:
        raise ParameterError("sensitive-names-categories", sensitive=asked.sensitive, codes_count=len(codes))
    label = None if codes is None else loaded.inputs.labels[codes[0]]
    how = {name: getattr(asked, name) for name in ("split", "exactly", "allow_identity")}
    replacement = improve_design(loaded, demand, sensitive=label, name=path, **how)
    applies = getattr(replacement, "applies", True)
    better = None if output is None else dumps(replacement.design).encode()
    proved = None if certificate is None or not applies else replacement.certificate(demand).text().encode()
    contents = {"output": (output, better), "certificate": (certificate, proved)} if applies else {}
    written = write_files(contents, force=asked.force, inputs=[path])
    if asked.as_json:
        print_json({**replacement.to_dict(), **written})
    else:
        saved_as = written.get("output") if output != "-" else None
        if isinstance(replacement, Improvement):
            report = improved_report(replacement, path, saved_as)
        else:
            report = one_sided_report(replacement, path, saved_as)
        proof = None if certificate == "-" else written.get("certificate")
        print_lines(with_certificate(report, proof), err="-" in written.values())
    return OK if applies else ANSWER_IS_NO

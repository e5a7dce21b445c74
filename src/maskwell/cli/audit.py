"""``maskwell audit``."""

from __future__ import annotations

from typing import Any

import click

from maskwell.cli.options import (
    FilePath,
    demand_options,
    example,
    given_demand,
    json_option,
    load_design,
    split_list,
    typed_demand,
)
from maskwell.cli.output import ANSWER_IS_NO, OK, print_json, print_lines


@click.command(
    epilog=example("maskwell design warner --p 0.7 -o warner.json", "maskwell audit warner.json --epsilon 1")
)
@click.argument("design", metavar="D", type=FilePath())
@demand_options
@click.option(
    "--prior", metavar="A,B,...", help="Shares of the categories that an attacker believes in; equal by default."
)
@json_option
def audit(design: str, prior: str | None, *, as_json: bool, **demand: Any) -> int:
    """Say what the design in the file D promises, from its exact numbers.

    With a demand, the exit status is 1 when the design does not meet it.
    """
    import numpy as np

    from maskwell.core.exact import as_fraction
    from maskwell.privacy.audit import audit as audit_design
    from maskwell.reports.text import audit_text

    loaded = load_design(design)
    shares = None if prior is None else np.array([float(as_fraction(p, "prior")) for p in split_list(prior)])
    found = audit_design(loaded, given_demand(demand), shares)
    content = found.to_dict()
    if as_json:
        print_json(content)
    else:
        print_lines(audit_text(content, loaded, design, typed_demand(demand)))
    return ANSWER_IS_NO if found.meets is False else OK

"""The command line, one file a command: parse, call the verb, print its report. All commands, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click


def _design() -> click.Command:
    from maskwell.cli.design_command import design

    return design


def _audit() -> click.Command:
    from maskwell.cli.audit_command import audit

    return audit


def _convert() -> click.Command:
    from maskwell.cli.convert_command import convert

    return convert


def _compare() -> click.Command:
    from maskwell.cli.compare_command import compare

    return compare


def _plan() -> click.Command:
    from maskwell.cli.plan_command import plan

    return plan


def _improve() -> click.Command:
    from maskwell.cli.improve_command import improve

    return improve


def _verify() -> click.Command:
    from maskwell.cli.verify_command import verify

    return verify


def _device() -> click.Command:
    from maskwell.cli.device_command import device

    return device


def _randomize() -> click.Command:
    from maskwell.cli.randomize_command import randomize

    return randomize


def _estimate() -> click.Command:
    from maskwell.cli.estimate_command import estimate

    return estimate


def _regress() -> click.Command:
    from maskwell.cli.regress_command import regress

    return regress


def _mine() -> click.Command:
    from maskwell.cli.mine_command import mine

    return mine


def _release() -> click.Command:
    from maskwell.cli.release_command import release

    return release


def _risk() -> click.Command:
    from maskwell.cli.risk_command import risk

    return risk


def _serve() -> click.Command:
    from maskwell.cli.serve_command import serve

    return serve


def _survey() -> click.Command:
    from maskwell.cli.survey_command import survey

    return survey


def _demo() -> click.Command:
    from maskwell.cli.demo_command import demo

    return demo


def _completion() -> click.Command:
    from maskwell.cli.completion import completion

    return completion


COMMANDS = {
    "design": (_design, "Make a design file, from a device or from a privacy demand."),
    "audit": (_audit, "Say what a design promises, and whether it meets a demand."),
    "convert": (_convert, "Put one privacy demand in every language."),
    "compare": (_compare, "Compare two designs fairly, with a proof."),
    "plan": (_plan, "Choose a design for a demand, and how many respondents it needs."),
    "improve": (_improve, "Find a design as private as a given one that tells more."),
    "verify": (_verify, "Check a certificate: everything that it claims of a design."),
    "device": (_device, "Print cards, dice tables or spinners that carry out a design."),
    "randomize": (_randomize, "Randomize columns of a file of any size."),
    "estimate": (_estimate, "Estimate true shares and tables from reports."),
    "regress": (_regress, "Regression where the outcome or a predictor was randomized."),
    "mine": (_mine, "Find frequent itemsets and rules in randomized baskets."),
    "release": (_release, "Post-randomize a microdata file: plan, assess, apply, document."),
    "risk": (_risk, "Say how easily records of a file are found, before and after a release."),
    "serve": (_serve, "Run the collection service: answers are randomized in the browser."),
    "survey": (_survey, "Make, open, close and export surveys of the service."),
    "demo": (_demo, "The whole story on made-up data, in a few seconds."),
    "completion": (_completion, "Print the script for completion in a shell."),
}
"""Every command: what imports it, and its line in the help."""

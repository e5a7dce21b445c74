"""The command line, one file a command: parse, call the verb, print its report. All commands, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

COMMANDS = {
    "design": "Make a design file, from a device or from a privacy demand.",
    "audit": "Say what a design promises, and whether it meets a demand.",
    "convert": "Put one privacy demand in every language.",
    "compare": "Compare two designs fairly, with a proof.",
    "choose": "Choose a design for a demand, and how many respondents it needs.",
    "sample-size": "Respondents, power and allocation for designs that are chosen.",
    "improve": "Find a design as private as a given one that tells more.",
    "verify": "Check a certificate: everything that it claims of a design.",
    "device": "Print cards, dice tables or spinners that carry out a design.",
    "randomize": "Randomize columns of a file of any size.",
    "tally": "Count the reports in columns of a file.",
    "estimate": "Estimate true shares and tables from reports.",
    "tabulate": "Estimate the table of several columns.",
    "regress": "Regression where the outcome or a predictor was randomized.",
    "mine": "Find frequent itemsets and rules in randomized baskets.",
    "release": "Post-randomize a microdata file: plan, assess, apply, document.",
    "risk": "Say how easily records of a file are found, before and after a release.",
    "serve": "Run the collection service: answers are randomized in the browser.",
    "survey": "Make, open, close and export surveys of the service.",
    "demo": "The whole story on made-up data, in a few seconds.",
    "completion": "Print the script for completion in a shell.",
}
"""Every command, imported when it is called from the file of its name, and its line in the help."""

if TYPE_CHECKING:
    from maskwell.cli.audit_command import audit as audit
    from maskwell.cli.choose_command import choose as choose
    from maskwell.cli.compare_command import compare as compare
    from maskwell.cli.completion_command import completion as completion
    from maskwell.cli.convert_command import convert as convert
    from maskwell.cli.demo_command import demo as demo
    from maskwell.cli.design_command import design as design
    from maskwell.cli.device_command import device as device
    from maskwell.cli.estimate_command import estimate as estimate
    from maskwell.cli.improve_command import improve as improve
    from maskwell.cli.mine_command import mine as mine
    from maskwell.cli.randomize_command import randomize as randomize
    from maskwell.cli.regress_command import regress as regress
    from maskwell.cli.release_command import release as release
    from maskwell.cli.risk_command import risk as risk
    from maskwell.cli.sample_size_command import sample_size as sample_size
    from maskwell.cli.serve_command import serve as serve
    from maskwell.cli.survey_command import survey as survey
    from maskwell.cli.tabulate_command import tabulate as tabulate
    from maskwell.cli.tally_command import tally as tally
    from maskwell.cli.verify_command import verify as verify
else:
    import lazy_loader

    __getattr__, __dir__, _ = lazy_loader.attach(
        __name__, submod_attrs={f"{name}_command": [name] for name in (c.replace("-", "_") for c in COMMANDS)}
    )

"""The command line, one file a command: parse, call the verb, print its report. All commands, by name."""

from __future__ import annotations

import lazy_loader

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
    "doctor": "Show what this installation can do: kernels, extras, versions.",
    "completion": "Print the script for completion in a shell.",
}
"""Every command, imported when it is called from the file of its name, and its line in the help."""

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__, submod_attrs={f"{name}_command": [name] for name in (c.replace("-", "_") for c in COMMANDS)}
)

"""The command line, one file a command: parse, call the verb, print its report. All commands, by name."""

from __future__ import annotations

import lazy_loader

COMMANDS = {
    "design": "Make a design file from a device or a privacy requirement.",
    "audit": "Report what a design promises, and whether it meets a privacy requirement.",
    "convert": "Convert a privacy requirement between epsilon, gamma, beta, Bayes factor and rho.",
    "compare": "Compare two designs fairly, with a proof.",
    "choose": "Choose a design and a sample size for a privacy requirement.",
    "sample-size": "Compute sample size, power or allocation for given designs.",
    "improve": "Find a more informative design at the same privacy level.",
    "verify": "Check every claim of a certificate, or the files of a release.",
    "device": "Print cards, dice tables or spinners that realise a design.",
    "randomize": "Randomize columns of a file of any size.",
    "tally": "Count the reports in columns of a file.",
    "estimate": "Estimate true shares and tables from reports.",
    "tabulate": "Estimate the table of several columns.",
    "regress": "Fit regressions with a randomized outcome or predictor.",
    "mine": "Find frequent itemsets and rules in randomized baskets.",
    "release": "Post-randomize a microdata file: plan, assess, apply, document.",
    "risk": "Measure re-identification risk before and after a release.",
    "serve": "Run the collection service: answers are randomized in the browser.",
    "survey": "Make, open, close and export surveys of the service.",
    "demo": "Show all steps on synthetic data, in a few seconds.",
    "doctor": "Show what this installation can do: kernels, extras, versions.",
    "completion": "Print a shell completion script.",
}
"""Every command, imported when it is called from the file of its name, and its line in the help."""

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__, submod_attrs={f"{name}_command": [name] for name in (c.replace("-", "_") for c in COMMANDS)}
)

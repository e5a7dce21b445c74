"""Designs that tests of estimates share, and estimates from counts."""

from typing import Any

from maskwell import Design
from maskwell import design as make_design
from maskwell.designs import Dense
from maskwell.estimation import Estimate, Sample, estimate_by_moments
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood

WARNER = make_design("warner", p="0.7")
FORCED = make_design("forced", truth="3/4", yes="1/6", no="1/12")
KUK = make_design("kuk", theta1="0.7", theta2="0.2", draws=3)
JAR = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])


def estimate_of(counts: Any, design: Design, **how: Any) -> Estimate:
    """By moments."""
    return estimate_by_moments(Sample.of(counts, design).counts, design, **how)


def likeliest(counts: Any, design: Design) -> Estimate:
    """By maximum likelihood."""
    return estimate_by_likelihood(Sample.of(counts, design).counts, design)

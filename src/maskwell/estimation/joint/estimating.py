"""The estimate of a sample by the method of that name."""

from __future__ import annotations

from maskwell.errors import ParameterError
from maskwell.estimation.moments import estimate_by_moments
from maskwell.estimation.result import Estimate
from maskwell.estimation.samples import Sample

METHODS = ("moments", "ml")


def estimate_by(method: str, sample: Sample) -> Estimate:
    """By moments, or by maximum likelihood.

    >>> from maskwell.designs.dense import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    >>> estimate_by("moments", Sample.of([120, 180], warner)).pi_hat.round(4).tolist()
    [0.25, 0.75]
    """
    if method == "moments":
        return estimate_by_moments(sample.counts, sample.design)
    if method == "ml":
        from maskwell.estimation.likelihood import estimate_by_likelihood

        return estimate_by_likelihood(sample.counts, sample.design)
    raise ParameterError(f"method = {method!r}", hint=f"method is one of {', '.join(METHODS)}", method=method)

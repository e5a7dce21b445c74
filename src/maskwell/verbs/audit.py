"""Auditing a design: what it promises, against a demand if there is one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Unpack

from maskwell.core.arguments import Real
from maskwell.core.exact import Number
from maskwell.designs.wire import read_design
from maskwell.errors import ParameterError
from maskwell.privacy.criteria import Demand
from maskwell.privacy.design_audit import Audit, AverageSecurity
from maskwell.privacy.design_audit import audit as audit_design
from maskwell.verbs.inputs import DemandWords, DesignOrPath, read_demand


def audit(
    design: DesignOrPath,
    demand: Demand | AverageSecurity | None = None,
    prior: Real | None = None,
    *,
    sensitive: Iterable[Hashable] = (),
    average_security: Number | None = None,
    **words: Unpack[DemandWords],
) -> Audit:
    """What a design promises, from its exact numbers.

    Parameters
    ----------
    design
        The design, or the path of its file.
    demand
        What it should meet; or, as a keyword, ``gamma``, ``epsilon``, ``beta``, ``bayes_factor``, ``rho`` (two numbers)
        or ``curves`` (the path of a table).
    prior
        Shares of the categories that an attacker believes in; equal by default.
    sensitive
        Categories for which to show how far a report can speak for them: by their labels, or by their codes where no
        label is a whole number.
    average_security
        Security on average only, from 1 to 2; not recommended.

    >>> from maskwell.verbs.design import design
    >>> audit(design("warner", p="0.7"), epsilon=1).meets   # a parity of 7/3 is below e
    True
    """
    return audit_design(
        read_design(design), audited_demand(demand, average_security, words), prior, sensitive=sensitive
    )


def audited_demand(
    demand: Demand | AverageSecurity | None, average_security: Number | None, words: Mapping[str, Any]
) -> Demand | AverageSecurity | None:
    """The one demand that was stated, if any; security on average is one."""
    on_average = isinstance(demand, AverageSecurity)
    stated = read_demand(None if on_average else demand, words)  # type: ignore[arg-type]
    if average_security is not None and stated is not None:
        raise ParameterError(
            "and-average-security-are-two-demands", text=stated.text, average_security=average_security
        )
    if average_security is not None:
        return AverageSecurity.of(average_security)
    return demand if on_average else stated

"""``tabulate``: the table of several columns, randomized or asked directly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.verbs.described_survey import Survey
from maskwell.verbs.inputs import Designs


def tabulate(
    data: Any,
    designs: Designs,
    sampling: Sampling | None = None,
    *,
    where: str | Mapping[str, Any] | None = None,
    method: str = "moments",
    missing: str | None = None,
) -> Table:
    """Estimate the shares of all combinations of columns: with margins, odds ratios and tests of independence.

    Parameters
    ----------
    data, designs, sampling, where, method, missing
        As in :func:`estimate`; ``designs`` name two columns or more, with None for one that was asked directly.

    >>> import maskwell as mw
    >>> warner = mw.design("warner", p="0.8")
    >>> people = {"cheats": ["yes", "yes", "no", "no", "no", "no"], "sex": ["m", "m", "m", "f", "f", "f"]}
    >>> tabulate(people, {"cheats": warner, "sex": None}).margin("sex").pi_hat.round(2).tolist()
    [0.5, 0.5]
    """
    survey = Survey(data, designs, Sampling() if sampling is None else sampling, missing=missing)
    return survey.table(where=where, method=method)

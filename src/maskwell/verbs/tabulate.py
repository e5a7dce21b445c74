"""``tabulate``: the table of several columns, randomized or asked directly."""

from __future__ import annotations

from typing import Any

from maskwell.errors import ParameterError
from maskwell.estimation.joint.joint_table import Table
from maskwell.verbs.estimate import estimate
from maskwell.verbs.inputs import Designs, Names
from maskwell.verbs.share_results import EstimateResult


def tabulate(data: Any, designs: Designs, *, direct: Names = None, **options: Any) -> Table:
    """Estimate the shares of all combinations of several columns.

    Parameters
    ----------
    data, designs, direct
        As in :func:`estimate`; together they name two columns or more.
    **options
        Of :func:`estimate`: method, counts, missing, missing_codes and how the rows were sampled.

    Returns
    -------
    Table
        With margins, conditional shares, odds ratios and tests of independence.

    >>> import maskwell as mw
    >>> warner = mw.make_design("warner", p="0.8")
    >>> people = {"cheats": ["yes", "yes", "no", "no", "no", "no"], "sex": ["m", "m", "m", "f", "f", "f"]}
    >>> tabulate(people, {"cheats": warner}, direct="sex").margin("sex").pi_hat.round(2).tolist()
    [0.5, 0.5]
    """
    result = estimate(data, designs, direct=direct, **options)
    table = result.table if isinstance(result, EstimateResult) else None
    if table is None:
        raise ParameterError(
            "a table of one variable",
            hint="name a design for each of two columns or more, or name columns that were asked directly",
        )
    return table

"""Which design to take, and why in words.

Subset selection of the minimax size adds least variance. The gamma-diagonal design is preferred when it needs at most
5 % more respondents for the same error, because its report is one category, which is short to send and simple to
explain. Designs that depend on assumed shares, and designs that are not admissible, are never recommended.

Source: [NayakZhai2019, section 3.2] for the minimax design, [ChaiNayak2018, Theorem 4.4 and Proposition 4.1] for the
gamma-diagonal one; the rule of 5 % is ours.
"""

from __future__ import annotations

from collections.abc import Iterable

from maskwell.core.phrases import Printed
from maskwell.planning.choice import Option

SIMPLER = 0.05
"""How many more respondents, as a share, the simpler design may need and still be preferred."""


def recommend(options: Iterable[Option], sampling: float) -> tuple[Option, str]:
    """The simpler design if it costs little, else the one that adds least variance."""
    by_name = {option.name: option for option in options}
    diagonal, subset = by_name["k-ary"], by_name.get("subset")
    least = "adds the least variance in the worst case of all designs of this parity"
    if subset is None:
        two = "; of two categories, no design of this parity tells more" if diagonal.design.k == 2 else ""
        return diagonal, f"the gamma-diagonal design {least}, and a report is one category{two}"
    assert diagonal.added_variance is not None and subset.added_variance is not None
    more = (diagonal.added_variance + sampling) / (subset.added_variance + sampling) - 1
    if more <= SIMPLER:
        return diagonal, (
            f"the gamma-diagonal design needs {_more(more)} respondents than {subset.label}, which "
            f"adds the least variance in the worst case; up to {_more(SIMPLER)} it is preferred, because a report is "
            "one category"
        )
    return subset, (
        f"{subset.label} {least}; the gamma-diagonal design, whose report is one category, would need "
        f"{_more(more)} respondents (up to {_more(SIMPLER)} it would be preferred)"
    )


def _more(share: float) -> str:
    """How many more, in percent, or as a multiple when it is much.

    >>> _more(0.05), _more(0.3417), _more(12.3)
    ('5 % more', '34 % more', '13.3 times as many')
    """
    times = f"{Printed(1 + share):.3g}" if share < 999 else f"{Printed(1 + share):,.0f}"
    return f"{Printed(100 * share):.2g} % more" if share < 1 else f"{times} times as many"

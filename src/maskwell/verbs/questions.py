"""Question: what is asked of a survey. Its answer, the shares, keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwell.core.arguments import check_kind, check_option
from maskwell.core.exact import check_probability
from maskwell.estimation.asked_quantities import Asked, asked_of
from maskwell.estimation.sampling.row_conditions import RowConditions
from maskwell.estimation.share_intervals import with_seed
from maskwell.verbs.inputs import Names, check_progress, columns_of, names_of

if TYPE_CHECKING:
    from maskwell.engines.row_sources import Progress


@dataclass(frozen=True)
class Question:
    """The arguments of :meth:`maskwell.Survey.shares`, and quantities by name.

    No columns means all that are described; ``asked`` are combined categories, contrasts and ratios.
    """

    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    where: RowConditions | None = None
    method: str = "moments"
    level: float = 0.95
    interval: str | None = None
    given: str | None = None
    target: str = "population"
    progress: Progress | None = None
    asked: tuple[Asked, ...] = ()

    @classmethod
    def of(
        cls,
        columns: Sequence[str] = (),
        *,
        by: Names = None,
        where: str | Mapping[str, Any] | None = None,
        level: Any = 0.95,
        interval: str | None = None,
        seed: int | None = None,
        **how: Any,
    ) -> Question:
        """After a look whether all of it can be asked."""
        confidence = float(check_probability(level, "level", open_=True))
        check_progress(how.get("progress"))
        check_option("method", how.get("method", "moments"), ("moments", "ml"))
        check_option("target", how.get("target", "population"), ("population", "file"))
        check_kind(str | None, interval=interval)
        method = with_seed(interval, seed)
        names = tuple(columns_of(list(columns)))
        conditions = None if where is None else RowConditions.of(where)
        return cls(names, names_of(by, "by"), conditions, level=confidence, interval=method, **how)


def quantities(**quantities: Any) -> tuple[Asked, ...]:
    """Combined categories, contrasts and ratios as they are typed or given, in this order.

    >>> [one.name for one in quantities(combine="any=once+often", contrast=None)]
    ['any']
    """
    return tuple(one for what, content in quantities.items() if content is not None for one in asked_of(what, content))

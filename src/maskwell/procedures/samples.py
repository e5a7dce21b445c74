"""What devices share that need more than one sample, or that tell more of a person than the sensitive answer.

Such a design is an ordinary one, over all that decides the report: pairs of truths, or kinds of respondents. Alone it
may not be identifiable; together with a second sample of another design over the same truths it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

from maskwell.core.categories import Categories
from maskwell.designs.dense import Dense
from maskwell.errors import NotIdentifiableError
from maskwell.procedures.device import NO_PROTECTION, YES_NO, named

ONE_SOURCE = "some reports can only come from one category"
UNRELATED = "unrelated answer"


def with_unrelated(own: Categories = YES_NO) -> Categories:
    """Pairs of an own and an unrelated answer, the own one slowest.

    >>> with_unrelated().labels
    (('yes', 'yes'), ('yes', 'no'), ('no', 'yes'), ('no', 'no'))
    """
    return Categories.of(product(own.labels, YES_NO.labels))


def yes_or_no(chances: Sequence[Fraction], truths: Categories) -> Dense:
    """The design of a yes-or-no answer.

        P[yes, j] = chances[j],   P[no, j] = 1 - chances[j]

    where ``chances``, shape (k,), are those of a yes for each of the k ``truths``. Source: derived, by definition.

    >>> yes_or_no([Fraction(1), Fraction(1, 3)], YES_NO).matrix()[1].round(3).tolist()   # two in three say no
    [0.0, 0.667]
    """
    return Dense.of([list(chances), [1 - chance for chance in chances]], truths, YES_NO)


def one_of_several(
    design: Dense,
    *,
    family: str,
    parameters: Mapping[str, object],
    needs: str,
    samples: str,
    allow_unidentifiable: bool = False,
    **notes: object,
) -> Dense:
    """The design of one sample among several, after the check that it tells anything at all.

    ``samples`` says in one sentence what must come together before shares can be estimated; it is kept in the
    provenance unless this design alone will do. ``needs`` says which parameters would tell something.
    """
    if design.rank() < 2 and not allow_unidentifiable:
        raise NotIdentifiableError(
            f"{family}: every truth gives the same reports, so such a sample tells nothing",
            hint=f"give {needs}",
            parameters=dict(parameters),
        )
    return named(
        design,
        family=family,
        parameters=parameters,
        needs="",
        allow_unidentifiable=True,
        samples="" if design.identifiable else samples,
        warning=one_source(design),
        **notes,
    )


def one_source(design: Dense) -> str:
    """A warning where a report can come from one truth only; empty where none can.

    >>> one_source(yes_or_no([Fraction(1), Fraction(1, 2)], YES_NO)), one_source(Dense.of([[1, 0], [0, 1]]))
    ('some reports can only come from one category', 'no protection')
    """
    sources = [sum(p > 0 for p in row) for row in design.exact_matrix() if any(row)]
    if max(sources) == 1:
        return NO_PROTECTION
    return ONE_SOURCE if min(sources) == 1 else ""

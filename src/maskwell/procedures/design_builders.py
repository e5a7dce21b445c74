"""What the devices share: checked parameters, the form of two truths, and the note of where a design came from.

A device that needs several samples has an ordinary design over all that decides the report, such as pairs of truths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypeVar

from maskwell.core.arguments import Flag, as_count, as_list, check_kind, shown_short
from maskwell.core.categories import Categories
from maskwell.core.exact import GivenDecimal, Number, check_probability, is_decimal, to_decimal, to_float
from maskwell.core.phrases import option, shorten
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.matrix_reading import SUM_TOLERANCE, exact_columns
from maskwell.errors import NotIdentifiableError, ParameterError, WrongTypeError

YES_NO = Categories.of(("yes", "no"))
NO_PROTECTION = "no protection"
REVEALING = "some reports can only come from the sensitive category"

D = TypeVar("D", bound=Design)


def check_list(values: Any, name: str) -> list[Any]:
    """A list, or an error where one number or a text was given."""
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise WrongTypeError("name-given-is-not-a-list", name=name, given=shown_short(values), value=values)
    return as_list(values, name)


def check_shares(shares: Mapping[str, Number]) -> tuple[list[Fraction], float]:
    """Probabilities that sum to one, as the fractions that floats represent, and by how much those were moved."""
    total = sum((check_probability(value, name) for name, value in shares.items()), start=Fraction(0))
    exact = not any(map(is_decimal, shares.values()))
    if abs(total - 1) > SUM_TOLERANCE or (exact and total != 1):
        names = list(shares)
        raise ParameterError(
            "summed-total-not-1",
            summed=" + ".join(names if len(names) <= 4 else [*names[:2], "...", names[-1]]),
            total=to_float(total),
            shares=dict(shares),
        )
    (numerators,), notes = exact_columns([[value] for value in shares.values()])
    fractions = [Fraction(n, sum(numerators)) for n in numerators]
    return [share if exact else GivenDecimal(share) for share in fractions], notes.get("settled", 0.0)


def numbered(values: Iterable[Number], name: str) -> dict[str, Number]:
    """List entries under the names that errors use."""
    return {f"{name}[{i}]": value for i, value in enumerate(check_list(values, name))}


def one_for_each(
    values: Iterable[Number], name: str, count: int, *, of: str = "categories", said: str = "", hint: str = ""
) -> dict[str, Number]:
    """Entries under the names that errors use, as many as there are ``of`` them; ``said`` is what the error counts."""
    entries = numbered(values, name)
    if len(entries) != count:
        raise ParameterError(
            "shown-entries-count-shown-said",
            hint=hint or "give one for each",
            shown_entries_count=len(entries),
            shown_said=said or name,
            shown_count=count,
            shown_of=of,
            **{name: values},
        )
    return entries


def check_count(value: Number, name: str, *, low: int, high: int) -> int:
    """A whole number in a range."""
    count = as_count(value, name)
    if not low <= count <= high:
        raise ParameterError(
            "shown-name-shown-count-is-not",
            shown_name=name,
            shown_count=count,
            shown_low=low,
            shown_high=high,
            **{name: value},
        )
    return count


def of_two_reports(
    sensitive: Fraction,
    other: Fraction,
    family: str,
    parameters: Mapping[str, object],
    *,
    reports: Sequence[str] = ("yes", "no"),
    **notes: Any,
) -> Dense:
    """The design of two reports for one sensitive category and its complement: [[a, b], [1 - a, 1 - b]]."""
    return of_two_truths(
        [sensitive, 1 - sensitive], [other, 1 - other], family, parameters, reports=Categories.of(reports), **notes
    )


def of_two_truths(
    sensitive: Sequence[Fraction],
    other: Sequence[Fraction],
    family: str,
    parameters: Mapping[str, object],
    *,
    reports: Categories = YES_NO,
    **notes: Any,
) -> Dense:
    """The design of one sensitive category and its complement, from the chances of each report: alpha and beta.

    Source: [Adeshiyan2011, section 2.5].
    """
    pairs = list(zip(sensitive, other, strict=True))
    design = Dense.of([[a, b] for a, b in pairs], YES_NO, reports)
    warning = REVEALING if any(a and not b for a, b in pairs) else ""
    if not any(a and b for a, b in pairs):
        warning = NO_PROTECTION
    return named(design, family, parameters, warning=warning, **notes)


def named(
    design: D,
    family: str,
    parameters: Mapping[str, object],
    *,
    needs: str = "",
    allow_unidentifiable: bool = False,
    **notes: object,
) -> D:
    """The design with its family and parameters noted, after the check that proportions can be estimated from it.

    ``needs``, for the error, is empty where all allowed parameters will do. Empty notes are left out. Probabilities
    given as decimals are noted; a demand is not a probability, and what is made for it keeps to it exactly.
    """
    check_kind(Flag, allow_unidentifiable=allow_unidentifiable)
    texts = {name: _text(value) for name, value in parameters.items()}
    if needs and not allow_unidentifiable:
        try:
            design.check_identifiable()
        except NotIdentifiableError as error:
            typed = ", ".join(
                f"{name} = {to_decimal(value) if isinstance(value, Fraction) else shorten(_text(value))}"
                for name, value in parameters.items()
            )
            raise NotIdentifiableError(
                "with-shares-cannot-be-estimated",
                shown_family=family,
                shown_typed=typed,
                shown_needs=needs,
                values=error.values,
                **error.objects,
            ) from error
    decimals = [part for value in parameters.values() for part in _parts(value) if isinstance(part, GivenDecimal)]
    return design.noting_decimals(*decimals).with_provenance(
        family=family, parameters=texts, **{name: note for name, note in notes.items() if note}
    )


def _parts(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else (value,)


def _text(value: Any) -> str:
    """A parameter as it could be typed again."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def one_way(**ways: object) -> None:
    """Raise unless one is given, of several ways to say how often reports are true."""
    stated = [name for name, value in ways.items() if value is not None]
    if len(stated) != 1:
        both = " cannot be combined with ".join(map(option, stated[:2]))
        raise ParameterError(
            both or "neither a probability nor a privacy demand is given",
            hint=f"give one of {', '.join(map(option, ways))}",
            given=stated,
        )


def one_demand(*, gamma: Number | None, epsilon: Number | None) -> tuple[str, Number]:
    """The one of the two that was given, with its name."""
    demands = [(name, value) for name, value in (("gamma", gamma), ("epsilon", epsilon)) if value is not None]
    if len(demands) != 1:
        said = "both" if demands else "neither"
        raise ParameterError("given-where-one-demand-is-needed", said=said)
    return demands[0]


ONE_SOURCE = "some reports can only come from one category"
UNRELATED = "unrelated answer"


def with_unrelated(answers: Categories = YES_NO) -> Categories:
    """Pairs of an own and an unrelated answer, the own one slowest."""
    return Categories.of(product(answers.labels, YES_NO.labels))


def of_pairs(first: str) -> dict[str, Any]:
    """What is noted where truths are such pairs: the names of both, and that shares of the first are estimated."""
    return {"variables": [first, UNRELATED], "wanted": first}


def yes_or_no(chances: Sequence[Fraction], truths: Categories) -> Dense:
    """The design of a yes-or-no answer from the chances of a yes for each truth."""
    return Dense.of([list(chances), [1 - chance for chance in chances]], truths, YES_NO)


def one_of_two(
    chances: Sequence[Fraction], kinds: Categories, family: str, p: Fraction, *, samples: str, **notes: Any
) -> Dense:
    """The design of one of two samples that differ in ``p``, from the chances of a yes from each kind of people."""
    design = yes_or_no(chances, kinds)
    return one_of_several(design, family, {"p": p}, needs="p from 0 to 1", samples=samples, **notes)


def one_of_several(
    design: Dense,
    family: str,
    parameters: Mapping[str, object],
    *,
    needs: str,
    samples: str,
    allow_unidentifiable: bool = False,
    **notes: Any,
) -> Dense:
    """The design of one sample among several, after the check that it reveals anything at all.

    ``samples`` says what must come together; it is kept unless this design alone will do.
    """
    check_kind(Flag, allow_unidentifiable=allow_unidentifiable)
    if design.rank() < 2 and not allow_unidentifiable:
        raise NotIdentifiableError(
            "every-truth-gives-the-same-reports", family=family, needs=needs, parameters=dict(parameters)
        )
    together = "" if design.identifiable else samples
    return named(
        design, family, parameters, allow_unidentifiable=True, samples=together, warning=one_source(design), **notes
    )


def one_source(design: Dense) -> str:
    """A warning where a report can come from one truth only; empty where none can."""
    sources = [sum(p > 0 for p in row) for row in design.exact_matrix() if any(row)]
    if max(sources) == 1:
        return NO_PROTECTION
    return ONE_SOURCE if min(sources) == 1 else ""

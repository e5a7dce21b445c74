"""Reports made for a privacy demand: one category, a set of them, or a bit for each category or item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from maskwell.core.arguments import check_kind, shown_short
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability, resolution, root_below
from maskwell.designs.asked_parity import Asked, asked_epsilon, asked_gamma
from maskwell.designs.design import Design
from maskwell.designs.kronecker import Kronecker
from maskwell.designs.subset import LocalDiversity, Subset
from maskwell.designs.unary import Unary
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError
from maskwell.procedures.design_builders import check_list, named, one_demand, one_for_each, one_way

D = TypeVar("D", bound=Design)


def _for_demand(
    family: str,
    from_gamma: Callable[[Number, Categories], D],
    from_epsilon: Callable[[Number, Categories], D],
    categories: Categories,
    gamma: Number | None,
    epsilon: Number | None,
) -> D:
    """The design of a family that one demand decides about, stated in one of two words."""
    name, value = one_demand(gamma=gamma, epsilon=epsilon)
    make = from_gamma if name == "gamma" else from_epsilon
    return named(make(value, categories), family, {name: value})


def kary(
    categories: Categories, *, keep: Number | None = None, gamma: Number | None = None, epsilon: Number | None = None
) -> Uniform:
    """Every wrong report is equally likely, gamma times less than the truth.

        P[i, i] = keep = gamma / (gamma + k - 1),   P[i, j] = (1 - keep) / (k - 1) = 1 / (gamma + k - 1)

    One of three is given: ``keep``, used exactly; ``gamma``; or its logarithm ``epsilon``. The last two are rounded so
    that the exact parity does not exceed them. Source: [ChaiNayak2018, Theorem 4.4].
    """
    one_way(keep=keep, gamma=gamma, epsilon=epsilon)
    if keep is not None:
        check_kind(Categories, categories=categories)
        exact, k = check_probability(keep, "keep"), len(categories)
        if exact * k <= 1:
            raise ParameterError("keep-must-be-above-1", k=k, keep_shown=shown_short(keep), keep=keep)
        return named(Uniform.of((exact * k - 1) / (k - 1), categories), "k-ary", {"keep": exact})
    return _for_demand("k-ary", Uniform.from_gamma, Uniform.from_epsilon, categories, gamma, epsilon)


def subset(categories: Categories, *, size: int, gamma: Number | None = None, epsilon: Number | None = None) -> Subset:
    """Report a set of categories; each set is gamma times likelier when it holds the truth.

        Pr(truth in the set) = q gamma / (q gamma + k - q)

    where q is ``size``, from 1 to k - 1; ``maskwell.planning.set_sizes.minimax_size`` chooses that of least variance.
    Source: [NayakZhai2019, section 3.2].
    """
    name, value = one_demand(gamma=gamma, epsilon=epsilon)
    make = Subset.from_gamma if name == "gamma" else Subset.from_epsilon
    design = make(value, categories, size=size)
    return named(design, "subset", {"size": design.size, name: value})


def ldiverse(categories: Categories, l: int) -> LocalDiversity:  # noqa: E741 (the literature's name)
    """Report a set of l categories that holds the truth and l - 1 others, drawn with equal chance.

        Pr(S | j) = 1 / C(k - 1, l - 1) for every set S of l categories that holds j

    Parity is infinite: a report rules the other categories out. Source: [NayakZhai2019, section 4].
    """
    design = LocalDiversity.of(l, categories)
    return named(design, "l-diverse", {"l": design.size})


def rappor(categories: Categories, *, gamma: Number | None = None, epsilon: Number | None = None) -> Unary:
    """Write the truth as bits, one of them 1, and keep each bit with probability p: p / (1 - p) = sqrt(gamma).

    Source: after [Erlingsson2014]; p derived from the parity given in :mod:`maskwell.designs.unary`.
    """
    return _for_demand("rappor", Unary.rappor_from_gamma, Unary.rappor_from_epsilon, categories, gamma, epsilon)


def oue(categories: Categories, *, gamma: Number | None = None, epsilon: Number | None = None) -> Unary:
    """One bit for each category: the true one is 1 with chance 1/2, each other with chance r = 1 / (gamma + 1).

    Source: after [Wang2017]; r derived from the parity given in :mod:`maskwell.designs.unary`.
    """
    return _for_demand("oue", Unary.oue_from_gamma, Unary.oue_from_epsilon, categories, gamma, epsilon)


PRESENT_ABSENT = Categories.of((1, 0))


def bits(
    items: Sequence[str],
    *,
    p: Number | None = None,
    probabilities: Sequence[Number] | None = None,
    gamma: Number | None = None,
    epsilon: Number | None = None,
) -> Kronecker:
    """Keep the bit of each item with its own probability, otherwise flip it.

        P = P_1 x ... x P_M,   P_a = [[p_a, 1 - p_a], [1 - p_a, p_a]],   parity = prod_a p_a / (1 - p_a)

    where the M ``items`` come first slowest, each with the labels 1 (present) and 0. One of three is given: ``p`` for
    all, ``probabilities``, or a bound on the total parity, shared equally: p / (1 - p) = gamma^(1/M), rounded down.
    Source: [NayakZhangAdeshiyan2016, section 4] (itemsets), after Rizvi and Haritsa (2002); parity derived.
    """
    names = [str(label) for label in Categories.of(str(item) for item in check_list(items, "items")).labels]
    one_way(p=p, probabilities=probabilities, gamma=gamma, epsilon=epsilon)
    if p is not None:
        keep = check_keep(p, "p")
        return _kept(names, [keep] * len(names), {"p": keep})
    if probabilities is not None:
        keeps = one_for_each(probabilities, "probabilities", len(names), of="items", hint="give one for each item")
        each = [check_keep(value, name) for name, value in keeps.items()]
        return _kept(names, each, {"probabilities": each})
    name, value = one_demand(gamma=gamma, epsilon=epsilon)
    return _within(names, asked_gamma(value) if name == "gamma" else asked_epsilon(value))


def check_keep(value: Number, name: str) -> Fraction:
    """A probability strictly between 1/2 and 1."""
    keep = check_probability(value, name, open_=True)
    if keep <= Fraction(1, 2):
        raise ParameterError("a-bit-must-be-kept-more", name=name, value=value)
    return keep


def _within(names: list[str], asked: Asked) -> Kronecker:
    root = root_below(asked.exact, len(names), resolution(asked.exact, 2))
    if root <= 1:
        raise ParameterError("is-too-tight-for-items", name=asked.name, text=asked.text, names_count=len(names))
    design = _kept(names, [root / (1 + root)] * len(names), {asked.name: asked.text})
    return design.with_provenance(**asked.note(design.parity_exact()))


def _kept(names: list[str], keep: list[Fraction], parameters: Mapping[str, object]) -> Kronecker:
    return named(
        Kronecker.of([Uniform.of(2 * chance - 1, PRESENT_ABSENT) for chance in keep]),
        "bits",
        {"items": names, **parameters},
        items=names,
        item_parities=[str(chance / (1 - chance)) for chance in keep],
    )

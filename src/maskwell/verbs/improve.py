"""Improving a design: a more informative one at the same privacy level."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Unpack, overload

from maskwell.core.arguments import check_kind
from maskwell.core.exact import told_apart
from maskwell.designs.design import Design
from maskwell.designs.wire import read_design
from maskwell.errors import ParameterError
from maskwell.planning.improvement import Improvement
from maskwell.planning.improvement import improve as improve_design
from maskwell.planning.one_sided import OneSided, improve_one_sided
from maskwell.privacy.criteria import Demand
from maskwell.verbs.inputs import DemandWords, DesignOrPath, read_demand


class Options(DemandWords, total=False):
    """The keywords of :func:`improve`, besides the sensitive category."""

    split: str | None
    exactly: bool
    allow_identity: bool
    name: str | None


@overload
def improve(design: DesignOrPath, demand: None = None, *, sensitive: str | int) -> OneSided: ...


@overload
def improve(
    design: DesignOrPath, demand: Demand | None = None, *, sensitive: None = None, **options: Unpack[Options]
) -> Improvement: ...


@overload
def improve(
    design: DesignOrPath, demand: Demand | None = None, *, sensitive: Hashable | None, **options: Unpack[Options]
) -> Improvement | OneSided: ...


def improve(
    design: DesignOrPath,
    demand: Demand | None = None,
    *,
    sensitive: Hashable | None = None,
    split: str | None = None,
    exactly: bool = False,
    allow_identity: bool = False,
    name: str | None = None,
    **words: Unpack[DemandWords],
) -> Improvement | OneSided:
    """Find an admissible, more informative design at the privacy level of a given one; it keeps all its information.

    Parameters
    ----------
    design
        The design, or the path of its file.
    demand
        What the design meets, and the better one may use up; or, as a keyword, ``epsilon``, ``beta``, ``bayes_factor``,
        ``rho`` (two numbers), ``curves`` (a table), or ``gamma``, a parity that is not below that of the design.
        Without any, the better design has the same parity.
    sensitive
        Protect this category only, instead of all alike, as where nobody minds being found innocent; then there is one
        way, and the protection of the design is kept.
    split
        "layers" (default) splits every row once; "lemmas" follows the proofs of the source. Both are exact, and give
        different designs in general.
    exactly
        Improve even what only the last digits of decimals, or of designs rounded for a bound such as e**epsilon, leave
        to be gained: in reports that almost never occur. Designs of fractions are always improved exactly.
    allow_identity
        Without a bound on parity the only admissible design is the truth itself. True allows it.
    name
        What the design is called in an error; its path by default.

    >>> from maskwell.verbs.design import design
    >>> better = improve(design("chow", red=6, blue=4, draws=2))
    >>> better.design.parity_exact() == better.original.parity_exact()   # it protects as well
    True
    """
    check_kind(Demand | None, demand=demand)
    gamma = words.pop("gamma", None)
    chosen, stated = read_design(design), read_demand(demand, words)
    if sensitive is not None:
        if stated is not None or gamma is not None:
            raise ParameterError("sensitive-and-a-demand")
        if split or exactly or allow_identity:
            raise ParameterError("sensitive-with-method-exactly-or-allow")
        return improve_one_sided(chosen, sensitive=sensitive)
    if stated is not None and gamma is not None:
        raise ParameterError("and-gamma-are-two-demands", text=stated.text)
    if stated is not None:
        if not stated.met_by(chosen):
            named = name or ("the design" if isinstance(design, Design) else str(design))
            parity, _ = told_apart(chosen.parity_exact(), stated.gamma_exact)
            raise ParameterError("does-not-meet-its-parity", name=named, text=stated.text, parity=parity)
        gamma = max(stated.reachable, chosen.parity_exact())
    found = improve_design(chosen, gamma=gamma, split=split or "layers", exactly=exactly, allow_identity=allow_identity)
    return found if stated is None else replace(found, slack_used=stated.verdict(chosen).slack_used)

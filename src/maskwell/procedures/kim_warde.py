"""Kim and Warde's procedure: Warner's device in every stratum, each with a deck of its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from maskwell.core.arguments import as_mapping
from maskwell.core.exact import Number
from maskwell.designs.dense import Dense
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.warner import warner


def kim_warde(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """The design of one stratum: Warner's cards with the share of that stratum.

        Pr(yes | A) = p,   Pr(yes | not A) = 1 - p

    where ``p`` is the share of cards that say "I belong to A" in the deck of this stratum. There is no matrix beyond
    that of :func:`~maskwell.procedures.warner.warner`: the strata are a matter of sampling, each estimated by its own
    design and added up by its known share.
    Source: [Adeshiyan2011, Remark 2.5], after Kim and Warde (2004).

    >>> kim_warde("0.7").provenance["same_as"]
    'warner --p 7/10'
    """
    design = warner(p, allow_unidentifiable=allow_unidentifiable)
    share = design.exact_matrix()[0][0]
    return design.with_provenance(family="kim-warde", same_as=f"warner --p {share}")


def kim_warde_strata(p: Mapping[Hashable, Number]) -> dict[Hashable, Dense]:
    """The designs of all strata.

    ``p`` maps each stratum to the share of its cards that say "I belong to A".
    Source: [Adeshiyan2011, Remark 2.5], after Kim and Warde (2004).

    >>> decks = kim_warde_strata({"town": "0.7", "country": "0.8"})
    >>> {stratum: str(design.parity_exact()) for stratum, design in decks.items()}   # townspeople are better protected
    {'town': '7/3', 'country': '4'}
    """
    as_mapping(p, "p")
    return {stratum: kim_warde(share) for stratum, share in p.items()}


KIM_WARDE = Procedure(
    name="kim-warde",
    build=kim_warde,
    summary="Warner's cards, with a deck of its own for every stratum",
    source="Adeshiyan 2011, Remark 2.5, after Kim and Warde 2004",
    example="--p 0.7",
    parameters=(Parameter("p", Kind.PROBABILITY, "share of cards with the sensitive statement in this stratum"),),
)

"""Every named procedure, by the name typed on the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.categories import Categories
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.procedures import (
    category_cards,
    category_encodings,
    counted_draws,
    forced_answers,
    nonrandomized,
    statement_cards,
    unrelated_questions,
)
from maskwell.procedures.procedure import Cards, Kind, Parameter, Procedure

BUILDERS: Mapping[str, Callable[..., Design]] = {
    # yes or no
    "warner": statement_cards.warner,
    "kim-warde": statement_cards.kim_warde,
    "simmons": unrelated_questions.simmons,
    "soberanis-cruz": unrelated_questions.soberanis_cruz,
    "devore": unrelated_questions.devore,
    "mangat-singh": statement_cards.mangat_singh,
    "mangat": statement_cards.mangat,
    "mangat-singh-singh": unrelated_questions.mangat_singh_singh,
    "singh-joarder": statement_cards.singh_joarder,
    "forced": forced_answers.forced,
    "crosswise": nonrandomized.crosswise,
    "triangular": nonrandomized.triangular,
    # yes or no, with more than two reports
    "kuk": counted_draws.kuk,
    "chow": counted_draws.chow,
    "christofides": counted_draws.christofides,
    # yes or no, asked twice
    "simmons-twice": unrelated_questions.simmons_twice,
    "mangat-singh-singh-twice": unrelated_questions.mangat_singh_singh_twice,
    # yes or no, with people who do not follow the rules
    "cheating-detection": forced_answers.cheating,
    "lie-detector": forced_answers.lie_detector,
    # several categories
    "greenberg": category_cards.greenberg,
    "liu-chow": forced_answers.liu_chow,
    "bourke-dalenius": category_cards.bourke_dalenius,
    "k-ary": category_encodings.kary,
    "subset": category_encodings.subset,
    "rappor": category_encodings.rappor,
    "oue": category_encodings.oue,
    "l-diverse": category_encodings.ldiverse,
    # several categories, yes or no, several samples
    "abul-ela": category_cards.abul_ela,
    "greenberg-statements": category_cards.greenberg_statements,
    # sets of items
    "bits": category_encodings.bits,
}
CARDS: Mapping[str, Cards] = {
    "warner": statement_cards.warner_cards,
    "kim-warde": statement_cards.warner_cards,
    "mangat-singh": statement_cards.mangat_singh_cards,
    "mangat": statement_cards.mangat_cards,
    "christofides": counted_draws.christofides_cards,
    "bourke-dalenius": category_cards.bourke_dalenius_cards,
    "abul-ela": category_cards.abul_ela_cards,
}


def _labels(given: Sequence[Any]) -> tuple[Any, ...] | None:
    return tuple(tuple(one) if isinstance(one, list) else one for one in given) or None


def _procedure(name: str, words: Mapping[str, Any]) -> Procedure:
    """A procedure from what ``procedures.toml`` says of it."""
    known: dict[str, Any] = {key: _labels(value) if isinstance(value, list) else value for key, value in words.items()}
    known["parameters"] = tuple(Parameter(**{**one, "kind": Kind(one["kind"])}) for one in words["parameters"])
    return Procedure(name, BUILDERS[name], cards=CARDS.get(name), **known)


_WORDS = tomllib.loads(Path(__file__).with_name("procedures.toml").read_text(encoding="utf-8"))
PROCEDURES: dict[str, Procedure] = {name: _procedure(name, _WORDS[name]) for name in BUILDERS}


def procedure_named(name: str) -> Procedure:
    """The procedure of that name, or an error that lists them all."""
    if name not in PROCEDURES:
        raise ParameterError("no-procedure-is-called", procedures=", ".join(PROCEDURES), name=name)
    return PROCEDURES[name]


def make_design(
    family: str,
    *,
    categories: Categories | None = None,
    reports: Categories | None = None,
    allow_unidentifiable: bool = False,
    **parameters: Any,
) -> Design:
    """The design of a named family, as ``maskwell design FAMILY`` makes it; parameters bear the same names."""
    check_kind(str, family=family)
    check_kind(Categories | None, categories=categories, reports=reports)
    check_kind(Flag, allow_unidentifiable=allow_unidentifiable)
    return procedure_named(family).design(
        parameters, categories=categories, reports=reports, allow_unidentifiable=allow_unidentifiable
    )

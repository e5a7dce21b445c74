"""The texts of the pages in all languages: those of the package, and those of a survey file, ``[wording.xx.page]``."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from maskwell.core.exact import Parity
from maskwell.core.languages import LANGUAGE, direction_of
from maskwell.core.phrases import in_toml, shorten
from maskwell.errors import ParameterError, PlanError
from maskwell.microdata.plans.plan_entries import table, text, unknown
from maskwell.privacy.strength import Strength

# What a survey file may bring in a language of its own: the respondent's page, and what else there is.
GROUPS = {"page": "wording.json", "check": "check.json", "offline": "offline.json", "form": "forms.json"}
DIRECTION = "direction"
_PLACE = re.compile(r"\{\w+\}")
# From how many digits on a factor is written as a power of ten.
_POWERS, _RAISED = 15, str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
Texts = Mapping[str, Any]


@cache
def package_text(*place: str) -> str:
    """A file beside this one, by its folders and its name."""
    return files("maskwell.collection").joinpath(*place).read_text(encoding="utf-8")


def static_text(name: str) -> str:
    """A file of the folder ``static``."""
    return package_text("static", name)


@cache
def package_texts(group: str) -> Mapping[str, Texts]:
    """The texts of the package, by language."""
    content: Mapping[str, Texts] = json.loads(static_text(GROUPS[group]))
    return content


def texts_in(language: str, group: str, own: Mapping[str, Mapping[str, Texts]]) -> Texts | None:
    """The texts of a group in a language: of the package for it or its main language, or the survey's own."""
    known = package_texts(group)
    return known.get(language) or own.get(language, {}).get(group) or known.get(language.split("-", maxsplit=1)[0])


def step_text(texts: Texts, key: str, strength: Strength) -> str:
    """The text for a step of protection."""
    return str(texts.get(f"{key}_{strength}") or texts[key])


def factor_in(parity: Parity, texts: Texts) -> str:
    """A factor as the page in the browser writes it: three digits, rounded up, in the signs of a language.

    >>> from fractions import Fraction
    >>> factor_in(Fraction(8, 3), package_texts("page")["de"]), factor_in(Fraction(10**60), package_texts("page")["de"])
    ('2,67', '10⁶¹')
    """
    if isinstance(parity, float):
        return "∞"
    rounding = Context(prec=3, rounding=ROUND_CEILING)
    shown = rounding.divide(Decimal(parity.numerator), Decimal(parity.denominator)).normalize(rounding)
    if shown.adjusted() >= _POWERS:
        return f"10{str(shown.adjusted() + 1).translate(_RAISED)}"
    return f"{shown:,f}".translate(str.maketrans({",": texts["group"], ".": texts["decimal"]}))


def _read_own_texts(given: Mapping[str, Any], language: str) -> dict[str, Texts]:
    """The groups of texts that ``[wording.xx]`` brings for a language that the package does not have."""
    groups = {name: table(given[name], f"wording.{language}.{name}") for name in GROUPS if name in given}
    if groups and language in package_texts("page"):
        raise PlanError("wording-the-pages-have-texts", language=language, groups=next(iter(groups)))
    whole: dict[str, Texts] = {}
    for name, texts in groups.items():
        where, asked = f"[wording.{language}.{name}]", _asked_for(name)
        for key in texts:
            if key not in asked:
                raise unknown(key, f"{where}: unknown text", [*asked])
        for key, english in asked.items():
            _check_text(texts.get(key), english, f"{where}: {key}", language)
        whole[name] = {**({DIRECTION: direction_of(language)} if name == "page" else {}), **texts}
    return whole


def text_table(language: str, group: str = "page") -> str:
    """The table of a survey file that completes a language, with the English texts to be translated."""
    if not LANGUAGE.fullmatch(language):
        given = shorten(language, 20)
        raise ParameterError("language-must-be-a-code-not", given=given)
    lines = (f"{key} = {_in_toml(text)}" for key, text in _asked_for(group).items())
    return "\n".join([f"[wording.{language}.{group}]", *lines]) + "\n"


def _asked_for(group: str) -> dict[str, Any]:
    return {key: text for key, text in package_texts(group)["en"].items() if key != DIRECTION}


def _in_toml(text: str | list[str]) -> str:
    return in_toml(text) if isinstance(text, str) else f"[{', '.join(map(in_toml, text))}]"


def _check_text(text: Any, english: str | list[str], where: str, language: str) -> None:
    """Raise where a text is missing, has another form than the English one, or lacks a place such as {factor}."""
    if text is None:
        raise PlanError("where-is-missing", where=where, language=language)
    is_list = isinstance(english, list)
    parts = text if is_list and isinstance(text, list) else [text]
    if not all(isinstance(one, str) and one.strip() for one in parts) or (is_list and len(parts) != len(english)):
        what = f"a list of {len(english)} strings" if is_list else "a string that is not empty"
        raise PlanError("where-must-be-what", where=where, what=what, english=shorten(str(english), 60))
    if sorted(_PLACE.findall(str(text))) != sorted(_PLACE.findall(str(english))):
        raise PlanError("must-have-the-same-words", where=where, english=shorten(str(english), 60))


class Wording:
    """Texts of a survey in its languages: the file's own in the first, translations under ``[wording.xx]``."""

    def __init__(self, given: Mapping[str, Any], languages: Sequence[str]) -> None:
        self.languages = tuple(languages)
        for key in given:
            if key not in languages:
                raise unknown(key, "[wording]: no language of the survey is", [*languages])
        self._by_language = {name: dict(table(given.get(name, {}), f"wording.{name}")) for name in languages}
        own = {name: _read_own_texts(words, name) for name, words in self._by_language.items()}
        self.own = {name: groups for name, groups in own.items() if groups}
        for key in self._by_language.pop(languages[0]):  # its texts stand where the survey itself is written
            if key not in GROUPS:
                raise PlanError("wording-is-a-text", language=languages[0], key=key)
        for name in languages:
            if texts_in(name, "page", self.own) is None:
                known, shown = ", ".join(package_texts("page")), shorten(name, 20)
                raise PlanError("languages-the-pages-have-no-texts", language_shown=shown, known=known, language=name)

    def all(self, key: str, first: str | None) -> dict[str, str]:
        """A text of the survey in all its languages; an error where a translation is missing."""
        if first is None:
            return {}
        return self._in_languages(first, lambda language: self._by_language[language].get(key), key)

    def question(self, name: str, key: str, first: str | None) -> dict[str, str]:
        """A text of a question in all languages of the survey."""
        if first is None:
            return {}
        return self._in_languages(first, lambda language: self._of(language, name).get(key), f"{name}.{key}")

    def answers(self, name: str, labels: Sequence[str]) -> dict[str, dict[str, str]]:
        """The texts of the answers: a list in their order, or by label."""
        first = {one: {self.languages[0]: one} for one in labels}
        for language in self.languages[1:]:
            given = self._of(language, name).get("answers")
            by_label = dict(zip(labels, given, strict=False)) if isinstance(given, list) else dict(given or {})
            for one in labels:
                if not isinstance(by_label.get(one), str) or (isinstance(given, list) and len(given) != len(labels)):
                    raise PlanError("wording-lacks-the-answer-of-question", language=language, one=one, name=name)
                first[one][language] = by_label[one]
        return first

    def finish(self, names: Collection[str]) -> None:
        """Raise for translations of questions that are not there."""
        for language, given in self._by_language.items():
            for name in table(given.get("question", {}), f"wording.{language}.question"):
                if name not in names:
                    raise unknown(name, f"[wording.{language}]: unknown question", [*names])

    def _of(self, language: str, name: str) -> Mapping[str, Any]:
        given = table(self._by_language[language].get("question", {}), f"wording.{language}.question")
        return table(given.get(name, {}), f"wording.{language}.question.{name}")

    def _in_languages(self, first: str, look: Any, key: str) -> dict[str, str]:
        in_each = {self.languages[0]: first}
        for language in self.languages[1:]:
            value = look(language)
            if value is None:
                raise PlanError("wording-lacks", language=language, key=key)
            in_each[language] = text(value, f"wording.{language}: {key}")
        return in_each

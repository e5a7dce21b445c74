"""The page for sceptics, ``/s/CODE/check``: its texts in a language of the survey, and the promise of its designs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from maskwell.collection.page_texts import Texts, factor_in, package_texts, step_text, texts_in
from maskwell.collection.survey import Survey
from maskwell.core.languages import direction_of

_MOST = 20


def accepted_languages(header: str) -> list[str]:
    """The languages that a browser asks for, each followed by its main language."""
    codes = [code for part in header.split(",")[:_MOST] for code in re.findall(r"^\s*([A-Za-z][A-Za-z0-9-]*)", part)]
    return [code for one in codes for code in (one, one.split("-")[0])]


def check_words(survey: Survey, asked: Iterable[str]) -> dict[str, Any]:
    """What the template needs, in the first language asked for that has this page, else the survey's, else English."""
    spoken = [one for one in survey.languages if texts_in(one, "check", survey.texts)] or ["en"]
    language = next((one for one in asked if one in spoken), spoken[0])
    page = texts_in(language, "page", survey.texts) or package_texts("page")["en"]
    names = {one: (texts_in(one, "page", survey.texts) or page)["name"] for one in spoken}
    return {
        "language": language,
        "direction": direction_of(language),
        "say": texts_in(language, "check", survey.texts),
        "page": page,
        "promises": promises(survey, page),
        "others": [(one, name) for one, name in names.items() if one != language],
    }


def promises(survey: Survey, page: Texts) -> list[str]:
    """What all reports of one person can reveal: in words, and by which factor where there is a bound."""
    said = [step_text(page, "how_protects", survey.strength)]
    if not isinstance(survey.parity, float):
        factor = factor_in(survey.parity, page)
        said.append(step_text(page, "promise_joint", survey.strength).replace("{factor}", factor))
    return said

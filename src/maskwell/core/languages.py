"""Codes of languages, and the direction in which each is written."""

from __future__ import annotations

import re

LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")  # the code of a language, such as en, pt-BR or az-Arab
_LEFTWARD = frozenset(["ar", "arc", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "ug", "ur", "yi"])
_LEFTWARD_SCRIPTS = frozenset(["adlm", "arab", "hebr", "nkoo", "rohg", "syrc", "thaa"])


def direction_of(language: str) -> str:
    """The direction in which a language is written, by its script where the code names one."""
    first, *more = language.lower().split("-")
    script = next((one for one in more if len(one) == 4 and one.isalpha()), None)
    leftward = first in _LEFTWARD if script is None else script in _LEFTWARD_SCRIPTS
    return "rtl" if leftward else "ltr"

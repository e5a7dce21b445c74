"""Surveys outside the service: a question inside Qualtrics, LimeSurvey or SurveyJS, or all in one file for tablets.

A snippet holds all it needs, loads nothing, draws once on the respondent's device, and hands over the report only.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from typing import Any

from maskwell.collection.page_texts import package_text, static_text, texts_in
from maskwell.collection.results import report_label
from maskwell.collection.survey import Question, Survey
from maskwell.core.documents import version_text
from maskwell.core.labels import texts
from maskwell.core.languages import direction_of
from maskwell.errors import ParameterError

PLATFORM_NAMES = {"qualtrics": "Qualtrics", "limesurvey": "LimeSurvey", "surveyjs": "SurveyJS"}
# The texts of the page that a snippet has.
_WORDS = re.compile(
    r"(how_protects|sensitive_note|differs|reveals_factor)(_\w+)?"
    r"|direction|decimal|group|draw|drawn_title|drawn_note|reveals_title|reveals|choose|changed|no_storage|not_safe"
)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|class|function) (\w+))", re.MULTILINE)
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";\n', re.MULTILINE)


def embed_text(survey: Survey, name: str, platform: str) -> str:
    """The snippet for one question of a survey."""
    question = survey.by_name.get(name)
    if question is None or question.design is None:
        named = ", ".join(repr(one.name) for one in survey.sensitive)
        why = "no question of the survey is named so" if question is None else "this question is open"
        raise ParameterError("question-name-why", hint=f"one of the sensitive ones: {named}"[:100], name=name, why=why)
    if platform not in PLATFORM_NAMES:
        raise ParameterError("there-is-no-snippet", platform=platform, platforms=", ".join(PLATFORM_NAMES))
    return _in_shell(question, platform, _program(survey, question))


def report_texts(question: Question) -> list[str] | None:
    """The texts of the reports, by code, as written in exports; None where a report is a string of 0 and 1."""
    if question.reports is None:
        return None
    return [str(texts(report_label(question, str(code)))[0]) for code in range(question.reports)]


def field_name(name: str) -> str:
    """A question's name as other programs take it: ASCII letters, digits and ``_``, with a letter first."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "q"
    return plain if plain[0].isalpha() else f"q_{plain}"


def _module_as_value(name: str) -> str:
    """A script without imports of its own as one value that holds what it exports: ``const name = (() => ...)();``."""
    text = static_text(f"{name}.js")
    exported = ", ".join(found[1] for found in _EXPORT.findall(text))
    inside = _EXPORT.sub(r"\1", text)
    return f"const {name} = (() => {{\n{inside}\nreturn {{ {exported} }};\n}})();\n"


def _with_values(name: str) -> str:
    """A script that takes from such values what it imported."""
    text = _IMPORT.sub(r"const \1 = \2;\n", static_text(f"{name}.js"))
    return _EXPORT.sub(r"\1", text)


def _json_text(content: Any) -> str:
    """JSON for the inside of a script element: ASCII, and nothing in it that ends the element."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def words_for(survey: Survey, *groups: str) -> dict[str, dict[str, Any]]:
    """The texts of the page in the languages of a survey, with those of further groups in their place."""
    words: dict[str, dict[str, Any]] = {}
    for language in survey.languages:
        words[language] = {}
        for group in ("page", *groups):
            spoken = texts_in(language, group, survey.texts)
            if spoken is None:
                raise ParameterError("there-are-no-texts", group=group, language=language)
            words[language] |= spoken
    return words


def _program(survey: Survey, question: Question) -> str:
    """The body of a function of ``host``: it asks, and gives a promise of the means to forget the respondent."""
    document = question.to_dict()
    content = {key: document[key] for key in ("name", "ask", "help", "answers", "design")}
    content |= {
        "languages": list(survey.languages),
        "reports": report_texts(question),
        "style": static_text("embed.css"),
        "strength": survey.strength,
    }
    words = {
        language: {key: text for key, text in spoken.items() if _WORDS.fullmatch(key)}
        for language, spoken in words_for(survey).items()
    }
    parts = [
        '"use strict";',
        _module_as_value("pieces"),
        _module_as_value("maskwell"),
        _with_values("embed"),
        f"const question = {_json_text(content)};",
        f"const wording = {_json_text(words)};",
        "return askInside(question, wording, host);",
    ]
    return "\n".join(parts)


def _quoted(program: str) -> str:
    """The program as a list of texts, one for each line, for platforms that read braces as fields of their own."""
    signs: dict[str, str | int | None] = {"{": "\\x7b", "}": "\\x7d", "<": "\\x3c", "&": "\\x26"}
    lines = (json.dumps(line).translate(str.maketrans(signs)) for line in program.split("\n") if line.strip())
    return "[\n" + ",\n".join(lines) + '\n].join("\\n")'


# The snippets call what these platforms document:
# Qualtrics: ``${e://Field/...}`` is piped text, so the program is written without ``${``. ``setJSEmbeddedData`` and
# ``getJSEmbeddedData`` add the prefix ``__js_`` that the field has in the survey flow; the others add nothing.
# LimeSurvey: ``{QID}``, ``{SGQ}``, ``{SAVEDID}``, ``{TOKEN}`` are filled in; a script's brace has a space or a line's
# end on its inner side. The field of the answer is ``answer{SGQ}``, or in newer versions the one text field in
# ``question{QID}``. Scripts begin at the page's load or at ``pjax:scriptcomplete``; ``keyup`` and ``change`` tell of a
# change. A mandatory question keeps the respondent on the page until there is a report.
# SurveyJS: ``SurveyModel.onAfterRenderQuestion`` with ``options.question`` and ``options.htmlElement``,
# ``Question.value``, ``SurveyModel.onComplete`` and ``SurveyModel.locale``.
_SHELLS = {"qualtrics": "qualtrics.js", "limesurvey": "limesurvey.html", "surveyjs": "surveyjs.js"}


def _in_shell(question: Question, platform: str, program: str) -> str:
    """The snippet: how to paste it, and the program in what the platform runs."""
    assert question.design is not None
    is_js = platform == "surveyjs"
    return _filled(
        _SHELLS[platform],
        version=version_text(),
        design=question.design.fingerprint,
        name=field_name(question.name),
        code=limesurvey_code(question.name),
        title=_json_text(question.name),
        program=program if is_js else _quoted(program),
    )


def _filled(template: str, /, **values: str) -> str:
    """A template with its places filled in, such as ``@head@``; what is filled in has no places of its own."""
    return re.sub(r"@(\w+)@", lambda found: values[found[1]], package_text("templates", template))


def limesurvey_code(name: str) -> str:
    """A question's name as LimeSurvey takes it for a code: letters and digits, at most 20."""
    return field_name(name).replace("_", "")[:20]


def offline_page(survey: Survey) -> str:
    """A survey as one HTML file, for tablets without a network; the policy of the file forbids every connection."""
    # one script: what draws, where reports go, and the respondent's page; each in a scope of its own
    values = [_module_as_value("pieces"), _module_as_value("maskwell")]
    script = "\n".join([*values, "{", _with_values("offline"), "}", _with_values("respond")])
    style = static_text("respond.css") + static_text("offline.css")
    reports = {question.name: report_texts(question) for question in survey.questions}
    content = {"survey": survey.to_dict(), "wording": words_for(survey, "offline"), "reports": reports}
    first = survey.languages[0]
    return _filled(
        "offline.html",
        language=html.escape(first, quote=True),
        direction=direction_of(first),
        policy=_policy(script, style),
        title=html.escape(survey.title[first]),
        style=style,
        content=_json_text(content),
        script=script,
    )


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; connect-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""One sensitive question inside Qualtrics, LimeSurvey or SurveyJS: a text that is pasted there.

The snippet holds all it needs: the design, the words, the script that draws. It loads nothing, asks with radio buttons
of its own, draws once on the respondent's device, and hands the platform the report and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from maskwell.collection.page_texts import static_text, texts_in
from maskwell.collection.results import report_label
from maskwell.collection.survey import Question, Survey
from maskwell.core.documents import version_text
from maskwell.core.labels import texts
from maskwell.errors import ParameterError

PLATFORMS = ("qualtrics", "limesurvey", "surveyjs")
_WORDS = re.compile(
    r"(how_protects|sensitive_note|differs|reveals_factor)(_\w+)?"
    r"|direction|decimal|group|draw|drawn_title|drawn_note|reveals_title|reveals|choose|changed|no_storage|not_safe"
)
"""The texts of the page that a snippet has."""
_EXPORT = re.compile(r"^export ((?:async )?(?:const|class|function) (\w+))", re.MULTILINE)
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";\n', re.MULTILINE)


def embed_text(survey: Survey, name: str, platform: str) -> str:
    """The snippet for one question of a survey."""
    question = sensitive_question(survey, name)
    if platform not in PLATFORMS:
        raise ParameterError("there-is-no-snippet", platform=platform, platforms=", ".join(PLATFORMS))
    return _SHELLS[platform](question, _program(survey, question))


def sensitive_question(survey: Survey, name: str) -> Question:
    """The question of a name, if it is randomized; ParameterError otherwise."""
    question = survey.by_name.get(name)
    if question is None or question.design is None:
        named = ", ".join(repr(one.name) for one in survey.sensitive)
        why = "no question of the survey is named so" if question is None else "this question is open"
        raise ParameterError("question-name-why", hint=f"one of the sensitive ones: {named}"[:100], name=name, why=why)
    return question


def report_texts(question: Question) -> list[str] | None:
    """The texts of the reports, by code, as they stand in exports; None where a report is a text of 0 and 1."""
    if question.reports is None:
        return None
    return [str(texts(report_label(question, str(code)))[0]) for code in range(question.reports)]


def field_name(name: str) -> str:
    """A question's name as other programs take it: ASCII letters, digits and ``_``, with a letter first."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "q"
    return plain if plain[0].isalpha() else f"q_{plain}"


# ---- scripts


def module_as_value(name: str) -> str:
    """A script without imports of its own as one value that holds what it exports: ``const name = (() => ...)();``."""
    text = static_text(f"{name}.js")
    exported = ", ".join(found[1] for found in _EXPORT.findall(text))
    inside = _EXPORT.sub(r"\1", text)
    return f"const {name} = (() => {{\n{inside}\nreturn {{ {exported} }};\n}})();\n"


def with_values(name: str) -> str:
    """A script that takes from such values what it imported."""
    text = _IMPORT.sub(r"const \1 = \2;\n", static_text(f"{name}.js"))
    return _EXPORT.sub(r"\1", text)


def json_text(content: Any) -> str:
    """JSON for the inside of a script element: ASCII, and nothing in it that ends the element."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def words_for(survey: Survey, *groups: str) -> dict[str, dict[str, Any]]:
    """The texts of the page in the languages of a survey, with those of further groups in their place."""
    return {one: _words_in(survey, one, ("page", *groups)) for one in survey.languages}


def _words_in(survey: Survey, language: str, groups: Iterable[str]) -> dict[str, Any]:
    words: dict[str, Any] = {}
    for group in groups:
        spoken = texts_in(language, group, survey.texts)
        if spoken is None:
            raise _not_spoken(language, group)
        words |= spoken
    return words


def _not_spoken(language: str, group: str) -> ParameterError:
    return ParameterError("there-are-no-texts", group=group, language=language)


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
        module_as_value("pieces"),
        module_as_value("maskwell"),
        with_values("embed"),
        f"const question = {json_text(content)};",
        f"const wording = {json_text(words)};",
        "return askInside(question, wording, host);",
    ]
    return "\n".join(parts)


def _quoted(program: str) -> str:
    """The program as a list of texts, one for each line, for platforms that read braces as fields of their own."""
    signs: dict[str, str | int | None] = {"{": "\\x7b", "}": "\\x7d", "<": "\\x3c", "&": "\\x26"}
    lines = (json.dumps(line).translate(str.maketrans(signs)) for line in program.split("\n") if line.strip())
    return "[\n" + ",\n".join(lines) + '\n].join("\\n")'


# ---- what the platforms document


def _head(question: Question, platform: str, *steps: str) -> str:
    assert question.design is not None
    return "\n".join(
        [
            f"The question {field_name(question.name)} for {platform}, made by maskwell {version_text()}.",
            f"Design {question.design.fingerprint}.",
            "It draws on the respondent's device, loads nothing, and hands over the report only.",
            *steps,
        ]
    )


def _qualtrics(question: Question, program: str) -> str:
    """For the JavaScript of a question of the kind Text / Graphic.

    From the Question API of Qualtrics: ``SurveyEngine.addOnReady``, ``getQuestionContainer``, ``disableNextButton``,
    ``enableNextButton``, ``setJSEmbeddedData`` and ``getJSEmbeddedData`` (they add the prefix ``__js_`` that the field
    has in the survey flow), ``setEmbeddedData`` and ``getEmbeddedData`` where those are missing (they add nothing).
    ``${e://Field/...}`` is piped text; the program is written without ``${`` so that nothing else is taken for it.
    """
    name = field_name(question.name)
    head = _head(
        question,
        "Qualtrics",
        f"1. Survey flow, at the top: an embedded data field __js_{name}, without a value.",
        "2. A question Text / Graphic on a page of its own; its JavaScript is this file, and nothing else.",
        f"3. The report is in the column __js_{name} of the export.",
    )
    return f"""/*
{head}
*/
(function () {{
  var draw = new Function("host", {_quoted(program)});
  var engine = Qualtrics.SurveyEngine;
  engine.addOnReady(function () {{
    var question = this;
    draw({{
      element: question.getQuestionContainer(),
      language: "${{e://Field/Q_Language}}",
      respondent: "${{e://Field/ResponseID}}",
      read: function () {{
        return engine.getJSEmbeddedData ? engine.getJSEmbeddedData("{name}") : engine.getEmbeddedData("__js_{name}");
      }},
      write: function (report) {{
        if (engine.setJSEmbeddedData) engine.setJSEmbeddedData("{name}", report);
        else engine.setEmbeddedData("__js_{name}", report);
      }},
      wait: function () {{ question.disableNextButton(); }},
      go: function () {{ question.enableNextButton(); }}
    }});
  }});
}})();
"""


def _limesurvey(question: Question, program: str) -> str:
    """For the text of a question of the kind "short free text", in the editor's source view.

    From the manual of LimeSurvey: ``{QID}``, ``{SGQ}``, ``{SAVEDID}`` and ``{TOKEN}`` are filled in; a script's brace
    has a space or a line's end on its inner side; the field of the answer is ``answer{SGQ}``, or else the one text
    field within ``question{QID}`` (newer versions form its name in another way);
    scripts begin at the page's load or at ``pjax:scriptcomplete``; the platform hears of a change by ``keyup`` and
    ``change``. A mandatory question keeps the respondent on the page until there is a report.
    """
    return f"""<!--
{_limesurvey_head(question)}
-->
<div id="maskwell{{QID}}"></div>
<script>
( function () {{
  var draw = new Function("host", {_quoted(program)});
  var respondent = [ "{{TOKEN}}", "{{SAVEDID}}" ].join(" ").trim();
  var ask = function () {{
    var field = document.getElementById("answer{{SGQ}}") || document.querySelector("#question{{QID}} input[type=text]");
    var place = document.getElementById("maskwell{{QID}}");
    if ( !field || !place || place.childNodes.length ) return;
    field.readOnly = true;
    field.autocomplete = "off";
    field.style.display = "none";
    draw( {{
      element: place,
      language: document.documentElement.lang,
      respondent: respondent,
      read: function () {{ return field.value; }},
      write: function ( report ) {{
        if ( field.value === report ) return;
        field.value = report;
        [ "keyup", "change" ].forEach( function ( name ) {{
          field.dispatchEvent( new Event( name, {{ bubbles: true }} ) );
        }} );
      }}
    }} );
  }};
  document.addEventListener( "pjax:scriptcomplete", ask );
  if ( document.readyState === "loading" ) document.addEventListener( "DOMContentLoaded", ask );
  else ask();
}} )();
</script>
"""


def _limesurvey_head(question: Question) -> str:
    return _head(
        question,
        "LimeSurvey",
        f"1. A question of the type short free text, code {limesurvey_code(question.name)}, mandatory.",
        "2. Its text, in the source view of the editor, is this file, and nothing else.",
        "3. Scripts must be allowed for who edits the survey (global settings, security).",
    )


def limesurvey_code(name: str) -> str:
    """A question's name as LimeSurvey takes it for a code: letters and digits, at most 20."""
    return field_name(name).replace("_", "")[:20]


def _surveyjs(question: Question, program: str) -> str:
    """For the page that makes a SurveyJS model; ``attachMaskwell(survey)`` comes before the survey is rendered.

    From the API of SurveyJS: ``SurveyModel.onAfterRenderQuestion`` with ``options.question`` and
    ``options.htmlElement``, ``Question.value``, ``SurveyModel.onComplete`` and ``SurveyModel.locale``.
    """
    name = json_text(question.name)
    head = _head(
        question,
        "SurveyJS",
        '1. A question {"type": "text", "titleLocation": "hidden", "isRequired": true} with this name.',
        "2. Load this file, then call attachMaskwell(survey) before the survey is rendered.",
        "Several snippets can be loaded one after the other: one call attaches all of them.",
    )
    return f"""/*
{head}
*/
(function () {{
const draw = (host) => {{
{program}
}};
const earlier = globalThis.attachMaskwell;
globalThis.attachMaskwell = function (survey) {{
  if (earlier) earlier(survey);
  let asked;
  survey.onAfterRenderQuestion.add((_, {{ question, htmlElement }}) => {{
    if (question.name !== {name} || htmlElement.querySelector(".maskwell")) return;
    for (const field of htmlElement.querySelectorAll("input, textarea")) field.style.display = "none";
    asked = draw({{
      element: htmlElement,
      language: survey.locale,
      read: () => question.value,
      write: (report) => {{ if (question.value !== report) question.value = report; }},
    }});
  }});
  survey.onComplete.add(async () => (await asked)?.forget?.()); // the next respondent in this tab draws anew
}};
}})();
"""


_SHELLS: Mapping[str, Callable[[Question, str], str]] = {
    "qualtrics": _qualtrics,
    "limesurvey": _limesurvey,
    "surveyjs": _surveyjs,
}

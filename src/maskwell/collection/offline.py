"""A survey as one HTML file, for tablets without a network.

The file holds what the service would hand out: the page, its style, its words, the survey document with every design.
It is opened from the tablet's own storage, for one respondent after the other. Reports stay in the browser until the
interviewer exports them; the policy of the file forbids every connection, and names the only script and style that run.
"""

from __future__ import annotations

import base64
import hashlib
import html

from maskwell.collection.embeds import json_text, module_as_value, report_texts, with_values, words_for
from maskwell.collection.page_texts import static_text
from maskwell.collection.survey import Survey
from maskwell.core.languages import direction_of


def offline_page(survey: Survey) -> str:
    """The file."""
    # one script: what draws, where reports go, and the respondent's page; each in a scope of its own
    values = [module_as_value("pieces"), module_as_value("maskwell")]
    script = "\n".join([*values, "{", with_values("offline"), "}", with_values("respond")])
    style = static_text("respond.css") + static_text("offline.css")
    reports = {question.name: report_texts(question) for question in survey.questions}
    content = {"survey": survey.to_dict(), "wording": words_for(survey, "offline"), "reports": reports}
    title = html.escape(survey.title[survey.languages[0]])
    return f"""<!doctype html>
<html lang="{html.escape(survey.languages[0], quote=True)}" dir="{direction_of(survey.languages[0])}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script, style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="page" aria-live="polite" tabindex="-1">
<noscript>
<h1>This page needs JavaScript</h1>
<p>Your answer is randomized on this device before anything is kept. Without JavaScript that cannot be done, so
nothing can be asked here.</p>
</noscript>
</main>
<footer id="footer"></footer>
<aside id="interviewer"></aside>
<script type="application/json" id="content">{json_text(content)}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; connect-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

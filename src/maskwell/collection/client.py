"""A client of the service in Python: run surveys from a program, and take part in them from code."""

from __future__ import annotations

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np

from maskwell.collection.survey import Survey
from maskwell.core.categories import Categories
from maskwell.core.labels import texts
from maskwell.designs.set_reports import SetDesign
from maskwell.errors import InputError, ReportError

TIMEOUT = 30


class ServiceError(InputError):
    """The service refused something, or cannot be reached."""

    code = "service"


class Client:
    """A service, by its address; the key is made in the studio and is needed only to run surveys."""

    def __init__(self, address: str, *, key: str | None = None) -> None:
        if not address.startswith(("https://", "http://")):
            raise ServiceError("the-address-of-a-service-begins")
        self.address = address.rstrip("/")
        self._key = key

    def __repr__(self) -> str:
        return f"Client({self.address!r})"

    def surveys(self) -> list[dict[str, Any]]:
        """All surveys of the key's account."""
        content: list[dict[str, Any]] = self._ask("GET", "/api/admin/surveys")["surveys"]
        return content

    def add(self, survey: str | Path) -> dict[str, Any]:
        """Keep a survey file, or its text, as a draft; design files that it names are not sent along."""
        text = survey.read_text(encoding="utf-8") if isinstance(survey, Path) else survey
        return self._ask("POST", "/api/admin/surveys", {"survey": text})

    def open(self, code: str) -> dict[str, Any]:
        """Take reports from now on."""
        return self._ask("PUT", f"{_admin(code)}/state", {"state": "open"})

    def close(self, code: str) -> dict[str, Any]:
        """Take no more reports."""
        return self._ask("PUT", f"{_admin(code)}/state", {"state": "closed"})

    def delete(self, code: str) -> dict[str, Any]:
        """Delete a survey and all its reports, for good."""
        return self._ask("DELETE", _admin(code))

    def invite(self, code: str, count: int) -> list[str]:
        """Single-use links."""
        tokens = self._ask("POST", f"{_admin(code)}/invitations", {"count": count})["invitations"]
        return [f"{self.address}/s/{code}#{token}" for token in tokens]

    def results(self, code: str) -> dict[str, Any]:
        """The shares of all questions so far."""
        return self._ask("GET", f"{_admin(code)}/results")

    def table(self, code: str, first: str, second: str) -> dict[str, Any] | None:
        """The joint shares of two questions."""
        table: dict[str, Any] | None
        table = self._ask("GET", f"{_admin(code)}/table?{urlencode({'first': first, 'second': second})}")["table"]
        return table

    def export(self, code: str, path: str | Path, kind: str = "csv") -> None:
        """Write everything to a zip file that does not exist yet."""
        content = self._send("GET", f"{_admin(code)}/export?{urlencode({'format': kind})}")
        with Path(path).open("xb") as file:
            file.write(content)

    def survey(self, code: str) -> Survey:
        """The survey that respondents see, after its fingerprint and those of its designs were checked."""
        return Survey.from_dict(self._ask("GET", f"/s/{quote(code)}/survey.json")["survey"])

    def answer(self, code: str, answers: Mapping[str, Hashable], *, invitation: str | None = None) -> dict[str, Any]:
        """Randomize true answers here, and send the reports. Never draw again: :meth:`send` what came back."""
        survey = self.survey(code)
        submission = draw_submission(survey, answers, invitation=invitation)
        self._ask("POST", f"/api/surveys/{quote(code)}/reports", padded(survey, submission))
        return submission

    def send(self, code: str, submission: Mapping[str, Any]) -> None:
        """Send a submission; sending the same one again changes nothing."""
        self._ask("POST", f"/api/surveys/{quote(code)}/reports", padded(self.survey(code), submission))

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._send(method, path, body))
        return content

    def _send(self, method: str, path: str, body: Any = None) -> bytes:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._key is not None and path.startswith("/api/admin"):
            headers["Authorization"] = f"Bearer {self._key}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)  # noqa: S310 (checked above)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise _refusal(error) from error
        except urllib.error.URLError as error:
            raise ServiceError("the-service-does-not-answer", reason=error.reason) from error


def draw_submission(
    survey: Survey, answers: Mapping[str, Hashable], *, invitation: str | None = None
) -> dict[str, Any]:
    """What a respondent's page would send for these true answers: a random id and the reports, drawn once, securely."""
    unknown = [name for name in answers if name not in survey.by_name]
    if unknown:
        raise ReportError("there-is-no-question", unknown=unknown[0], by_name=", ".join(survey.by_name))
    reports: dict[str, Any] = {}
    for question in survey.questions:
        if question not in survey.asked(reports):
            continue
        if question.name not in answers:
            raise ReportError("question-has-no-answer", name=question.name)
        code = Categories.of(question.labels).code(texts(answers[question.name])[0])
        if question.design is None:
            reports[question.name] = code
        else:
            drawn = question.design.sample(np.array([code]))
            is_set = isinstance(question.design, SetDesign)
            reports[question.name] = drawn.ascii_texts()[0].decode() if is_set else int(drawn.data[0])
    content = {"id": secrets.token_hex(16), "survey": survey.fingerprint, "reports": reports}
    return content if invitation is None else {**content, "invitation": invitation}


def padded(survey: Survey, submission: Mapping[str, Any]) -> bytes:
    """A submission with blanks behind it: all of one survey have the same length, which is seen in spite of https."""
    longest: dict[str, Any] = {
        question.name: len(question.labels) * "0" if question.reports is None else question.reports - 1
        for question in survey.questions
    }
    content = json.dumps(submission).encode()
    return content.ljust(len(json.dumps({**submission, "reports": longest}).encode()))


def _admin(code: str) -> str:
    return f"/api/admin/surveys/{quote(code)}"


def _refusal(error: urllib.error.HTTPError) -> ServiceError:
    try:
        content = json.loads(error.read())["error"]
        return ServiceError(content["message"], hint=content["hint"], status=error.code)
    except (ValueError, KeyError, TypeError):
        return ServiceError("the-service-answered-with-status", code=error.code)

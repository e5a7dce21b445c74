"""What the service answers: to respondents, to sceptics, to programs with a key, and to everybody else."""

import json
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.support.collecting import BY_INVITATION, REPORTS, SURVEY, opened, served

from maskwell.collection.accounts import Accounts
from maskwell.collection.application import LARGEST_BODY
from maskwell.collection.exports import EXPORTS
from maskwell.collection.programs import MOST_INVITATIONS
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.survey import Survey
from maskwell.core.documents import json_form

PASSWORD = "correct horse battery"


class Place:
    """A service with two owners, each with a survey, and a client without a session."""

    def __init__(self, folder: Path) -> None:
        self.app = served(folder)
        self.store: Store = self.app.state.service.store
        self.accounts = Accounts(self.store)
        self.ada, self.bob = (self.accounts.add(name, PASSWORD) for name in ("ada", "bob"))
        self.survey = self.opened(SURVEY, self.ada)
        self.other = self.opened(BY_INVITATION, self.bob)
        self.client = TestClient(self.app, follow_redirects=False)

    def opened(self, text: str, owner: int) -> StoredSurvey:
        return opened(self.store, text, owner)

    def body(self, **changes: Any) -> dict[str, Any]:
        content = {"id": secrets.token_hex(16), "survey": self.survey.survey.fingerprint, "reports": dict(REPORTS)}
        return {**content, **changes}

    def send(self, body: Any, code: str | None = None) -> Any:
        return self.client.post(f"/api/surveys/{code or self.survey.code}/reports", json=body)

    def sign_in(self, name: str = "ada") -> str:
        answer = self.client.post("/studio/login", data={"name": name, "password": PASSWORD})
        assert answer.status_code == 303
        token = self.client.cookies["maskwell"]
        session = self.accounts.session(token)
        return session.csrf

    def key(self, account: int) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.accounts.begin_session(account)}"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    with made.client:
        yield made


WRONG: dict[str, Any] = {
    "a list": lambda body: [body],
    "nothing": lambda body: {},  # noqa: ARG005
    "a further key": lambda body: {**body, "name": "Ada"},
    "no id": lambda body: {key: value for key, value in body.items() if key != "id"},
    "a short id": lambda body: {**body, "id": "ab"},
    "an id in capitals": lambda body: {**body, "id": "AB" * 16},
    "an id that is a number": lambda body: {**body, "id": 7},
    "another fingerprint": lambda body: {**body, "survey": "sha256:" + "0" * 64},
    "a question missing": lambda body: {**body, "reports": {"region": 0}},
    "a question too many": lambda body: {**body, "reports": {**REPORTS, "more": 1}},
    "a question that is not asked": lambda body: {**body, "reports": {**REPORTS, "region": 1}},
    "a code too large": lambda body: {**body, "reports": {**REPORTS, "cash": 4}},
    "a negative code": lambda body: {**body, "reports": {**REPORTS, "cash": -1}},
    "a label in place of a code": lambda body: {**body, "reports": {**REPORTS, "cash": "never"}},
    "a boolean": lambda body: {**body, "reports": {**REPORTS, "tax": True}},
    "a float": lambda body: {**body, "reports": {**REPORTS, "tax": 1.0}},
    "a set of the wrong size": lambda body: {**body, "reports": {**REPORTS, "sources": "1110"}},
    "a set of the wrong length": lambda body: {**body, "reports": {**REPORTS, "sources": "10100"}},
    "a set with a comma": lambda body: {**body, "reports": {**REPORTS, "sources": "1,10"}},
    "null": lambda body: {**body, "reports": None},
    "an invitation that is a list": lambda body: {**body, "invitation": ["x"]},
}


@pytest.mark.parametrize("case", WRONG)
def test_a_malformed_submission_changes_nothing(place: Place, case: str) -> None:
    answer = place.send(WRONG[case](place.body()))
    assert answer.status_code == 422 and set(answer.json()["error"]) == {"code", "message", "hint"}
    assert place.store.size(place.survey) == 0


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b'{"id": 1, "id": 2}', "application/json", 400),
        (b'{"id": NaN}', "application/json", 400),
        (b"[" * 10_000, "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"id=1", "application/x-www-form-urlencoded", 415),
        (b'"' + b"x" * LARGEST_BODY + b'"', "application/json", 413),
    ],
)
def test_a_body_that_is_none_is_refused(place: Place, content: bytes, kind: str, status: int) -> None:
    answer = place.client.post(
        f"/api/surveys/{place.survey.code}/reports", content=content, headers={"content-type": kind}
    )
    assert answer.status_code == status


def test_drafts_do_not_exist_and_errors_hold_nothing_that_was_sent(place: Place) -> None:
    code = place.store.add_survey(Survey.from_toml(SURVEY), owner=place.ada)
    for path in (f"/s/{code}", f"/s/{code}/survey.json", f"/s/{code}/check", "/s/nothing"):
        assert place.client.get(path).status_code == 404
    assert place.send(place.body(), code).status_code == 404
    for change in ({"reports": {**REPORTS, "cash": 4711}}, {"id": "Zebra"}, {"survey": "Zebra"}, {"Zebra": 1}):
        text = place.send({**place.body(), **change}).text
        assert "4711" not in text and "Zebra" not in text


def test_an_acknowledged_report_is_in_the_database_and_closing_stops_others(place: Place) -> None:
    body = place.body()
    assert place.send(body).json() == {"received": True} and place.send(body).json() == {"received": True}
    fresh = Store(place.store.url)
    assert list(fresh.contents(fresh.survey(place.survey.code))) == ["0,2,1,1010"]
    place.store.close_survey(place.survey.code)
    assert place.send(place.body()).status_code == 409 and place.store.size(place.survey) == 1


def test_invitations_are_asked_for_and_spent(place: Place) -> None:
    (token,) = place.store.invite(place.other.code, 1)
    body = place.body(survey=place.other.survey.fingerprint)
    address = f"/api/surveys/{place.other.code}/invitation"
    assert place.send(body, place.other.code).status_code == 403
    assert place.client.post(address, json={"invitation": token}).json() == {"usable": True}
    assert place.send({**body, "invitation": token}, place.other.code).status_code == 200
    assert place.send({**body, "invitation": token}, place.other.code).status_code == 200
    assert place.client.post(address, json={"invitation": token}).json() == {"usable": False}
    again = place.body(survey=place.other.survey.fingerprint, invitation=token)
    assert place.send(again, place.other.code).status_code == 403


def test_the_page_loads_nothing_from_elsewhere_and_shows_its_hashes(place: Place) -> None:
    page = place.client.get(f"/s/{place.survey.code}")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
    assert "http" not in policy and "set-cookie" not in page.headers
    assert page.headers["referrer-policy"] == "no-referrer"
    for name in ("respond.js", "maskwell.js", "pieces.js", "respond.css", "wording.json"):
        answer = place.client.get(f"/static/{name}")
        assert answer.status_code == 200
        assert "//" not in answer.text.replace("// ", "").replace("http://www.w3.org/2000/svg", "")
    import hashlib

    shown = place.client.get(f"/s/{place.survey.code}/check").text
    scripts = set(re.findall(r'"(/static/\w+\.js)"', place.client.get(f"/s/{place.survey.code}").text))
    for path in (f"/s/{place.survey.code}", *scripts):
        assert hashlib.sha256(place.client.get(path).content).hexdigest() in shown


def test_every_text_of_the_page_is_there_in_every_language(place: Place) -> None:
    wording = place.client.get("/static/wording.json").json()
    for name in ("wording", "offline", "forms"):
        texts = place.client.get(f"/static/{name}.json").json()
        assert texts.keys() == wording.keys()
        assert {frozenset(one) for one in texts.values()} == {frozenset(texts["en"])}, name
        for key, text in ((key, text) for one in texts.values() for key, text in one.items()):
            assert sorted(re.findall(r"\{\w+\}", str(text))) == sorted(re.findall(r"\{\w+\}", str(texts["en"][key]))), (
                key
            )
    script = place.client.get("/static/respond.js").text
    assert set(re.findall(r'say\("(\w+)"', script)) <= set(wording["en"])


def addresses(place: Place) -> list[tuple[str, str]]:
    listed = []
    for route in place.app.routes:
        path = route.path.replace("{code}", place.survey.code).replace("{change}", "close")  # type: ignore[attr-defined]
        path = path.replace("{name}", "tax").replace("{kind}", "csv")
        guarded = path.startswith(("/studio", "/api/admin"))
        if guarded and path not in ("/studio/login", "/studio/setup", "/studio/enter"):
            listed += [(method, path) for method in sorted(route.methods - {"HEAD"})]  # type: ignore[attr-defined]
    return listed


def test_sessions_are_needed_in_the_studio_and_are_no_keys(place: Place) -> None:
    listed = addresses(place)
    assert len(listed) > 20
    for method, path in listed:
        answer = place.client.request(method, path, json={})
        refused = answer.status_code == 401 or answer.headers.get("location") == "/studio/login"
        assert refused, (method, path, answer.status_code)
        assert place.client.request(method, path, headers={"Authorization": "Bearer guess"}).status_code in (401, 303)
    assert place.store.survey(place.survey.code).state == "open"
    place.sign_in()
    assert place.client.get("/api/admin/surveys").status_code == 401
    place.sign_in()
    for method, path in addresses(place):
        if method == "POST" and path.startswith("/studio"):
            assert place.client.post(path, data={"csrf": "guess"}).status_code == 403, path
            assert place.client.post(path, data={}).status_code == 403, path
    assert place.store.survey(place.survey.code).state == "open"


def test_owners_do_not_see_each_others_surveys(place: Place) -> None:
    place.sign_in("bob")
    page = place.client.get("/studio").text
    assert place.other.code in page and place.survey.code not in page
    for method, path in addresses(place):
        if method == "GET" and place.survey.code in path and path.startswith("/studio"):
            assert place.client.get(path).status_code == 404, path
    key = place.key(place.bob)
    for method, path in addresses(place):
        if path.startswith("/api/admin") and place.survey.code in path:
            body = {"state": "closed", "count": 1}
            assert place.client.request(method, path, headers=key, json=body).status_code == 404, path
    assert place.store.survey(place.survey.code).state == "open"


def test_an_analyst_sees_results_and_changes_nothing(place: Place) -> None:
    place.accounts.share(place.survey, "bob", "analyst")
    csrf = place.sign_in("bob")
    assert place.client.get(f"/studio/s/{place.survey.code}").status_code == 200
    assert place.client.get(f"/studio/s/{place.survey.code}/results.json").status_code == 200
    one, key = f"/api/admin/surveys/{place.survey.code}", place.key(place.bob)
    for change in ("open", "close", "delete", "invite", "share", "edit"):
        answer = place.client.post(f"/studio/s/{place.survey.code}/{change}", data={"csrf": csrf, "name": "bob"})
        assert answer.status_code == 403
        assert place.client.post(f"/studio/s/{place.survey.code}/{change}", headers=key).status_code == 403
    for method, path, body in (
        ("DELETE", one, None),
        ("PUT", f"{one}/state", {"state": "closed"}),
        ("POST", f"{one}/invitations", {"count": 1}),
    ):
        assert place.client.request(method, path, json=body, headers=key).status_code == 403
    assert place.store.survey(place.survey.code).state == "open"


def test_https_makes_cookies_secure(tmp_path: Path) -> None:
    app = served(tmp_path, public_url="https://survey.example.org")
    Accounts(app.state.service.store).add("ada", PASSWORD)
    with TestClient(app, follow_redirects=False, base_url="https://survey.example.org") as client:
        cookie = client.post("/studio/login", data={"name": "ada", "password": PASSWORD}).headers["set-cookie"]
    assert cookie.startswith("__Host-maskwell=") and "secure" in cookie.lower()


def test_the_first_account_is_made_with_the_printed_link(tmp_path: Path) -> None:
    app = served(tmp_path)
    token = Accounts(app.state.service.store).setup_link()
    form = {"token": token, "name": "ada", "password": PASSWORD}
    with TestClient(app, follow_redirects=False) as client:
        assert client.post("/studio/setup", data={**form, "token": "guess"}).status_code == 422
        assert client.post("/studio/setup", data=form).status_code == 303
        assert client.post("/studio/setup", data={**form, "name": "eve"}).status_code == 422


def test_links_and_passwords_work_once_and_are_not_in_the_database(place: Place, tmp_path: Path) -> None:
    link = place.accounts.entry_link(place.ada)
    assert place.client.get(f"/studio/enter?key={link}").status_code == 303
    assert place.client.get("/studio").status_code == 200
    place.client.cookies.clear()
    assert place.client.get(f"/studio/enter?key={link}").status_code == 403
    assert place.accounts.setup_link() is None  # there are accounts already
    place.sign_in()
    token = place.client.cookies["maskwell"]
    place.store.compact()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert PASSWORD.encode() not in content and token.encode() not in content and b"$argon2id$" in content


def test_live_results_equal_those_of_the_exported_file(place: Place, tmp_path: Path) -> None:
    import io
    import zipfile

    import maskwell as mw

    for i in range(60):
        region = i % 2
        asked = {"region": region, "tax": i % 3 // 2, "sources": "1010" if i % 5 else "0011"}
        place.send(place.body(reports=asked if region else {**asked, "cash": i // 2 % 4}))
    place.sign_in()
    live = place.client.get(f"/studio/s/{place.survey.code}/results.json").json()
    assert live["reports"] == 60
    archive = zipfile.ZipFile(io.BytesIO(place.client.get(f"/studio/s/{place.survey.code}/export.csv").content))
    archive.extractall(tmp_path / "out")
    for question in live["questions"][1:]:
        name = question["name"]
        file = mw.estimate(
            str(tmp_path / "out" / "reports.csv"), {name: str(tmp_path / "out" / f"design-{name}.json")}, missing="drop"
        )
        for one, other in zip(question["estimates"], json_form(file.to_dict()["estimates"]), strict=True):
            assert one["category"] == other["category"]
            assert [one["estimate"], *one["interval"]] == pytest.approx([other["estimate"], *other["interval"]])


def test_a_program_runs_a_survey_as_the_openapi_document_says(place: Place) -> None:
    key = place.key(place.ada)
    made = place.client.post("/api/admin/surveys", headers=key, json={"survey": BY_INVITATION})
    assert made.status_code == 201
    path = f"/api/admin/surveys/{made.json()['code']}"
    assert place.client.put(f"{path}/state", headers=key, json={"state": "open"}).json()["state"] == "open"
    assert len(place.client.post(f"{path}/invitations", headers=key, json={"count": 3}).json()["invitations"]) == 3
    assert place.client.get(f"{path}/results", headers=key).json()["reports"] == 0
    assert place.client.get(f"{path}/table?first=tax&second=region", headers=key).json() == {"table": None}
    assert place.client.get(f"{path}/export?format=parquet", headers=key).content[:2] == b"PK"
    assert place.client.delete(path, headers=key).status_code == 200
    assert place.client.get(path, headers=key).status_code == 404
    paths = place.client.get("/openapi.json").json()["paths"]
    for route in place.app.routes:
        path = route.path  # type: ignore[attr-defined]
        if path.startswith("/api/"):
            assert {method.lower() for method in route.methods - {"HEAD"}} <= set(paths[path]), path  # type: ignore[attr-defined]
    counted = paths["/api/admin/surveys/{code}/invitations"]["post"]["requestBody"]["content"]["application/json"]
    assert counted["schema"]["properties"]["count"]["maximum"] == MOST_INVITATIONS
    assert paths["/api/admin/surveys/{code}/export"]["parameters"][1]["schema"]["enum"] == [*EXPORTS]


def test_cookies_and_metrics_tell_scripts_and_strangers_nothing(place: Place) -> None:
    answer = place.client.post("/studio/login", data={"name": "ada", "password": PASSWORD})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    place.send(place.body())
    text = TestClient(place.app, client=("127.0.0.1", 1)).get("/metrics").text
    assert "maskwell_reports_accepted_total 1" in text and place.survey.code not in text


def test_answers_hold_no_trace_of_what_went_wrong_inside(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("Zebra")

    monkeypatch.setattr(place.store, "accept", broken)
    client = TestClient(place.app, raise_server_exceptions=False)
    answer = client.post(f"/api/surveys/{place.survey.code}/reports", json=place.body())
    assert answer.status_code == 500 and "Zebra" not in answer.text
    assert json.loads(answer.text)["error"]["code"] == "fault"

"""Snippets, the page for tablets and forms: what is in them, and what is refused."""

import base64
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")

from starlette.testclient import TestClient

from maskwell.collection import embeds
from maskwell.collection.accounts import Accounts
from maskwell.collection.application import create_app
from maskwell.collection.desk import Desk
from maskwell.collection.forms import DEVICES, choice_names, form_bytes, form_names
from maskwell.collection.settings import Settings
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StateError
from maskwell.collection.studio import studio_routes
from maskwell.collection.survey import Survey
from maskwell.errors import ParameterError

FIELD = """
question = [
  { name = "part of the country", ask = "Where do you live?", answers = ["up north", "south"], open = true },
  { name = "a", ask = "Did you?", answers = ["yes", "no"], design = { gamma = 3 } },
  { name = "b", ask = "How often?", help = "Count every time.", answers = ["never", "once", "often"], \
design = { gamma = 4 }, show_if = { "part of the country" = ["up north"] } },
  { name = "c", ask = "Forced?", answers = ["yes", "no"], \
design = { family = "forced", truth = "3/4", yes = "1/6", no = "1/12" } },
]
[survey]
title = "Field work <&>"
introduction = "Hello ${name}"
thanks = "Bye"
languages = ["en", "de"]
demand = { gamma = 200 }
accept_no_protection = true
[wording.de]
title = "Feldarbeit"
introduction = "Hallo"
thanks = "Auf Wiedersehen"
[wording.de.question]
"part of the country" = { ask = "Wo wohnen Sie?", answers = ["Norden", "Süden"] }
a = { ask = "Haben Sie?", answers = ["ja", "nein"] }
b = { ask = "Wie oft?", help = "Jedes Mal zählen.", answers = ["nie", "einmal", "oft"] }
c = { ask = "Doch?", answers = ["ja", "nein"] }
"""
PLAIN = """
question = [{{ name = "cash", ask = "Cash?", answers = ["yes", "no"], design = {{ {design} }} }}]
survey = {{ title = "Plain", demand = {{ epsilon = 4 }}, access = "{access}" }}
"""


@pytest.fixture(scope="module")
def field() -> Survey:
    return Survey.from_toml(FIELD)


def plain(access: str = "open", design: str = "epsilon = 1") -> Survey:
    return Survey.from_toml(PLAIN.format(access=access, design=design))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk.open(f"sqlite:///{tmp_path / 'surveys.db'}")


def opened(desk: Desk, survey: Survey) -> str:
    code = desk.store.add_survey(survey)
    desk.open_survey(code)
    return code


@pytest.mark.parametrize("platform", embeds.PLATFORM_NAMES)
def test_a_snippet_holds_the_design_and_reaches_for_nothing(field: Survey, platform: str) -> None:
    text = embeds.embed_text(field, "b", platform)
    design = field.by_name["b"].design
    assert design is not None and design.fingerprint in text
    assert not re.search(
        r"\bfetch\(\"?https?:|XMLHttpRequest|sendBeacon|WebSocket|^import |^export ", text, re.MULTILINE
    )
    assert embeds.embed_text(field, "b", platform) == text


def test_snippets_hold_names_and_braces_for_other_programs(field: Survey) -> None:
    """Qualtrics reads ``${...}``, LimeSurvey ``{...}`` without a space; of both only their own fields are left."""
    assert set(re.findall(r"\$\{[^}]*\}", embeds.embed_text(field, "a", "qualtrics"))) == {
        "${e://Field/Q_Language}",
        "${e://Field/ResponseID}",
    }
    fields = set(re.findall(r"\{\S[^}]*\}", embeds.embed_text(field, "a", "limesurvey")))
    assert fields == {"{QID}", "{SGQ}", "{TOKEN}", "{SAVEDID}"}
    assert embeds.field_name("Straße 7") == "Stra_e_7" and embeds.field_name("§§") == "q"
    assert embeds.limesurvey_code("a rather long name of a question") == "aratherlongnameofaqu"
    assert choice_names(["a b", "a-b", "A_b"]) == ["a_b", "a_b_2", "A_b_3"]
    assert form_names(field) == {"part of the country": "part_of_the_country", "a": "a", "b": "b", "c": "c"}
    assert embeds.report_texts(field.by_name["b"]) == ["never", "once", "often"]
    for name, why in (("nobody", "no question"), ("part of the country", "open")):
        with pytest.raises(ParameterError, match=why) as raised:
            embeds.embed_text(field, name, "qualtrics")
        assert len(raised.value.hint or "") <= 100
    with pytest.raises(ParameterError, match="a snippet is not available for"):
        embeds.embed_text(field, "a", "paper")


def test_the_page_is_one_file_that_holds_what_the_service_hands_out(field: Survey) -> None:
    page = embeds.offline_page(field)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and "default-src 'none'; connect-src 'none'" in policy[1]
    for tag, text in re.findall(r'<(style|script type="module")>(.*?)</(?:style|script)>', page, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag.split()[0]}-src 'sha256-{digest}'" in policy[1]
    assert not re.search(r"<link|<img|src=|href=", page.split("<body>")[0])
    assert "<title>Field work &lt;&amp;&gt;</title>" in page and embeds.offline_page(field) == page
    found = re.search(
        r'<script type="application/json" id="content">(.*?)</script>', embeds.offline_page(field), re.DOTALL
    )
    content = json.loads(found[1])
    assert Survey.from_dict(content["survey"]).fingerprint == field.fingerprint
    assert set(content) == {"survey", "wording", "reports"}
    assert content["wording"]["de"]["next_person"] and content["wording"]["en"]["begin"] == "Begin"


MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheets(content: bytes) -> dict[str, list[dict[str, str]]]:
    """The rows of a workbook, read by hand: cells without a value are left out."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        parts = {name: ET.fromstring(book.read(name)) for name in book.namelist() if name.endswith(".xml")}
    texts = ["".join(one.itertext()) for one in parts["xl/sharedStrings.xml"]]
    found = {}
    for number, sheet in enumerate(parts["xl/workbook.xml"].iter(f"{MAIN}sheet"), start=1):
        header, *rows = (
            {re.sub(r"\d", "", cell.attrib["r"]): texts[int("".join(cell.itertext()))] for cell in row}
            for row in parts[f"xl/worksheets/sheet{number}.xml"].iter(f"{MAIN}row")
        )
        found[sheet.attrib["name"]] = [{header[column]: text for column, text in row.items()} for row in rows]
    return found


@pytest.fixture(scope="module", autouse=True)
def _writer() -> None:
    pytest.importorskip("xlsxwriter", reason="XlsxWriter is not installed: forms cannot be written")


@pytest.mark.parametrize("device", DEVICES)
def test_a_form_asks_for_reports_only(field: Survey, device: str) -> None:
    form = sheets(form_bytes(field, device))
    asked = [row["type"] for row in form["survey"] if row["type"].startswith("select")]
    assert asked == ["select_one part_of_the_country", "select_one a", "select_one b", "select_one c"]
    assert {row["type"].split()[0] for row in form["survey"]} == {"note", "select_one", "begin_group", "end_group"}
    choices = [(row["list_name"], row["name"]) for row in form["choices"]]
    assert [name for list_name, name in choices if list_name == "b"] == ["never", "once", "often"]
    assert form["settings"][0]["version"] == field.fingerprint[7:23]
    assert form_bytes(field, device) == form_bytes(field, device)


def test_a_form_skips_what_the_survey_skips_and_its_dice_carry_out_the_design(field: Survey) -> None:
    form = sheets(form_bytes(field, "dice"))
    by_name: Mapping[str, Any] = {row["name"]: row for row in form["survey"] if row["type"] != "end_group"}
    assert by_name["b__asked"]["relevant"] == "(${part_of_the_country} = 'up_north')"
    assert "relevant" not in by_name["a__asked"]
    assert by_name["part_of_the_country"]["label::Deutsch (de)"] == "Wo wohnen Sie?"
    opening = by_name["maskwell_start"]["label::English (en)"]
    assert opening.startswith("Field work <&>\n\nHello $ {name}\n\nTaken together, your reports can show")
    assert opening.endswith("up to 120 times as likely, or as unlikely, as it was before.")
    german = by_name["c__how"]["label::Deutsch (de)"]
    assert "**2 bis 4**: sagen Sie „ja“" in german and "**5 bis 10**: sagen Sie Ihre wahre Antwort" in german
    # One die for question b: truth on 1 to 3, each word on one face; the chances are those of gamma = 4.
    form = sheets(form_bytes(field, "dice"))
    how = next(row for row in form["survey"] if row["name"] == "b__how")["label::English (en)"]
    assert "**1 to 3**: say your true answer" in how
    assert [f"**{n}**: say “{word}”" in how for n, word in ((4, "never"), (5, "once"), (6, "often"))] == [True] * 3
    design = field.by_name["b"].design
    assert design is not None and [str(p) for p in design.exact_matrix()[0]] == ["2/3", "1/6", "1/6"]


@pytest.mark.parametrize("device", DEVICES)
def test_pyxform_takes_the_form(field: Survey, device: str, tmp_path: Path) -> None:
    convert = pytest.importorskip(
        "pyxform.xls2xform", reason="pyxform is not installed: forms are not validated"
    ).convert
    path = tmp_path / "form.xlsx"
    path.write_bytes(form_bytes(field, device))
    made = convert(path)
    assert made.warnings == [] and "selected" not in made.xform and "jr:itext" in made.xform


@pytest.mark.parametrize(
    "design, why",
    [
        ("epsilon = 1", "question 'cash': no dice of a practical size realise its design exactly"),
        ('family = "oue", epsilon = 1', "its reports are sets"),
    ],
)
def test_a_design_that_no_device_carries_out_is_refused(design: str, why: str) -> None:
    with pytest.raises(ParameterError, match=why) as raised:
        form_bytes(plain(design=design), "dice")
    assert "'cash'" in raised.value.message and len(raised.value.hint or "") <= 100


def test_procedures_of_their_own_follow_the_sheet_and_drafts_stay_at_home(desk: Desk, tmp_path: Path) -> None:
    form = sheets(form_bytes(plain(design='family = "crosswise", q = "1/6"'), "cards"))
    how = next(row for row in form["survey"] if row["name"] == "cash__how")["label::English (en)"]
    assert "printed sheet" in how and "card" not in how
    draft = desk.store.add_survey(plain())
    with pytest.raises(StateError, match="draft"):
        desk.offline(draft, tmp_path / "survey.html")
    invited = opened(desk, plain(access="invitations"))
    with pytest.raises(ParameterError, match="invitation"):
        desk.form(invited, "cards", tmp_path / "form.xlsx")
    assert list(tmp_path.glob("*.*ml")) == []


def test_the_studio_hands_out_the_same_files(field: Survey, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'surveys.db'}"
    store = Store(url)
    store.create()
    accounts = Accounts(store)
    account = accounts.add("ann", "a long password of hers")
    code, draft = (store.add_survey(field, owner=account) for _ in range(2))
    store.open(code)
    headers = {"Authorization": f"Bearer {accounts.begin_session(account)}", "Accept": "text/html"}
    app = create_app(Settings.load(database=url), more=studio_routes)
    with TestClient(app, headers=headers) as client:
        page = client.get(f"/studio/s/{code}").text
        assert "Other survey platforms" in page and f"/studio/s/{code}/embed/limesurvey/a" in page
        assert "Other survey platforms" not in client.get(f"/studio/s/{draft}").text
        assert client.get(f"/studio/s/{code}/embed/surveyjs/a").text == embeds.embed_text(field, "a", "surveyjs")
        offline = client.get(f"/studio/s/{code}/offline.html")
        assert offline.text == embeds.offline_page(field)
        assert offline.headers["content-disposition"].startswith("attachment")
        assert offline.headers["content-type"] == "application/octet-stream"
        assert client.get(f"/studio/s/{code}/form-dice.xlsx").content == form_bytes(field, "dice")
        assert client.get(f"/studio/s/{draft}/offline.html").status_code == 422
        assert client.get(f"/studio/s/{code}/form-spinner.xlsx").status_code == 422
        assert client.get("/studio/s/0000000000/offline.html").status_code == 404
        stranger = {"Authorization": "Bearer nobody"}
        answer = client.get(f"/studio/s/{code}/offline.html", headers=stranger, follow_redirects=False)
        assert answer.status_code == 303
    store.close()

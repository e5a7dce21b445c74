import math
import re
import sys
from functools import cache

import numpy as np
import pytest
from tests.support.outline import Outline
from tests.support.quiet import refused

from maskwell import Categories, Counts, Demand, Design
from maskwell.designs import Dense, LocalDiversity, Subset, Unary, Uniform
from maskwell.errors import MissingExtraError
from maskwell.estimation import estimate_by_moments
from maskwell.plots import Picture
from maskwell.reports.pages.survey_page import PageContent, page
from maskwell.reports.pictures import estimate_picture

ODD = ["<script>alert(1)</script>", "a & b", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}"]


def content_of(design: Design, counts: list[int], n: int, **more: object) -> PageContent:
    estimate = estimate_by_moments(Counts(np.array(counts), n, design.fingerprint), design)
    told = {"title": "A <title> & more", "question": "Do you?", "lead": "Some do.", **more}
    return PageContent(design=design, estimate=estimate, **told)  # type: ignore[arg-type]


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their drawings, where only words are asked for."""
    usual_page()  # which has them, and stays
    monkeypatch.setattr(Picture, "inline_svg", lambda *_, **__: "")


@cache
def usual_page() -> str:
    return uniform_page()


def uniform_page(**more: object) -> str:
    design = Uniform.from_epsilon(1, Categories.of(ODD))
    told = {
        "demand": Demand.from_epsilon(1),
        "truth": np.array([0.4, 0.3, 0.2, 0.1]),
        "reported": np.array([0.3, 0.3, 0.2, 0.2]),
        "notice": "made <up>",
        "commands": [("maskwell audit 'a & b.json'", "what?")],
        **more,
    }
    return page(content_of(design, [300, 300, 200, 200], 1000, **told))


def test_the_page_is_whole_and_asks_nobody_for_anything() -> None:
    found = Outline(usual_page())
    assert [name for name, _ in found.opened if re.fullmatch(r"h\d", name)] == ["h1"] + ["h2"] * 6
    assert len(found.named("main")) == len(found.named("title")) - len(found.named("figure")) == 1
    assert found.named("html") == [{"lang": "en"}]
    identifiers = [attributes["id"] for _, attributes in found.opened if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    text = usual_page()
    assert not re.search(r"(?:https?:)?//[a-z0-9]", re.sub(r"</?[a-z]+>", "", text), re.IGNORECASE)
    assert "@import" not in text
    assert "url(" not in text or set(re.findall(r"url\((.)", text)) == {"#"}
    found = Outline(text)
    assert found.named("script") == found.named("link") == []


@pytest.mark.usefixtures("undrawn")
def test_the_page_says_what_was_promised_and_whether_it_holds() -> None:
    text = usual_page()
    assert "by at most a factor of 2.719, up or down" in text and "This design meets it" in text
    assert "does not meet it" in uniform_page(demand=Demand.from_gamma(2))
    assert "The privacy requirement was" not in uniform_page(demand=None)


@pytest.mark.usefixtures("undrawn")
def test_columns_that_are_not_known_are_left_out() -> None:
    bare = uniform_page(truth=None, reported=None, commands=(), notice="")
    found = Outline(bare)
    assert "Truth" not in found.texts["th"] and "Reported" not in found.texts["th"]
    assert len(found.named("h2")) == 5


@pytest.mark.parametrize(
    ("design", "counts"),
    [
        (Subset.from_gamma(3, Categories.numbered(30), size=8), [80] * 30),
        (LocalDiversity.of(3, Categories.numbered(5)), [60] * 5),
        (Uniform.from_gamma(3, Categories.of(["yes", "no"])), [280, 20]),
        (Uniform.from_gamma(3, Categories.of(["yes", "no"])), [300, 0]),
        (Dense.of([["1", "0"], ["0", "1"]]), [300, 0]),
        (Unary.oue_from_gamma(3, Categories.numbered(31)), [80] * 31),
    ],
)
def test_other_designs_have_pages_too(design: Design, counts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The last has more lines than two pages of pictures hold."""
    many = design.k == 31
    if many:
        monkeypatch.setattr(estimate_picture, "LINES", 12)
    content = content_of(design, counts, 300)
    text = page(content)
    found = Outline(text)
    assert all(flag in "".join(found.texts["p"]) for flag in content.estimate.flags)
    assert ("Page 3 of 3" in text) == many and ("rule out" in text) == math.isinf(design.parity())


def test_a_page_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    caught = refused(MissingExtraError, "", uniform_page)
    assert caught.hint == "pip install 'maskwell[report]'"

import math
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.support.drawings import said, smallest_letters, words_of
from tests.support.quiet import refused
from tests.support.together import together

from maskwell import Categories, Counts, Design, Sampling
from maskwell.designs import Dense, Subset, Unary, Uniform
from maskwell.errors import DataFileError, MaskwellError, MissingExtraError, UnknownCategoryError, WrongTypeError
from maskwell.estimation import Estimate, estimate_by_moments, estimate_survey
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.plots import Picture, plot_flows
from maskwell.reports.pictures import estimate_picture
from maskwell.reports.pictures.estimate_picture import plot_learned
from maskwell.reports.pictures.revelation import plot_revealed

ODD = ["<script>alert(1)</script>", "$x^2$ & 'y'", '"quoted"', "病気 🙂"]
SVG = "{http://www.w3.org/2000/svg}"


def estimate_of(counts: list[int], design: Design | None = None) -> Estimate:
    design = design or Uniform.from_gamma(3, Categories.numbered(len(counts)))
    return estimate_by_moments(Counts(np.array(counts), sum(counts), design.fingerprint), design)


@cache
def pictures() -> list[Picture]:
    odd = Uniform.from_epsilon(1, Categories.of(ODD))
    many = Categories.numbered(500)
    return [
        plot_flows(odd, truth=ODD[1]),
        plot_flows(Uniform.from_gamma(3, many), truth=400),
        plot_flows(Subset.from_gamma(3, Categories.of(list("abcd")), size=2)),
        plot_flows(Subset.from_gamma(3, many, size=100)),
        plot_flows(Unary.oue_from_gamma(3, Categories.of(["a", "b"]))),
        plot_flows(Dense.of([["1/2", "0"], ["1/4", "1/2"], ["1/4", "1/2"]])),
        plot_learned(estimate_of([300, 200, 250, 250], odd), truth=np.array([0.4, 0.3, 0.2, 0.1])),
        plot_learned(estimate_of([2] * 26)),
        plot_learned(estimate_of([2, 0])),
        plot_revealed(Fraction(5)),
        plot_revealed(Fraction(1)),
        plot_revealed(Fraction(10**12)),
        plot_revealed(math.inf),
    ]


@pytest.mark.parametrize("truth", [-1, 4])
def test_flows_refuse_a_truth_that_is_not_there(truth: int) -> None:
    refused(UnknownCategoryError, "truth", plot_flows, Uniform.from_gamma(3, Categories.numbered(4)), truth=truth)


def test_learned_holds_the_interval_and_its_parts_and_draws_its_ends() -> None:
    estimate = estimate_of([400, 350, 250])
    truth = np.array([0.5, 0.3, 0.2])
    picture = plot_learned(estimate, truth=truth, level=0.9, interval="wald")
    interval = np.column_stack([picture.data["low"], picture.data["high"]])
    np.testing.assert_allclose(interval, estimate.confidence_interval(0.9, "wald"))
    half = picture.data["high"] - picture.data["estimate"]
    added = 1.6448536269514722**2 * estimate.randomization_variance
    np.testing.assert_allclose(picture.data["sampling_half_width"] ** 2 + added, half**2)
    np.testing.assert_array_equal(picture.data["truth"], truth)
    assert "reported" not in picture.data and "true share" in picture.columns
    estimate = estimate_of([270, 730])
    picture = plot_learned(estimate)
    interval = np.column_stack([picture.data["low"], picture.data["high"]])
    np.testing.assert_allclose(interval, estimate.confidence_interval(0.95, "score"))
    assert interval[0, 0] == 0 < estimate.pi_hat[0]
    assert picture.columns[2:4] == ["from", "to"] and picture.rows[0][2:4] == ["0.0\u00a0%", "9.7\u00a0%"]
    assert "(0.0 to 9.7) percent" in picture.text
    bars = [patch.get_xy()[:, 0] for patch in picture.axes[0].patches]
    assert (min(bars[0]), max(bars[0])) == pytest.approx(tuple(interval[0]))
    wald = plot_learned(estimate, interval="wald")
    assert wald.data["low"][0] < 0 and "plus or minus" in wald.text


def domains_of(design: Uniform, groups: list[str]) -> SurveyEstimate:
    n = 40 * len(groups)
    codes = np.tile(np.repeat(np.arange(design.k), [20, *[20 // (design.k - 1)] * (design.k - 1)]), len(groups))
    plan = Sampling(weights=np.ones(n))
    reports = np.array(design.inputs.labels)[codes]
    return estimate_survey(reports, design, plan, domains=np.repeat(groups, 40))


def test_learned_draws_a_line_for_each_domain_and_groups_their_categories() -> None:
    estimate = domains_of(Uniform.from_gamma(5, Categories.of(["evaded", "honest"])), ["east", "west"])
    picture = plot_learned(estimate, by="region", level=0.9)
    assert [row[0] for row in picture.rows] == ["all", "east", "west"] and picture.columns[0] == "region"
    shares = [float(one.pi_hat[0]) for one in (estimate, *estimate.domains.values())]
    np.testing.assert_allclose(picture.data["estimate"], shares)
    assert all(word in said(picture) for word in ("all", "east", "west", "Share of evaded, %"))
    assert "90 % Wald and score interval" in said(picture)
    low, high = 100 * estimate.domains["west"].confidence_interval(0.9)[0]
    assert f"west 50.0 ({low:.1f} to {high:.1f}) percent" in picture.text
    estimate = domains_of(Uniform.from_gamma(5, Categories.of(["a", "b", "c"])), ["east", "west"])
    picture = plot_learned(estimate, by="region")
    assert [row[:2] for row in picture.rows] == [[g, c] for g in ("all", "east", "west") for c in "abc"]
    assert picture.columns[:2] == ["region", "category"]
    assert len(picture.axes[0].patches) == 2 * 9  # an interval, and within it that of open answers
    many = plot_learned(domains_of(Uniform.from_gamma(5, Categories.of(["a", "b", "c"])), list("abcdefghij")))
    assert len(many.rows) == 33 and len(many.pages) == 1


def test_learned_draws_every_category_on_as_many_pages_as_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate_picture, "LINES", 5)
    picture = plot_learned(estimate_of([2] * 12))
    assert len(picture.rows) == 12 and len(picture.pages) == 3
    words = [said(picture, page=page) for page in range(3)]
    assert {str(i) for i in range(12)} <= set(" ".join(words).split())
    assert all(f"Page {i} of 3" in page for i, page in enumerate(words, 1))
    assert len({picture.figure(page=page).axes[0].get_xlim() for page in range(3)}) == 1
    picture.save(tmp_path / "all.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all-2.svg", "all-3.svg", "all.svg"]
    assert picture._repr_png_() is None and (picture._repr_html_() or "").count("<img") == 3


def test_long_labels_are_wrapped_and_nothing_is_cut() -> None:
    labels = [f"{name} {'who lives in the north of the country ' * 3}".strip() for name in ("somebody", "nobody")]
    estimate = estimate_of([60, 40], Uniform.from_gamma(3, Categories.of(labels)))
    words = said(plot_learned(estimate))
    assert all(label in words for label in labels) and "…" not in words


@together("order", ["largest", "smallest", "name", ["c", "a"]])
def test_lines_come_in_the_order_that_was_asked_for(order: str | list[str]) -> None:
    design = Uniform.from_gamma(9, Categories.of(["b", "a", "c"]))
    estimate = estimate_by_moments(Counts(np.array([20, 70, 40]), 130, design.fingerprint), design)
    expected = {"largest": "acb", "smallest": "bca", "name": "abc"}.get(str(order), "cab")
    assert "".join(row[0] for row in plot_learned(estimate, order=order).rows) == expected


def test_looks_are_those_that_were_asked_for() -> None:
    from matplotlib.figure import Figure

    picture = plot_learned(estimate_of([400, 350, 250]))
    styled = picture.with_style(title="Tax", colours={"sampling": "red"}, size=5)
    figure = styled.figure()
    assert figure is styled.figure() and figure.axes == [*styled.axes]
    assert figure.get_size_inches()[0] == pytest.approx(5) and "Tax" in said(styled)
    assert any(patch.get_facecolor()[:3] == (1, 0, 0) for patch in styled.axes[0].patches)
    assert not any(patch.get_facecolor()[:3] == (1, 0, 0) for patch in picture.axes[0].patches)
    before, after = (words_of(one.figure())[0].get_fontsize() / one.figure().bbox.width for one in (picture, styled))
    assert after == pytest.approx(before)
    ax = Figure(figsize=(8, 6)).add_subplot(1, 2, 1)
    within = picture.with_style(ax=ax)
    assert within.figure() is ax.figure and [*within.axes] == ax.child_axes and within._repr_png_() is None
    for looks in ({"colours": {"nothing": "red"}}, {"colours": {"truth": "no colour"}}, {"size": 0}, {"ax": 3}):
        refused(MaskwellError, "", picture.with_style, **looks)


def test_every_picture_is_drawn_and_described() -> None:
    for picture in pictures():
        drawn = ET.fromstring(picture.svg())
        title, desc = drawn.find(f"{SVG}title"), drawn.find(f"{SVG}desc")
        assert title is not None
        assert desc is not None
        assert (title.text, desc.text) == (picture.title, picture.text)
        assert drawn.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
        assert drawn.find(f".//{SVG}script") is None
        assert all(len(row) == len(picture.columns) for row in picture.rows)


@together("which", range(13))
def test_letters_can_be_read_on_a_phone(which: int) -> None:
    assert smallest_letters(pictures()[which].figure()) >= 9


@pytest.mark.parametrize(("ending", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_pictures_are_saved_by_their_ending(tmp_path: Path, ending: str, start: bytes) -> None:
    saved = plot_revealed(Fraction(3)).save(tmp_path / f"a{ending}")
    assert saved.read_bytes().startswith(start)


def test_saving_refuses_what_it_cannot_write(tmp_path: Path) -> None:
    picture = plot_revealed(Fraction(3))
    refused(DataFileError, r"\.gif", picture.save, tmp_path / "a.gif")
    refused(DataFileError, "does not exist", picture.save, tmp_path / "nowhere" / "a.svg")


def test_a_picture_needs_no_drawing_library_for_its_words_and_a_parity_not_a_design(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = plot_revealed(Fraction(3))
    assert picture.text
    caught = refused(MissingExtraError, "", picture.svg)
    assert caught.hint == "pip install 'maskwell[report]'"
    with pytest.raises(WrongTypeError, match="parity must be a number, not") as raised:
        plot_revealed(Uniform.from_gamma(3, Categories.numbered(2)))  # type: ignore[arg-type]
    assert "design.parity_exact()" in raised.value.hint

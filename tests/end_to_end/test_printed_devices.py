"""Every printed device realises the matrix that estimates use: the sheets are read and followed word by word."""

import random
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from tests.support.respondent import printed_matrix
from tests.support.together import together

import maskwell as mw
from maskwell import Categories, Design
from maskwell.core.report_data import Reports
from maskwell.designs import Dense
from maskwell.errors import LabelError, ParameterError, TooLargeError
from maskwell.procedures.decks import report_labels
from maskwell.procedures.joint_answers import repeated
from maskwell.procedures.realisation import make_device
from maskwell.procedures.registry import PROCEDURES
from maskwell.reports import SheetOptions
from maskwell.reports.device.device_sheets import device_page

THREE = Categories.of(["never", "once", "often"])
EVADED = Categories.of(["evaded", "honest"])
TEN = Categories.of([f"answer {i}" for i in range(10)])
ODD = ('a, "b"', "<b>x</b> & 'y'", "ä€𝄞 “z”", "no, " * 12 + "never")
QUESTION = 'Did you ever "do" <it> & so on?'

DESIGNS: dict[str, list[dict[str, Any]]] = {
    "warner": [{"p": p} for p in ("0.7", "0.2", "1", "0", "17/36")],
    "kim-warde": [{"p": "0.7"}, {"p": "1/6"}],
    "simmons": [
        {"p": "0.7", "beta": "1/4"},
        {"p": "0.7", "beta": "0"},
        {"p": "1", "beta": "1/3"},
        {"p": "2/3", "beta": "1"},
        {"p": "0.7"},
        {"p": "0"},
    ],
    "soberanis-cruz": [{"p": "0.7", "beta": "1/2"}],
    "devore": [{"p": "0.7"}, {"p": "1"}],
    "mangat-singh": [{"t": "0.4", "p": "0.7"}, {"t": "0", "p": "0.7"}, {"t": "1", "p": "0.3"}, {"t": "1/6", "p": "1"}],
    "mangat": [{"p": "0.7"}, {"p": "1"}],
    "mangat-singh-singh": [{"p": "0.6", "alpha": "0.5"}, {"p": "0.6"}, {"p": "1/3", "alpha": "0"}],
    "singh-joarder": [{"p": "0.6"}, {"p": "0.1"}, {"p": "1"}],
    "forced": [
        {"truth": "3/4", "yes": "1/6", "no": "1/12"},
        {"truth": "1/2", "yes": "1/2", "no": 0},
        {"truth": "1", "yes": 0, "no": 0},
        {"truth": "5/9", "yes": 0, "no": "4/9"},
    ],
    "crosswise": [{"q": "1/6"}, {"q": "0.9"}, {"q": "0"}],
    "triangular": [{"q": "1/4"}, {"q": "0"}, {"q": "0.37"}],
    "kuk": [
        {"theta1": "0.8", "theta2": "0.2", "draws": 3},
        {"theta1": "1/3", "theta2": "1/2", "draws": 1},
        {"theta1": "1", "theta2": "0.25", "draws": 2},
    ],
    "chow": [
        {"red": 6, "blue": 4, "draws": 2},
        {"red": 3, "blue": 2, "draws": 1},
        {"red": 2, "blue": 5, "draws": 4, "allow_revealing": True},
    ],
    "christofides": [
        {"probabilities": ["1/2", "1/3", "1/6"]},
        {"probabilities": ["0.7", "0.3"]},
        {"probabilities": ["0", "1/2", "1/8", "3/8", "0"]},
    ],
    "simmons-twice": [{"p1": "0.6", "p2": "0.7"}, {"p1": "1", "p2": "1/3"}],
    "mangat-singh-singh-twice": [{"p1": "0.6", "p2": "0.8"}],
    "greenberg": [{"categories": THREE, "p": "0.6", "beta": ["1/2", "1/4", "1/4"]}],
    "liu-chow": [
        {"categories": THREE, "p": "1/2", "q": ["1/6", "1/6", "1/6"]},
        {"categories": THREE, "p": "1/2", "q": ["1/2", "0", "0"]},
    ],
    "bourke-dalenius": [
        {"categories": THREE, "weights": ["0.7", "0.2", "0.1"]},
        {"categories": THREE, "weights": ["0", "1", "0"]},
        {"categories": TEN, "weights": ["11/20", *["1/20"] * 9]},
    ],
    "k-ary": [{"categories": THREE, "gamma": 3}, {"categories": TEN, "gamma": 5}],
    "subset": [{"categories": Categories.of(["a", "b", "c", "d"]), "gamma": 3, "size": 2}],
    "rappor": [{"categories": THREE, "gamma": 4}],
    "oue": [{"categories": THREE, "gamma": 3}],
    "l-diverse": [{"categories": TEN, "l": 2}],
    "abul-ela": [
        {"categories": THREE, "probabilities": ["0.6", "0.3", "0.1"]},
        {"categories": THREE, "probabilities": ["1", "0", "0"]},
    ],
    "greenberg-statements": [
        {"categories": THREE, "statements": ["0.5", "0.2", "0.1"], "unrelated": "0.2"},
        {"categories": THREE, "statements": ["0.5", "0.2", "0.1"], "unrelated": "0.2", "beta": "1/4"},
        {"categories": THREE, "statements": ["0.5", "0.5", "0"], "unrelated": "0", "beta": "1/4"},
    ],
}
NO_TRUTHS_TO_ASK = {"cheating-detection", "lie-detector"}
"""Their truths are kinds of people; what they are told is tested apart."""

MEDIA: list[dict[str, Any]] = [
    {},
    {"general": True},
    {"medium": "dice"},
    {"medium": "dice", "general": True},
    {"medium": "dice", "faces": 10},
    {"medium": "dice", "faces": 2},
    {"medium": "spinner"},
]


CASES = [(family, parameters) for family, several in DESIGNS.items() for parameters in several]


def made(family: str, parameters: dict[str, Any], **labels: Categories) -> Design:
    return mw.design(family, allow_unidentifiable=True, **{**parameters, **labels})


def reports_of(design: Design) -> Sequence[Hashable]:
    """What is said for each row: its label, or the categories of a set."""
    if isinstance(design.outputs, Categories):
        return design.outputs.labels
    rows = Reports(design.fingerprint, design.k, "bits", design.report_space()).texts()
    sets = [tuple(name for name, bit in zip(design.inputs.labels, row, strict=True) if bit == "1") for row in rows]
    return [chosen or "none" for chosen in sets]


def check(design: Design, **how: Any) -> str:
    """Print the device, read the sheets, and compare with the design that is used in estimation."""
    device = make_device(design, **how)
    page = device_page(device, SheetOptions(question=QUESTION))
    found = printed_matrix(page, design.inputs.labels, reports_of(design))
    assert found == device.realised.exact_matrix(), (device, how)
    return page


def test_every_family_is_read() -> None:
    assert set(DESIGNS) | NO_TRUTHS_TO_ASK | {"bits"} == set(PROCEDURES)


@pytest.mark.parametrize("how", MEDIA, ids=str)
@together(("family", "parameters"), CASES)
def test_sheets_realise_the_design(family: str, parameters: dict[str, Any], how: dict[str, Any]) -> None:
    design = made(family, parameters)
    try:
        device = make_device(design, **how)
    except TooLargeError:  # too many cards to shuffle, or sectors to read
        pytest.skip("this device would be too large")
    if device.spinner is not None and not device.spinner.in_tenths:
        assert any("tenths" in warning for warning in device.warnings())
        return
    try:
        check(design, **how)
    except TooLargeError:
        pytest.skip("these coins would have too many outcomes")


@pytest.mark.parametrize(
    ("family", "parameters"), [case for case in CASES if PROCEDURES[case[0]].truths == ("yes", "no")]
)
@together("names", [("evaded", "honest"), ("no", "yes"), ODD[:2], ODD[2:]], ids=str)
def test_other_names_of_the_truths(family: str, parameters: dict[str, Any], names: tuple[str, str]) -> None:
    """Reports stay what they were, so the sheets must tell which word stands for which truth."""
    for how in MEDIA[:3]:
        check(made(family, parameters, categories=Categories.of(names)), **how)


@pytest.mark.parametrize(
    "family", [name for name in DESIGNS if PROCEDURES[name].reports == ("yes", "no") and name != "simmons-twice"]
)
@together("names", [("ja", "nein"), ("no", "yes"), ODD[:2], ODD[1:3]], ids=str)
def test_other_names_of_the_reports(family: str, names: tuple[str, str]) -> None:
    for parameters in DESIGNS[family]:
        for how in MEDIA[:3]:
            check(made(family, parameters, reports=Categories.of(names)), **how)


@together("family", ["simmons-twice", "mangat-singh-singh-twice"])
@together("names", [("1", "0"), ("no", "yes"), ("p", "q", "r", "s")], ids=str)
def test_other_names_of_two_answers(family: str, names: tuple[str, ...]) -> None:
    for how in MEDIA[:3]:
        check(made(family, DESIGNS[family][0], reports=Categories.of(names)), **how)


@pytest.mark.parametrize("how", MEDIA[:5], ids=str)
def test_odd_labels(how: dict[str, Any]) -> None:
    odd = Categories.of(ODD)
    page = check(mw.design("liu-chow", categories=odd, p="1/2", q=["1/8"] * 4), **how)
    assert "<b>x</b>" not in page
    check(mw.design("bourke-dalenius", categories=odd, weights=["0.7", "0.1", "0.1", "0.1"]), **how)
    check(mw.design("abul-ela", categories=odd, probabilities=["0.4", "0.3", "0.2", "0.1"]), **how)
    check(mw.design("subset", categories=odd, gamma=3, size=2), **how)


@together("labels", [[1, "1", 2], ["a b", "a  b", "c"], ["a", "", "b"], ["a", "  ", "b"]], ids=str)
def test_labels_that_cannot_be_told_apart_on_paper(labels: list[Hashable]) -> None:
    with pytest.raises(LabelError, match="look the same on paper"):
        make_device(mw.design("k-ary", categories=Categories.of(labels), gamma=3))


@together("seed", range(40))
def test_random_matrices(seed: int) -> None:
    """Any rational matrix, also with zeros, more reports than truths or fewer, and reports in the words of truths."""
    draw = random.Random(seed)
    k, m, size = draw.randint(2, 5), draw.randint(1, 6), draw.choice([2, 3, 6, 10, 12, 36])
    hits = [[draw.randrange(m) for _ in range(size)] for _ in range(k)]
    columns = [[Fraction(hit.count(i), size) for i in range(m)] for hit in hits]
    words = [f"w{i}" for i in range(max(k, m))]
    outputs = draw.sample(words, m)
    inputs = words[:k] if draw.random() < 0.7 else [f"t{i}" for i in range(k)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    design = Dense.of(rows, Categories.of(inputs), Categories.of(outputs))
    for how in MEDIA[:5]:
        check(design, **how)


@pytest.mark.parametrize("swap", [False, True])
def test_reports_in_the_words_of_the_truths_but_in_another_order(swap: bool) -> None:
    """The place of a report in the matrix means nothing, its word does."""
    outputs = ["no", "yes"] if swap else ["yes", "no"]
    P = [["3/4", "1/4"], ["1/4", "3/4"]]
    design = Dense.of(P, Categories.of(["yes", "no"]), Categories.of(outputs))
    assert ("Give your true answer" in check(design)) is not swap


def test_a_provenance_that_lies() -> None:
    truth = mw.design("forced", truth="3/4", yes="1/6", no="1/12")
    for family in PROCEDURES:
        for parameters in ({}, {"p": "11/12"}, {"q": "11/12"}, {"p": "0.7", "beta": "1/4"}, {"p": "1/0"}, {"p": "x"}):
            check(truth.with_provenance(family=family, parameters=parameters))
    warner = mw.design("warner", p="0.7")
    check(warner.with_provenance(family="crosswise", parameters={"q": "0.7"}))
    check(warner.with_provenance(family="mangat-singh", parameters={"t": "0", "p": "0.7"}))


@pytest.mark.parametrize("most", [1, 2, 5, 19, 50, 120])
def test_rounded_devices_realise_what_they_hand_on(most: int) -> None:
    """The sheets carry out the design of the file to estimate with, whatever was asked for."""
    for design in (
        mw.design("k-ary", categories=THREE, epsilon=1),
        mw.design("subset", categories=THREE, epsilon=1, size=2),
        mw.design("warner", p="0.70001"),
        mw.design("simmons", p="0.70001"),
        mw.design("forced", truth="0.7771", yes="0.1", no="0.1229", categories=EVADED),
    ):
        for how in ({}, {"medium": "dice"}, {"medium": "spinner"}, {"not_less_private": True}):
            try:
                check(design, most=most, **how)
            except ParameterError:
                assert most < 20


@pytest.mark.parametrize(("family", "p"), [("cheating-detection", "1/5"), ("lie-detector", "1/6")])
def test_people_who_do_not_follow_the_rules(family: str, p: str) -> None:
    """Those who do are told to answer with the chances of the design; nobody is asked which kind they are."""
    design = mw.design(family, p=p, reports=Categories.of(["ja", "nein"]))
    for how in MEDIA[:3]:
        page = device_page(make_device(design, **how), SheetOptions(question=QUESTION))
        found = printed_matrix(page, ["yes", "no"], ["ja", "nein"])
        honest = {"cheating-detection": (0, 1), "lie-detector": (0, 2)}[family]
        assert found == [[row[j] for j in honest] for row in design.exact_matrix()]


def test_sets_that_would_read_the_same() -> None:
    """{a, b} and the one category 'a, b'; nothing, and the category 'none'."""
    design = mw.design("rappor", categories=Categories.of(["a", "b", "a, b"]), gamma=4)
    assert len(set(report_labels(design))) == 8
    design = mw.design("rappor", categories=Categories.of(["none", "b"]), gamma=4)
    assert len(set(report_labels(design))) == 4


@pytest.mark.parametrize(
    "design",
    [
        mw.design("bits", items=["bread", "milk"], gamma=9),
        mw.designs.Kronecker.of([mw.design("warner", p="3/4"), mw.design("k-ary", categories=THREE, gamma=2)]),
        repeated([mw.design("warner", p="3/4"), mw.design("forced", truth="1/2", yes="1/3", no="1/6")]),
    ],
    ids=["bits", "product", "repeated"],
)
def test_designs_made_of_several(design: Design) -> None:
    for how in MEDIA[:5]:
        check(design, **how)

"""Every kind of design is in all places that must know it; CONTRIBUTING.md lists them."""

import re
from pathlib import Path

from tests.support.examples import EXAMPLES
from tests.support.together import together

from maskwell.designs.wire import KINDS

ROOT = Path(__file__).resolve().parents[3]
SRC = "src/maskwell"
WRITTEN_OUT = {"sparse", "blocks", "composed"}  # a certificate does not hold them as such
FOR_PROGRAMS = {*KINDS} - {"uniform", "subset", "l-diverse", "unary"}  # respondents read the promise alone

# by place: what names a kind there, and the kinds that need not be there
PLACES: dict[str, tuple[str, set[str]]] = {
    f"{SRC}/designs/__init__.py": ("{name} as {name}", {"patterns"}),  # made by design choice only
    f"{SRC}/designs/design.schema.json": ('"{kind}"', set()),
    "clients/javascript/maskwell.js": ("""^  "?{kind}"?[:(]""", set()),
    f"{SRC}/collection/static/maskwell.js": ("""^  "?{kind}"?[:(]""", set()),
    f"{SRC}/privacy/certificate.schema.json": ('"{kind}"', WRITTEN_OUT),
    "docs/reference/check_certificate.py": ('"{kind}"', WRITTEN_OUT),
    f"{SRC}/reports/demand_words.py": ('"{kind}": ', {*FOR_PROGRAMS}),
    "tests/support/examples.py": (r"\b{name}\b", set()),
}
CLASSES = {design.kind: type(design).__name__ for design in EXAMPLES.values()}


def missing(place: str, text: str) -> list[str]:
    """The kinds that a place with this text ought to name and does not."""
    pattern, spared = PLACES[place]
    named = {kind: re.escape(CLASSES.get(kind, "a class without an example")) for kind in KINDS}
    spelt = {kind: pattern.format(kind=re.escape(kind), name=name) for kind, name in named.items()}
    return [kind for kind, words in spelt.items() if kind not in spared and not re.search(words, text, re.MULTILINE)]


@together("place", [*PLACES])
def test_every_kind_is_named_where_it_must_be(place: str) -> None:
    absent = missing(place, (ROOT / place).read_text(encoding="utf-8"))
    assert not absent, (
        f"{place} does not know the designs of kind {', '.join(absent)} of designs/wire.py: add them there"
    )


@together("place", [*PLACES])
def test_a_kind_that_is_not_there_is_found(place: str) -> None:
    kind = next(one for one in KINDS if one not in PLACES[place][1])
    text = (ROOT / place).read_text(encoding="utf-8")
    for word in (kind, CLASSES[kind]):
        text = re.sub(rf"\b{word}\b", "another", text)
    assert kind in missing(place, text)

"""DDI files against a schema and data packages against the validator of Frictionless, with documents that must fail.

The schema is our own, of the part of DDI Codebook 2.5 that releases write (``tests/support``): that of the standard may
not be copied here, and no package of PyPI or npm was found that has it. Who has it checks with both:

    MASKWELL_DDI_SCHEMA=.../codebook.xsd .venv/bin/python -m pytest tests/unit/microdata/folder/test_metadata_schemas.py

That was done with the ``codebook.xsd`` of DDI 2.5 dated 2012-01-17 (ddialliance/ddi-c_2 on GitHub, "version 2.5.1") and
with the one dated 2014-01-28 that the R package rddi has, which differs in its date alone. Both accept the documents
here that our schema accepts and refuse every one that it refuses.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import shutil
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.support.together import together

import maskwell as mw

xmlschema = pytest.importorskip("xmlschema", reason="no xmlschema: pip install xmlschema")
frictionless = pytest.importorskip("frictionless", reason="no Frictionless: pip install frictionless")

OURS = Path(__file__).parents[3] / "support/ddi-codebook-2.5-subset.xsd"
SCHEMAS = [str(OURS), *filter(None, [os.environ.get("MASKWELL_DDI_SCHEMA")])]
NAMESPACE = "ddi:codebook:2_5"
TOWNS = ["Zürich", "Bern", "a<b>&\"'"]


@cache
def schema(path: str) -> Any:
    return xmlschema.XMLSchema10(path, allow="local")


def faults(path: str, document: str) -> list[str]:
    """What a schema has against a document."""
    return [f"{error.path}: {error.reason}" for error in schema(path).iter_errors(document)]


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public part of a release with every kind of column: randomized, linked, recoded, weights, dates, gaps."""
    folder = tmp_path_factory.mktemp("release")
    lines = [
        f'"{TOWNS[i % 3].replace(chr(34), chr(34) * 2)}",{"mf"[i % 2]},{TOWNS[i % 3][0]},{i % 90},{1 + i % 4}.5,'
        f"{'' if i % 5 == 0 else i % 7},2026-01-{1 + i % 9:02},{'true' if i % 2 else 'false'},0{i % 5}"
        for i in range(180)
    ]
    heads = "town,sex,letter,age,w,children,day,owner,code"
    (folder / "true.csv").write_text("\n".join([heads, *lines, ""]), encoding="utf-8")
    plan = mw.ReleasePlan.of(
        [
            {"variables": ["town"], "within": ["sex"], "method": "method1", "theta": "0.5", "linked": ["letter"]},
            {"variables": ["age"], "method": "swap", "base": "method1", "theta": "0.5"},
        ],
        title="Towns & people",
        weights="w",
        recode={"age": {"top": 60, "round": 20}},
        accept=["children", "day", "owner", "code"],
    )
    mw.release(str(folder / "true.csv"), plan, str(folder / "released"))
    return folder / "released/public"


@pytest.mark.parametrize("path", SCHEMAS, ids=["ours", "official"][: len(SCHEMAS)])
def test_ddi_files_are_valid(public: Path, path: str) -> None:
    document = (public / "ddi.xml").read_text(encoding="utf-8")
    assert all(f"<{name}" in document for name in ("labl", "notes", "dataProcessing", "EstSmpErr", "catValu"))
    assert faults(path, document) == []


def only(root: ET.Element, name: str) -> ET.Element:
    return next(root.iter(f"{{{NAMESPACE}}}{name}"))


def parent_of(root: ET.Element, name: str) -> ET.Element:
    return next(one for one in root.iter() if one.find(f"{{{NAMESPACE}}}{name}") is not None)


def without(name: str) -> Callable[[ET.Element], None]:
    """A document that lacks an element."""
    return lambda root: parent_of(root, name).remove(only(root, name))


def twice(name: str) -> Callable[[ET.Element], None]:
    """A document that has an element twice."""
    return lambda root: parent_of(root, name).insert(0, only(root, name))


def turned(name: str) -> Callable[[ET.Element], None]:
    """A document with the first and the last child of an element in each other's place."""

    def turn(root: ET.Element) -> None:
        element = only(root, name)
        element[0], element[-1] = element[-1], element[0]

    return turn


def marked(name: str, **attributes: str) -> Callable[[ET.Element], None]:
    """A document with other attributes of an element."""
    return lambda root: only(root, name).attrib.update(attributes)


def renamed(name: str, tag: str) -> Callable[[ET.Element], None]:
    """A document with an element under another name."""
    return lambda root: setattr(only(root, name), "tag", tag)


BROKEN: dict[str, Callable[[ET.Element], None]] = {
    **{f"no {name}": without(name) for name in ("stdyDscr", "citation", "titlStmt", "titl")},
    **{f"two {name}": twice(name) for name in ("titlStmt", "prodStmt", "titl", "anlyInfo", "dimensns", "varFormat")},
    **{
        f"children of {name} turned": turned(name)
        for name in ("codeBook", "stdyDscr", "citation", "method", "fileTxt", "dimensns", "var", "catgry")
    },
    "a variable without a name": lambda root: only(root, "var").attrib.pop("name") and None,
    "an unknown attribute": marked("var", colour="blue"),
    "an unknown interval": marked("var", intrvl="interval"),
    "an unknown weight": marked("var", wgt="yes"),
    "an unknown format": marked("varFormat", type="text"),
    "another version": marked("codeBook", version="2.6"),
    "a variable of no file": marked("var", files="F9"),
    "an identifier twice": marked("var", ID="F1"),
    "an identifier with a blank": marked("var", ID="V 1"),
    "an unknown element": renamed("catValu", f"{{{NAMESPACE}}}catValue"),
    "an element of no standard": renamed("fileName", "{urn:other}fileName"),
    "another root": renamed("codeBook", f"{{{NAMESPACE}}}codebook"),
}


@pytest.mark.parametrize("path", SCHEMAS, ids=["ours", "official"][: len(SCHEMAS)])
@together("name", BROKEN)
def test_broken_ddi_files_are_not(public: Path, path: str, name: str) -> None:
    root = ET.fromstring((public / "ddi.xml").read_text(encoding="utf-8"))
    ET.SubElement(only(root, "catgry"), f"{{{NAMESPACE}}}labl").text = "a label to be put before its value"
    assert faults(path, ET.tostring(root, encoding="unicode")) == []
    BROKEN[name](root)
    assert faults(path, ET.tostring(root, encoding="unicode"))


def reasons(package: Path) -> list[str]:
    """What Frictionless has against a data package; it leaves closing compressed files to the collector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        found = [str(reason) for (reason,) in frictionless.validate(str(package)).flatten(["message"])]
        gc.collect()
    return found


def test_frictionless_accepts_the_data_package(public: Path) -> None:
    assert reasons(public / "datapackage.json") == []


@together(
    ("name", "text", "encoding"), [("a.csv", ";", "cp1252"), ("a.tsv", "\t", "utf-8"), ("a.csv.gz", ",", "utf-8")]
)
def test_it_accepts_those_of_other_files(tmp_path: Path, name: str, text: str, encoding: str) -> None:
    decimal = "," if text == ";" else "."
    lines = [f"{TOWNS[i % 2]}{text}{'mf'[i % 2]}{text}{i % 7}{decimal}5{text}{i % 4}" for i in range(120)]
    content = "\n".join([text.join(["town", "sex", "wage", "children"]), *lines, ""]).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    plan = mw.ReleasePlan.of([{"variables": ["town", "sex"], "method": "sequential"}], accept=["wage", "children"])
    mw.release(str(tmp_path / name), plan, str(tmp_path / "released"))
    assert reasons(tmp_path / "released/public/datapackage.json") == []


def data_changed(old: str, new: str) -> Callable[[Path], None]:
    """A folder whose data file has another text than its metadata say."""

    def change(folder: Path) -> None:
        text = (folder / "data.csv").read_text(encoding="utf-8")
        assert old in text
        (folder / "data.csv").write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def package_changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """A folder whose metadata say something else."""

    def rewrite(folder: Path) -> None:
        package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
        change(package["resources"][0])
        (folder / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")

    return rewrite


WRONG: dict[str, Callable[[Path], None]] = {
    "a label that the codebook lacks": data_changed("Bern", "Chur"),
    "a text among numbers": data_changed(".5,", ".x,"),
    "other bytes": data_changed("Bern", "Genf"),
    "a field less": package_changed(lambda resource: resource["schema"]["fields"].pop()),
    "an unknown type": package_changed(lambda resource: resource["schema"]["fields"][0].update(type="words")),
    "another file": package_changed(lambda resource: resource.update(path="other.csv")),
    "another hash": package_changed(lambda resource: resource.update(hash="sha256:" + "0" * 64)),
    "another separator": package_changed(lambda resource: resource["dialect"].update(delimiter=";")),
}


@together("name", WRONG)
def test_it_refuses_broken_packages(public: Path, tmp_path: Path, name: str) -> None:
    for file in ("data.csv", "datapackage.json"):
        shutil.copy(public / file, tmp_path)
    WRONG[name](tmp_path)
    assert reasons(tmp_path / "datapackage.json")

"""DDI files against a schema and data packages against the validator of Frictionless, with documents that must fail.

The schema is our own, of the part of DDI Codebook 2.5 that releases write (``tests/support``): that of the standard may
not be copied here, and no package of PyPI or npm was found that has it. Who has it checks with both:

    MASKWELL_DDI_SCHEMA=.../codebook.xsd .venv/bin/python -m pytest tests/unit/microdata/folder/test_metadata_schemas.py

That was done with the ``codebook.xsd`` of DDI 2.5 dated 2012-01-17 (ddialliance/ddi-c_2 on GitHub, "version 2.5.1") and
with the one dated 2014-01-28 that the R package rddi has, which differs in its date alone. Both accept the documents
here that our schema accepts and refuse every one that it refuses.
"""

import gc
import gzip
import json
import os
import shutil
import warnings
from collections.abc import Callable, Sequence
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


BROKEN: dict[str, Sequence[str]] = {
    "no": ("stdyDscr", "citation", "titlStmt", "titl"),
    "two": ("titlStmt", "prodStmt", "titl", "anlyInfo", "dimensns", "varFormat"),
    "children turned of": ("codeBook", "stdyDscr", "citation", "method", "fileTxt", "dimensns", "var", "catgry"),
    # what no standard knows, another version, a file that is not there, identifiers twice or with a blank
    "marked": ("var colour=blue", "var intrvl=interval", "var wgt=yes", "varFormat type=text", "codeBook version=2.6"),
    "also marked": ("var files=F9", "var ID=F1", "var ID=V 1", "var name="),
    "renamed": (
        f"catValu {{{NAMESPACE}}}catValue",
        "fileName {urn:other}fileName",
        f"codeBook {{{NAMESPACE}}}codebook",
    ),
}


def break_at(root: ET.Element, how: str, name: str, value: str) -> None:
    """A document that lacks an element, has it twice, with its ends exchanged, other attributes or another name."""
    element = only(root, name)
    if how == "no":
        parent_of(root, name).remove(element)
    elif how == "two":
        parent_of(root, name).insert(0, element)
    elif how == "children turned of":
        element[0], element[-1] = element[-1], element[0]
    elif how == "renamed":
        element.tag = value
    else:
        attribute, _, text = value.partition("=")
        element.attrib.pop(attribute, None)
        element.attrib.update({attribute: text} if text else {})


@pytest.mark.parametrize("path", SCHEMAS, ids=["ours", "official"][: len(SCHEMAS)])
@together(("how", "where"), [(how, where) for how, places in BROKEN.items() for where in places])
def test_broken_ddi_files_are_not(public: Path, path: str, how: str, where: str) -> None:
    root = ET.fromstring((public / "ddi.xml").read_text(encoding="utf-8"))
    ET.SubElement(only(root, "catgry"), f"{{{NAMESPACE}}}labl").text = "a label to be put before its value"
    assert faults(path, ET.tostring(root, encoding="unicode")) == []
    name, _, value = where.partition(" ")
    break_at(root, how, name, value)
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

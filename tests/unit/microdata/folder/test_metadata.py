"""Codebook, data package and DDI file: what they hold, and that nothing a label holds can break them."""

import csv
import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.support.releases import COLUMNS, ROWS, changed, plan_of, release_of, stage_within, write_csv, written

from maskwell import Release, ReleasePlan
from maskwell.core.cells import CellTable
from maskwell.core.phrases import visible
from maskwell.engines.labelled_columns import ColumnLabels, Labels
from maskwell.microdata.folder.readme import readme
from maskwell.microdata.folder.receipt_contents import public_receipt
from maskwell.microdata.folder.release_metadata import NAMESPACE, codebook_csv, codebook_of, datapackage, ddi_codebook
from maskwell.microdata.publication import release_into
from maskwell.microdata.release_values import ReleasedColumn

SPITEFUL = "a<b>&\"'\x01\u2028]]>"


def labelled() -> Release:
    stage = stage_within(ROWS, COLUMNS, ["roof"], ["region"])
    plan = plan_of([stage], codebook={"roof": ["straw", "tile", "tin", "slate"]}, weights="w", title="Roofs 2025")
    about = {
        "roof": ColumnLabels(text=True, label="Roof <of> the dwelling", values={"tin": "Tin & zinc"}),
        "age": ColumnLabels(label=SPITEFUL, values={1.0: "young", 2.0: SPITEFUL}),
    }
    release = release_of([stage], plan, labels=Labels(".sav", about))
    more = (ReleasedColumn("age", "integer", (1, 2)), ReleasedColumn("w", "number"), ReleasedColumn(SPITEFUL, "text"))
    return changed(release, columns=(*release.columns, *more))


def test_the_codebook_has_all_categories_and_no_label_that_no_record_has() -> None:
    """A rare roof that was changed everywhere: its place in the codebook would tell that somebody has it."""
    book = codebook_of(labelled())
    entries = {entry.name: entry for entry in book}
    assert entries["roof"].categories == (("straw", None), ("tile", None), ("tin", "Tin & zinc"), ("slate", None))
    assert (entries["roof"].role, entries["roof"].group) == ("randomized", 1)
    assert entries["age"].categories == ((1, "young"), (2, SPITEFUL))
    assert entries["w"].role == "weight" and entries["w"].categories is None
    assert entries["region"].role == "unchanged"
    rows = list(csv.DictReader(io.StringIO(codebook_csv(book))))
    assert [row["value"] for row in rows if row["column"] == "roof"] == ["straw", "tile", "tin", "slate"]
    assert [row["value_label"] for row in rows if row["column"] == "age"] == ["young", visible(SPITEFUL)]
    assert sum(row["column"] == "w" for row in rows) == 1
    stage = stage_within(ROWS, COLUMNS, ["roof"])
    drawn = {("roof",): CellTable.of(["roof"], {("tile",): 70, ("straw",): 50})}
    for codebook, told in (({}, ["tile", "straw"]), ({"roof": ["tin", "tile", "straw"]}, ["tin", "tile", "straw"])):
        release = release_of([stage], plan_of([stage], codebook=codebook), released_tables=drawn)
        roof = next(entry for entry in codebook_of(release) if entry.name == "roof")
        assert [value for value, _ in roof.categories or ()] == told  # what the plan declares says nothing of the file
    published = release_of([stage], plan_of([stage], publish=["included"]), released_tables=drawn)
    roof = next(entry for entry in codebook_of(published) if entry.name == "roof")
    assert {value for value, _ in roof.categories or ()} == {"tin", "tile", "straw"}  # the matrix has them all


def ddi(release: Release) -> ET.Element:
    return ET.fromstring(ddi_codebook(public_receipt(release), codebook_of(release), "data.sav"))


def test_the_ddi_file_tells_what_was_done_and_spiteful_labels_stay_text() -> None:
    root = ddi(labelled())
    space = {"d": NAMESPACE}
    assert root.get("version") == "2.5"
    done = root.findall(".//d:method/d:dataProcessing", space)
    assert len(done) == 1 and "within the cells of region" in str(done[0].text)
    assert root.findall(".//d:anlyInfo/d:EstSmpErr", space)
    variables = {str(v.get("name")): v for v in root.findall(".//d:var", space)}
    assert variables["w"].get("wgt") == "wgt" and variables["w"].get("intrvl") == "contin"
    assert [str(c.text) for c in variables["roof"].findall("d:catgry/d:catValu", space)][-1] == "slate"
    assert variables["roof"].find("d:notes", space) is not None
    assert variables["region"].find("d:notes", space) is None
    ids = [v.get("ID") for v in variables.values()]
    assert len(set(ids)) == len(ids)
    assert visible(SPITEFUL) in variables


def package(release: Release, data: Path) -> dict[str, Any]:
    return datapackage(public_receipt(release), codebook_of(release), data)


def test_the_data_package(tmp_path: Path) -> None:
    write_csv(tmp_path / "data.csv", COLUMNS, ROWS)
    found = package(labelled(), tmp_path / "data.csv")
    resource = found["resources"][0]
    assert (found["profile"], found["name"]) == ("tabular-data-package", "roofs-2025")
    assert resource["bytes"] == (tmp_path / "data.csv").stat().st_size
    assert resource["hash"] == "sha256:" + hashlib.sha256((tmp_path / "data.csv").read_bytes()).hexdigest()
    fields = {field["name"]: field for field in resource["schema"]["fields"]}
    assert fields["roof"]["constraints"]["enum"] == ["straw", "tile", "tin", "slate"]
    assert fields["age"]["constraints"]["enum"] == [1, 2] and fields["age"]["type"] == "integer"
    assert resource["maskwell:randomization"][0]["variables"] == ["roof"]
    assert "design" not in json.dumps(found)
    for name, form, tabular in (("d.tsv", "tsv", True), ("d.csv.gz", "csv", True), ("d.parquet", "parquet", False)):
        (tmp_path / name).write_bytes(b"x")
        resource = package(labelled(), tmp_path / name)["resources"][0]
        assert resource["format"] == form
        assert resource["profile"] == ("tabular-data-resource" if tabular else "data-resource")


def test_the_readme_says_what_to_type_and_how_far_variances_grow(tmp_path: Path) -> None:
    made = written(tmp_path / "r", [stage_within(ROWS, COLUMNS, ["roof"], ["region"])])
    text = (made.public / "README.md").read_text()
    assert "maskwell estimate data.csv --receipt receipt.json --columns region,roof" in text
    assert max(map(len, text.splitlines())) <= 100
    assert text == readme(public_receipt(made.release), codebook_of(made.release), "data.csv")
    stage = stage_within(ROWS, COLUMNS, ["roof"])
    stage = replace(stage, invariance="weights", weights=stage.counts * 2.0, squares=stage.counts * 4.0)
    advice = " ".join(public_receipt(release_of([stage], plan_of([stage], weights="w")))["advice"])
    assert "inflation factor (vif)" in advice and "2 - 1/n" not in advice


@pytest.mark.parametrize(
    ("groups", "said", "not_said"),
    [
        ([("roof", "sex")], "tables of sex and roof are preserved", ()),
        ([("roof", "sex"), ("sex", "")], "tables of roof are preserved", ("sex and roof are unb", "--columns")),
        ([("sex", ""), ("roof", "sex")], "tables of roof are not preserved", ("roof are unbiased", "--columns")),
        ([("roof", "sex"), ("sex", "roof")], "tables of sex and roof are preserved", ()),
    ],
)
def test_the_readme_never_calls_a_biased_table_unbiased(groups: Any, said: str, not_said: Any) -> None:
    stages = [stage_within(ROWS, COLUMNS, [variable], [within] if within else []) for variable, within in groups]
    release = release_of(stages, plan_of(stages))
    text = " ".join(readme(public_receipt(release), codebook_of(release), "data.csv").split())
    assert said in text and not any(part in text for part in not_said)
    assert "randomized or not, are somewhat biased" in text


def test_the_codebook_has_all_columns_and_the_package_the_form_of_the_file(tmp_path: Path) -> None:
    towns = ["Zürich", "Bern", "Genf"]
    lines = [f"{towns[i % 3]};{'mf'[i % 2]};{i % 7},5;{i % 4};0{i % 5};{i}x" for i in range(120)]
    (tmp_path / "a.csv").write_bytes("\r\n".join(["ort;sex;lohn;kinder;code;text", *lines, ""]).encode("cp1252"))
    protect = [{"variables": ["ort", "sex"], "method": "sequential"}]
    plan = ReleasePlan.of(protect, accept=["lohn", "kinder", "code", "text"])
    release_into(str(tmp_path / "a.csv"), plan, str(tmp_path / "released"))
    public = tmp_path / "released/public"
    book = {one["name"]: one for one in json.loads((public / "codebook.json").read_text(encoding="utf-8"))["columns"]}
    kinds = {"ort": "text", "sex": "text", "lohn": "number", "kinder": "integer", "code": "text", "text": "text"}
    assert {name: one["kind"] for name, one in book.items()} == kinds
    assert [one["value"] for one in book["kinder"]["categories"]] == ["0", "1", "2", "3"]
    assert [one["value"] for one in book["code"]["categories"]] == [f"0{i}" for i in range(5)]
    (resource,) = json.loads((public / "datapackage.json").read_text(encoding="utf-8"))["resources"]
    assert (resource["encoding"], resource["dialect"]["delimiter"]) == ("windows-1252", ";")
    fields = {one["name"]: one for one in resource["schema"]["fields"]}
    assert fields["lohn"]["decimalChar"] == "," and fields["kinder"]["constraints"]["enum"] == [0, 1, 2, 3]
    rows = (public / "data.csv").read_bytes().decode("cp1252").split("\r\n")
    assert sorted(row.split(";")[2] for row in rows[1:-1]) == sorted(line.split(";")[2] for line in lines)
    form = "a semicolon between fields, decimal commas and the encoding windows-1252"
    assert form in (public / "README.md").read_text()

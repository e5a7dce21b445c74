"""Figures that sdcMicro prints: on its help pages measure_risk, localSuppression and freqCalc, and in its tests.

The help pages with their output were published with version 5.7.7 (January 2024); [Templ2026] has the same examples.
"""

import csv
from pathlib import Path

import pytest
from tests.support.together import together

import maskwell as mw

HOUSES = ["urbrur", "roof", "walls", "water", "sex"]
# print(res2) of ldiversity(testdata, keyVars = HOUSES, ldiv_index = c("electcon", "relat")): minimum, quartiles, mean
# and maximum of distinct l-diversity, to four digits
PRINTED = {"electcon": [1, 2, 3, 2.374, 3, 3], "relat": [1, 5, 5, 5.524, 7, 8]}
# head(res2): distinct, entropy and recursive l-diversity of electcon and of relat, of the first six records
HEAD = [
    ([3, 1.765424, 1], [5, 2.276001, 2]),
    ([3, 1.855345, 1], [8, 2.997907, 2]),
    ([3, 1.765424, 1], [5, 2.276001, 2]),
    ([3, 1.765424, 1], [5, 2.276001, 2]),
    ([2, 1.172525, 1], [5, 2.209202, 2]),
    ([2, 1.130836, 1], [4, 2.240133, 2]),
]


def test_diversity_as_printed_for_the_test_data(shared: Path) -> None:
    result = mw.risk(shared / "data/sdc_testdata.csv", HOUSES, sensitive_columns=[*PRINTED])
    for told, (name, printed) in zip(result.attributes, PRINTED.items(), strict=True):
        found = told.diversity.distinct
        quartiles = [found.minimum, found.first_quartile, found.median, found.mean, found.third_quartile, found.maximum]
        assert (told.sensitive, quartiles) == (name, [pytest.approx(one, abs=5e-4) for one in printed])


def test_diversity_of_the_first_records_as_printed(shared: Path) -> None:
    """The records with the keys of one, taken alone, are a file of one cell: all have its diversity."""
    with (shared / "data/sdc_testdata.csv").open(encoding="utf-8", newline="") as lines:
        rows = [*csv.DictReader(lines)]
    for row, printed in zip(rows, HEAD, strict=False):
        alike = [one for one in rows if all(one[key] == row[key] for key in HOUSES)]
        columns = {name: [one[name] for one in alike] for name in (*HOUSES, *PRINTED)}
        result = mw.risk(columns, HOUSES, sensitive_columns=[*PRINTED])
        for told, (distinct, entropy, recursive) in zip(result.attributes, printed, strict=True):
            kinds = dict(told.diversity.kinds())
            assert kinds["distinct"].minimum == kinds["distinct"].maximum == distinct
            assert kinds["entropy"].mean == pytest.approx(entropy, abs=5e-7)
            assert kinds["recursive"].minimum == kinds["recursive"].maximum == recursive


# Its tests of ldiversity: keys with missing values, which count as one more value, and several sensitive variables
SEXES = {
    "sex": ["female"] * 3 + ["male"] * 2 + ["female"] * 2,
    "occupation": [None] * 3 + ["teacher"] * 2 + ["nurse"] * 2,
    "ethnicity": ["other"] * 5 + ["majority"] * 2,
    "sensitive": [1, 0, 2, 1, 0, 0, 1],
}


@together(
    ["data", "keys", "column", "distinct"],
    [
        (SEXES, ["sex", "occupation", "ethnicity"], "sensitive", [2, 2, 2, 2, 3, 3, 3]),
        ({"id": [3, 1, 2], "sens": [10, 20, 10]}, ["id"], "sens", [1, 1, 1]),
        ({"key": [1, 1, 1], "sens1": list("ABA")}, ["key"], "sens1", [2, 2, 2]),
        ({"key": [1, 1, 1], "sens2": list("XYZ")}, ["key"], "sens2", [3, 3, 3]),
    ],
)
def test_diversity_in_its_tests(
    data: dict[str, list[object]], keys: list[str], column: str, distinct: list[int]
) -> None:
    (told,) = mw.risk(data, keys, sensitive_columns=[column]).attributes
    found = told.diversity.distinct
    assert [found.minimum, found.maximum] == [distinct[0], distinct[-1]]
    assert found.mean == pytest.approx(sum(distinct) / len(distinct))
    assert found.below == {str(level): sum(one < level for one in distinct) for level in (2, 3, 5)}


def test_risk_as_printed_for_the_test_data(shared: Path) -> None:
    """print(res), print(resw), print(resh) and head(res$Res) of measure_risk."""
    path = shared / "data/sdc_testdata.csv"
    alone, weighted = mw.risk(path, HOUSES), mw.risk(path, HOUSES, weights="sampling_weight", unit="ori_hid")
    assert alone.before.expected_matches == 93
    assert [round(1 / one) for one in alone.record_risks()["before"][:6]] == [359, 351, 359, 359, 161, 150]
    sample, units = weighted.before.sample, weighted.report.units
    assert sample is not None and sample.expected_reidentifications == pytest.approx(1.53, abs=5e-3)
    assert units is not None and units.before.expected_reidentifications == pytest.approx(7.18, abs=5e-3)


SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
# print(localS) and print(ls) of localSuppression, k = 2 and alpha = 1; its tests have the 97, too
SUPPRESSED = {
    "sdc_francdat": {"Key2": 1, "Key3": 0, "Key4": 3},
    "sdc_testdata2": dict(zip(SEVEN, [3, 10, 7, 56, 0, 16, 5], strict=True)),
}


@together("name", [*SUPPRESSED])
def test_local_suppression_as_printed(shared: Path, name: str) -> None:
    keys = [*SUPPRESSED[name]]
    with (shared / f"data/{name}.csv").open(encoding="utf-8", newline="") as lines:
        rows = [*csv.DictReader(lines)]
    data = {key: [row[key] for row in rows] for key in keys}
    protect = {"variables": keys[:1], "method": "uniform", "gamma": 1000}
    plan = mw.ReleasePlan.of(
        [protect], keys=keys, suppress={"k": 2, "missing": "any"}, demonstration=True, missing="category"
    )
    assert (
        mw.release(data, plan, random=mw.SeededRandom(1)).release.assessment.file.changes.suppressed == SUPPRESSED[name]
    )

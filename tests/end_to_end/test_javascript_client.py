"""The client in JavaScript draws, names and judges designs as Python does, in Node and in a real browser."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.golden.make_draws import golden_designs

import maskwell as mw
from maskwell import Design
from maskwell.core.documents import fingerprint_of
from maskwell.core.draws import WordReader
from maskwell.designs import Dense, Mixture, Sparse, Subset, Unary, Uniform
from maskwell.errors import MaskwellError

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "javascript"
RUNNER = """
import { createInterface } from "node:readline";
import { Words, readDesign, canonicalText } from "CLIENT";
for await (const line of createInterface({ input: process.stdin })) {
  const { design: content, rows } = JSON.parse(line);
  try {
    const design = await readDesign(content);
    const draw = ([code, words, spill]) => design.draw(code, new Words(words, (i) => spill.slice(4 * i, 4 * i + 4)));
    console.log(JSON.stringify({
      parity: design.parity().map(String), words: design.wordsPerRow, reports: rows.map(draw),
      chances: rows.map(([code], i) => design.chance(draw(rows[i]), code).map(String)),
    }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
"""


def node() -> str:
    """Node, or a skip."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("no Node here: the client is tried in a browser only")
    return path


class Client:
    """A Node process that answers one line with one line."""

    def __init__(self) -> None:
        script = RUNNER.replace("CLIENT", (CLIENT / "maskwell.js").as_uri())
        command = [node(), "--input-type=module", "--eval", script]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, content: Any, rows: list[Any]) -> dict[str, Any]:
        self._process.stdin.write(json.dumps({"design": content, "rows": rows}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(30)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    started = Client()
    yield started
    started.close()


def rows_for(design: Design, seed: int, count: int = 8) -> list[Any]:
    chance = np.random.default_rng(seed)

    def words(n: int) -> list[int]:
        return [int(word) for word in chance.integers(0, 2**32, n, dtype=np.uint64)]

    return [[int(chance.integers(design.k)), words(design.words_per_row), words(64)] for _ in range(count)]


def drawn_in_python(design: Design, rows: list[Any]) -> list[Any]:
    drawn = []
    for code, words, spill in rows:
        report = design.draw(code, WordReader(words, more=lambda i, spill=spill: spill[4 * i : 4 * i + 4]))
        is_set = isinstance(report, frozenset)
        drawn.append("".join("01"[j in report] for j in range(design.k)) if is_set else int(report))
    return drawn


def check_alike(client: Client, design: Design, seed: int = 1) -> None:
    rows = rows_for(design, seed)
    answer = client.ask(design.to_dict(), rows)
    assert "error" not in answer, answer
    assert answer["words"] == design.words_per_row
    assert answer["reports"] == drawn_in_python(design, rows)
    parity = design.parity_exact()
    top, bottom = map(int, answer["parity"])
    assert (Fraction(top, bottom) if bottom else float("inf")) == parity


@pytest.mark.parametrize("name", list(golden_designs()))
def test_every_kind_draws_and_promises_alike(client: Client, name: str) -> None:
    check_alike(client, golden_designs()[name])


probabilities = st.fractions(min_value=0, max_value=1, max_denominator=10**20)
labels = st.lists(
    st.one_of(
        st.text(st.characters(codec="utf-8"), max_size=5),
        st.integers(-(2**60), 2**60),
        st.floats(allow_nan=False),
        st.booleans(),
    ),
    min_size=2,
    max_size=6,
    unique_by=lambda label: (hash(label), label),
)


@st.composite
def designs(draw: st.DrawFn, categories: mw.Categories) -> Design:
    """Designs of six kinds with any probabilities."""
    k = len(categories)
    kind = draw(st.sampled_from(["uniform", "mixture", "dense", "sparse", "subset", "unary"]))
    if kind == "uniform":
        return Uniform.of(draw(probabilities), categories)
    if kind == "mixture":
        parts = draw(st.lists(st.integers(0, 10**12), min_size=k + 1, max_size=k + 1).filter(any))
        return Mixture.of(Fraction(parts[0], sum(parts)), [Fraction(p, sum(parts)) for p in parts[1:]], categories)
    if kind == "subset":
        return Subset.of(draw(probabilities), draw(st.integers(1, k - 1)), categories)
    if kind == "unary":
        return Unary.of(draw(probabilities), draw(probabilities), categories)
    columns = [draw(st.lists(st.integers(0, 10**15), min_size=k, max_size=k).filter(any)) for _ in range(k)]
    matrix = [[Fraction(columns[j][i], sum(columns[j])) for j in range(k)] for i in range(k)]
    return (Dense.of if kind == "dense" else Sparse.of_matrix)(matrix, categories, categories)


@settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
@given(labels, st.data())
def test_random_designs_draw_alike(client: Client, labels: list[Any], data: st.DataObject) -> None:
    """Labels of all types, probabilities with large denominators: one fingerprint, the same draws."""
    try:
        design = data.draw(designs(mw.Categories.of(labels)))
    except MaskwellError:  # not every draw is a design: shares that cannot be estimated, labels that are equal
        assume(False)
    check_alike(client, design, seed=data.draw(st.integers(0, 2**32)))


def test_a_changed_file_is_refused(client: Client) -> None:
    content = golden_designs()["uniform k=3"].to_dict()
    assert "changed" in client.ask({**content, "exact": {"denominator": "3", "truth": "1"}}, [])["error"]
    assert "changed" in client.ask({**content, "inputs": ["a", "b", "d"], "outputs": ["a", "b", "d"]}, [])["error"]


CHANGES = [
    *({"kind": kind} for kind in ("nothing", "__proto__")),
    *({"inputs": labels} for labels in (["a"], ["a", "a", "c"])),
    *({"exact": {"denominator": a, "truth": b}} for a, b in (("0", "0"), ("2", "3"), ("2", "-1"), (2, 1))),
    *({"version": 2}, {"maskwell": "survey"}, {"exact": {}}),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_no_design_is_refused_in_words(client: Client, change: dict[str, Any]) -> None:
    error = client.ask({**golden_designs()["uniform k=3"].to_dict(), **change}, [])["error"]
    assert error
    assert "undefined" not in error.split("(")[0]


def hostile(kind: str, exact: dict[str, Any], inputs: Any, outputs: Any) -> dict[str, Any]:
    """A file whose fingerprint is right, as whoever made it can make it."""
    covered = {"maskwell": "design", "version": 1, "kind": kind, "inputs": inputs, "outputs": outputs, "exact": exact}
    return {**covered, "provenance": {}, "fingerprint": fingerprint_of(covered)}


@pytest.mark.parametrize("rows", [[[0, 0, 1], [0, 1, 1]], [["0", 0, 1], [0, 1, 1]], [[1, 0, 0], [0, 1, 1]]])
def test_a_report_that_is_listed_twice_does_not_hide_what_it_reveals(client: Client, rows: list[list[Any]]) -> None:
    """Report 0 comes 99 times as often from the first truth, and its chance was read from its first place only."""
    exact = {"denominators": ["100", "100"], "rows": rows, "columns": [["1", "98", "1"], ["1", "1", "98"]]}
    assert "error" in client.ask(hostile("sparse", exact, ["a", "b"], ["x", "y"]), [])


def test_sets_have_no_labels_and_files_that_would_fill_the_memory_are_refused(client: Client) -> None:
    exact = {"denominator": "2", "include": "1", "size": 1}
    assert "labels" in client.ask(hostile("subset", exact, ["a", "b", "c"], ["x"]), [])["error"]
    exact = {"denominator": "2", "truth": "1"}
    assert "more than" in client.ask(hostile("uniform", exact, {"count": 10**9}, {"count": 10**9}), [])["error"]
    parts = [hostile("uniform", exact, {"count": 900}, {"count": 900}) for _ in range(4)]
    product = hostile("kronecker", {"factors": parts}, {"product": True}, {"product": True})
    assert "more than" in client.ask(product, [])["error"]


def test_keys_are_sorted_as_in_python_and_the_tests_of_the_client_pass(client: Client) -> None:
    """A rare character is two parts in JavaScript, which come before some that Python puts first; delete is escaped."""
    content = hostile("uniform", {"denominator": "2", "truth": "1"}, ["a", "b"], ["a", "b"])
    covered = {key: value for key, value in content.items() if key not in ("provenance", "fingerprint")}
    covered["exact"] = {**covered["exact"], "\uff5e": "x", "\U0001f600": "y", "\uff5e\uff5e": "z", "\x7f": "\x7f"}
    answer = client.ask({**covered, "fingerprint": fingerprint_of(covered)}, [])
    assert "error" not in answer
    run = subprocess.run(
        [node(), "--test", "test"], cwd=CLIENT, capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:]


def test_the_client_is_small_and_is_the_one_that_the_service_hands_out() -> None:
    text = (CLIENT / "maskwell.js").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 500 and "import " not in text.replace("import { readDesign", "")
    for word in ("fetch(", "XMLHttpRequest", "localStorage", "Date", "Math.random", "eval", "document."):
        assert word not in text.replace('await (await fetch("design.json")).json()', ""), word
    from importlib.resources import files

    served = files("maskwell.collection").joinpath("static", "maskwell.js").read_bytes()
    assert served == (CLIENT / "maskwell.js").read_bytes()


def test_the_types_name_what_the_client_exports() -> None:
    script, types = ((CLIENT / name).read_text(encoding="utf-8") for name in ("maskwell.js", "maskwell.d.ts"))
    exported = r"^export (?:async )?(?:const|class|function) (\w+)"
    assert re.findall(exported, script, re.MULTILINE) == re.findall(exported, types, re.MULTILINE)
    for name in ("Words", "Design"):
        written, typed = (
            re.findall(rf"^export class {name} .*?^}}", text, re.MULTILINE | re.DOTALL)[0] for text in (script, types)
        )
        found = re.findall(r"^  (?:get )?(\w+)\(.*{|^    this\.(\w+) =", written, re.MULTILINE)
        declared = re.findall(r"^  (?:readonly |get )?(\w+)[(:]", typed, re.MULTILINE)
        assert {method or field for method, field in found} == set(declared), name
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {key: package[key] for key in ("version", "license")} == {
        key: project[key] for key in ("version", "license")
    }

"""Writes ``draws.json``: run ``python -m tests.golden.make_draws`` after a wanted change of version, and only then."""

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.examples import DYADIC, EXAMPLES
from tests.support.words import HandmadeStream, edge_words

from maskwell import Design, SeededRandom
from maskwell.core.draws import WordReader
from maskwell.designs import wire

PATH = Path(__file__).with_name("draws.json")
SEED = 20240501
ROWS = 12
EDGES = 10
SPILL_WORDS = 16
ABOUT = (
    "Fixed draws. Each design is given as its file. 'rows': true codes, the 32-bit words of each row from the seeded "
    "source (AES-256 in counter mode, key and layout below), and the reports: codes, or bit masks in hexadecimal. "
    "'edges': hand-made words beside thresholds and rejection edges, with the further words that a row reads when its "
    "own do not settle the report."
)
LAYOUT = (
    "counter block = number of the stream (8 bytes, big-endian), number of the block (8 bytes, big-endian); main words "
    "are blocks 0, 1, 2, ... with the rows one after the other; further words of a row are blocks 2^63 + row * 2^16 + "
    "refill; a word is 4 bytes, least significant first"
)


def golden_designs() -> dict[str, Design]:
    """The examples that are small enough to be read by eye."""
    chosen = {name: design for name, design in EXAMPLES.items() if design.k <= 16 and "tiny" not in name}
    return {**chosen, **{f"dyadic {name}": design for name, design in DYADIC.items()}}


def shown(report: Any) -> Any:
    """A report in JSON: a code, or a mask in hexadecimal."""
    array = np.asarray(report)
    return array.tobytes().hex() if array.ndim else int(array)


def edges_of(design: Design, seed: int) -> list[dict[str, Any]]:
    words = edge_words(design, 1000, seed)
    codes = np.random.default_rng(seed).integers(0, design.k, len(words))
    unsettled = design.draw_rows(codes.astype(np.uint64), words, design.empty_reports(len(words)))
    chosen = [*unsettled[: EDGES // 2].tolist(), *np.setdiff1d(np.arange(len(words)), unsettled)[: EDGES // 2].tolist()]
    stream, edges = HandmadeStream(words), []
    for row in chosen:
        truth = int(codes[row])
        read = WordReader(words[row].tolist(), more=partial(stream.spill, row))
        report = design.encode_report(design.draw(truth, read))
        spill = [word for refill in range(SPILL_WORDS // 4) for word in stream.spill(row, refill)]
        edges.append({"code": truth, "words": words[row].tolist(), "spill": spill, "report": shown(report)})
    return edges


def draws_of(name: str, design: Design) -> dict[str, Any]:
    codes = np.arange(ROWS) % design.k
    words = SeededRandom(SEED).stream().words(0, ROWS, design.words_per_row).tolist()
    reports = design.sample(codes, random=SeededRandom(SEED)).data
    return {
        "name": name,
        "design": design.to_dict(),
        "words_per_row": design.words_per_row,
        "encoding": design.encoding,
        "rows": {"codes": codes.tolist(), "words": words, "reports": [shown(report) for report in reports]},
        "edges": edges_of(design, SEED),
    }


def content() -> dict[str, Any]:
    """All of the file."""
    key = hashlib.sha256(b"maskwell seeded source, version 1: %d" % SEED).hexdigest()
    return {
        "about": ABOUT,
        "version": wire.VERSION,
        "seed": SEED,
        "key": key,
        "stream": 0,
        "layout": LAYOUT,
        "designs": [draws_of(name, design) for name, design in golden_designs().items()],
    }


def main() -> None:
    PATH.write_text(
        json.dumps(content(), indent=None, separators=(",", ":"), ensure_ascii=True).replace('{"name"', '\n{"name"')
        + "\n"
    )


if __name__ == "__main__":
    main()

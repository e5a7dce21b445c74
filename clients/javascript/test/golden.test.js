// The client draws what Python draws: the same words give the same reports, for every kind of design.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Words, readDesign, fingerprintOf } from "../maskwell.js";

const golden = JSON.parse(readFileSync(new URL("../../../tests/golden/draws.json", import.meta.url)));

/** Masks are stored as bytes in hexadecimal, lowest bit first. */
function fromMask(hex, k) {
  return Array.from({ length: k }, (_, j) => (parseInt(hex.slice((j >> 3) * 2, (j >> 3) * 2 + 2), 16) >> (j & 7)) & 1).join("");
}

for (const { name, design: content, words_per_row, encoding, rows, edges } of golden.designs) {
  const stored = (report, k) => (encoding === "bits" ? fromMask(report, k) : report);

  test(`${name}: fingerprint and size`, async () => {
    const design = await readDesign(content);
    assert.equal(await fingerprintOf(content), content.fingerprint);
    assert.equal(design.wordsPerRow, words_per_row);
  });

  test(`${name}: the stored draws`, async () => {
    const design = await readDesign(content);
    rows.codes.forEach((code, i) => {
      const read = new Words(rows.words[i], () => []);
      assert.equal(design.draw(code, read), stored(rows.reports[i], design.k));
    });
  });

  test(`${name}: words beside thresholds`, async () => {
    const design = await readDesign(content);
    for (const { code, words, spill, report } of edges) {
      const read = new Words(words, (refill) => spill.slice(4 * refill, 4 * refill + 4));
      assert.equal(design.draw(code, read), stored(report, design.k));
    }
  });

  test(`${name}: the chances of all reports sum to one`, async () => {
    const design = await readDesign(content);
    const all = design.m === undefined
      ? Array.from({ length: 2 ** design.k }, (_, i) => i.toString(2).padStart(design.k, "0")).filter((mask) => design.isReport(mask))
      : Array.from({ length: design.m }, (_, i) => i);
    for (let truth = 0; truth < design.k; truth++) {
      const [top, bottom] = all.map((report) => design.chance(report, truth)).reduce(([a, b], [c, d]) => [a * d + c * b, b * d]);
      assert.equal(top, bottom);
    }
  });
}

/**
 * maskwell: randomized response where the answer is given.
 *
 * Reads a design file and turns a true answer into a report, with exactly the probabilities of the file and with the
 * random numbers of the browser (crypto.getRandomValues). Nothing here touches a network, a clock or any storage.
 * The rules are those of docs/reference/design-file.md; Python follows the same ones, word for word:
 *
 *     const design = await readDesign(await (await fetch("design.json")).json());
 *     const report = design.randomize("often");              // what may be sent; "often" stays here
 *
 * Parts, in order: random words, exact draws, the kinds of designs, labels, the fingerprint, reading a file.
 */

export const VERSION = 1;

/** What is wrong with a file or an answer, in words for a person. */
export class MaskwellError extends Error {}

function demand(condition, message) {
  if (!condition) throw new MaskwellError(message);
}

// ---- random words: 32-bit integers, first those of the row, then as many more as a draw needs

/** Words handed out one by one; `more(0), more(1), …` give further ones when the row's words are used up. */
export class Words {
  #row;
  #used = 0;
  #more;

  constructor(row, more) {
    this.#row = Array.from(row);
    this.#more = typeof more === "function" ? { refill: 0, left: [], next: more } : more;
  }

  next() {
    if (this.#used < this.#row.length) return this.#row[this.#used++];
    const more = this.#more;
    if (!more.left.length) more.left = Array.from(more.next(more.refill++));
    demand(more.left.length, "no random words left");
    return more.left.shift();
  }

  /** Two words as one number of 64 bits; the first holds the low bits. */
  pair() {
    const low = BigInt(this.next());
    return low | (BigInt(this.next()) << 32n);
  }

  /** A reader over the next words of the row, for one of several draws; further words are shared. */
  part(count) {
    const from = this.#used;
    this.#used = Math.min(from + count, this.#row.length);
    return new Words(this.#row.slice(from, this.#used), this.#more);
  }
}

/** Words of the browser's own generator, the only source for answers of people. */
export function secureWords(count) {
  const fresh = (n) => {
    const words = new Uint32Array(n);
    for (let at = 0; at < n; at += 16384) crypto.getRandomValues(words.subarray(at, at + 16384)); // 64 kB at a time
    return words;
  };
  return new Words(fresh(count), () => fresh(4));
}

// ---- exact draws: a uniform number U is read word by word, only as far as it takes to compare it

/** Whether U < top / bottom, when the first `bits` bits of U are `leading` and further words follow. */
function settle(leading, bits, top, bottom, words) {
  let digit = (top << bits) / bottom;
  let rest = (top << bits) % bottom;
  while (leading === digit && rest) {
    leading = BigInt(words.next());
    digit = (rest << 32n) / bottom;
    rest = (rest << 32n) % bottom;
  }
  return leading < digit;
}

/** One of 0 … count - 1, equally likely: the product's high half, unless its low half would favour some. */
function choose(count, words, word = words.next()) {
  const n = BigInt(count);
  let product = BigInt(word) * n;
  while ((product & 0xffffffffn) < 0x100000000n % n) product = BigInt(words.next()) * n;
  return Number(product >> 32n);
}

/** How many of the increasing numbers `sums[i] / bottom` are at or below U. */
function interval(sums, bottom, words) {
  let leading = words.pair();
  for (let bits = 64n; ; bits += 32n) {
    const low = sums.findIndex((sum) => sum << bits > leading * bottom);
    const high = sums.findIndex((sum) => sum << bits >= (leading + 1n) * bottom);
    if (low === high) return low < 0 ? sums.length : low;
    leading = (leading << 32n) | BigInt(words.next());
  }
}

/** A set of `count` of 0 … total - 1, all sets equally likely (Floyd's method). */
function chooseSet(count, total, words) {
  const chosen = new Set();
  for (let last = total - count; last < total; last++) {
    const pick = choose(last + 1, words);
    chosen.add(chosen.has(pick) ? last : pick);
  }
  return chosen;
}

// ---- the kinds of designs: k truths, m reports (none for sets), words of a row, a draw, the chance of a report,
// ---- and the parity: by what factor a report can be likelier from one truth than from another

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0n);
function runningSums(numbers) {
  let total = 0n;
  return numbers.map((number) => (total += number));
}
const choices = (n, r) => (r < 0 || r > n ? 0n : r === 0 ? 1n : (choices(n - 1, r - 1) * BigInt(n)) / BigInt(r));
const maskOf = (k, has) => Array.from({ length: k }, (_, j) => (has(j) ? "1" : "0")).join("");
const times = ([a, b], [c, d]) => [a * c, b * d];
const plus = ([a, b], [c, d]) => (b === d ? [a + c, b] : [a * d + c * b, b * d]);
const isLess = ([a, b], [c, d]) => a * d < c * b;
const range = (n) => Array.from({ length: n }, (_, i) => i);

/** The largest ratio of two chances of one report, by trying all: [top, bottom], with bottom 0 where it is infinite. */
function parityOfAll({ k, m, chance }) {
  let worst = [1n, 1n];
  for (let report = 0; report < m; report++) {
    const row = range(k).map((truth) => chance(report, truth));
    const high = row.reduce((a, b) => (isLess(a, b) ? b : a));
    const low = row.reduce((a, b) => (isLess(b, a) ? b : a));
    if (high[0] === 0n) continue; // this report never comes
    const ratio = [high[0] * low[1], high[1] * low[0]];
    if (ratio[1] === 0n) return [1n, 0n];
    if (isLess(worst, ratio)) worst = ratio;
  }
  return worst;
}

/** A fraction in lowest terms. */
function reduced([top, bottom]) {
  let [a, b] = [top, bottom];
  while (b) [a, b] = [b, a % b];
  return [top / a, bottom / a];
}

function integer(text) {
  demand(typeof text === "string" && /^(0|[1-9][0-9]*)$/.test(text), "an exact number of the design is not a whole number");
  return BigInt(text);
}

/** A design by columns: for each truth the reports that can come, with one integer each out of a denominator. */
function byColumns(columns, m) {
  const sums = columns.map(({ parts }) => runningSums(parts).slice(0, -1));
  for (const { rows, parts, bottom } of columns) {
    demand(bottom > 0n && sum(parts) === bottom, "the probabilities of an answer do not sum to 1");
    demand(rows.length === parts.length && rows.every((row) => Number.isInteger(row) && row >= 0 && row < m), "the design has reports it does not list");
    demand(rows.every((row, i) => i === 0 || rows[i - 1] < row), "a report of the design is listed twice"); // its chance would be told too small
  }
  return {
    k: columns.length,
    m,
    words: 2,
    draw: (truth, words) => columns[truth].rows[interval(sums[truth], columns[truth].bottom, words.part(2))],
    chance: (report, truth) => [columns[truth].parts[columns[truth].rows.indexOf(report)] ?? 0n, columns[truth].bottom],
  };
}

/** The truth with the probability top / bottom, else any of the fixed reports with what is left. */
function mixture(top, fixed, bottom) {
  const sums = runningSums([top, ...fixed]).slice(0, -1);
  demand(bottom > 0n && top + sum(fixed) === bottom, "the probabilities of an answer do not sum to 1");
  return {
    k: fixed.length,
    m: fixed.length,
    words: 2,
    draw: (truth, words) => (interval(sums, bottom, words.part(2)) || truth + 1) - 1,
    chance: (report, truth) => [fixed[report] + (report === truth ? top : 0n), bottom],
  };
}

/** The truth with the probability top / bottom, else any of k categories, equally likely. */
function uniform(k, top, bottom) {
  demand(bottom > 0n && top <= bottom, "the probability of the truth is not between 0 and 1");
  const size = BigInt(k);
  return {
    k,
    m: k,
    words: 2,
    draw(truth, row) {
      const words = row.part(2);
      const number = words.pair();
      if (settle(number, 64n, top, bottom, words)) return truth;
      const tied = number >> 32n === (top << 32n) / bottom; // then the low word is no longer uniform: take a fresh one
      return tied ? choose(k, words) : choose(k, words, Number(number & 0xffffffffn));
    },
    chance: (report, truth) => [bottom - top + (report === truth ? size * top : 0n), bottom * size],
  };
}

/** A set of `size` categories that holds the truth with the probability top / bottom; always, where none is given. */
function subset(k, size, top, bottom) {
  const always = top === undefined;
  demand(Number.isInteger(size) && size >= 1 && size < k + always, "the size of the sets does not fit the categories");
  demand(always || (bottom > 0n && top <= bottom), "the chance that the set holds the truth is not between 0 and 1");
  const wordCount = always ? size - 1 : 2 + size;
  return {
    k,
    words: wordCount,
    isReport: (report) => report.split("1").length === size + 1,
    parity: () => {
      if (always || top === bottom) return size === k ? [1n, 1n] : [1n, 0n];
      const [held, missed] = [top * BigInt(k - size), (bottom - top) * BigInt(size)]; // the sets that hold a truth, and not
      return held < missed ? [missed, held] : [held, missed];
    },
    draw(truth, row) {
      const words = row.part(wordCount);
      const held = always || settle(words.pair(), 64n, top, bottom, words);
      const others = chooseSet(held ? size - 1 : size, k - 1, words);
      return maskOf(k, (j) => (j === truth ? held : others.has(j > truth ? j - 1 : j)));
    },
    chance(report, truth) {
      const held = report[truth] === "1";
      const [yes, whole] = always ? [1n, 1n] : [top, bottom];
      return held ? [yes, whole * choices(k - 1, size - 1)] : [whole - yes, whole * (choices(k - 1, size) || 1n)];
    },
  };
}

/** A bit for each category: one with the probability keep / bottom for the truth, flip / bottom for the others. */
function unary(k, keep, flip, bottom) {
  demand(bottom > 0n && keep <= bottom && flip <= bottom, "the chance of a bit is not between 0 and 1");
  const wordCount = Math.ceil(k / 2) + 1;
  return {
    k,
    words: wordCount,
    isReport: () => true,
    parity: () => {
      const [one, other] = [keep * (bottom - flip), flip * (bottom - keep)];
      return one < other ? [other, one] : [one, other];
    },
    draw(truth, row) {
      const words = row.part(wordCount);
      const read = Array.from({ length: wordCount - 1 }, () => words.next());
      const halves = read.flatMap((word) => [BigInt(word & 0xffff), BigInt(word >>> 16)]);
      return maskOf(k, (j) => settle(halves[j], 16n, j === truth ? keep : flip, bottom, words));
    },
    chance: (report, truth) =>
      [...report]
        .map((bit, j) => [j === truth ? keep : flip, bit])
        .map(([one, bit]) => [bit === "1" ? one : bottom - one, bottom])
        .reduce(times),
  };
}

/** Several questions, each with its own draw; the first varies slowest. */
function product(factors) {
  const split = (code, sizes) => sizes.reduceRight(([left, ...parts], n) => [Math.floor(left / n), left % n, ...parts], [code]).slice(1);
  const joined = (parts, sizes) => parts.reduce((code, part, i) => code * sizes[i] + part, 0);
  const [truths, reports] = [factors.map(({ k }) => k), factors.map(({ m }) => m)];
  demand(reports.every(Number.isInteger), "a product of set reports cannot be drawn together");
  demand([truths, reports].every((sizes) => sizes.reduce((n, size) => n * size, 1) <= 2 ** 53), "the product has too many states");
  return {
    k: joined(truths.map((n) => n - 1), truths) + 1,
    m: joined(reports.map((n) => n - 1), reports) + 1,
    words: factors.reduce((count, { words }) => count + words, 0),
    parity: () => factors.map(parityOf).reduce(times),
    draw: (truth, words) => joined(split(truth, truths).map((t, i) => factors[i].draw(t, words.part(factors[i].words))), reports),
    chance(report, truth) {
      const [r, t] = [split(report, reports), split(truth, truths)];
      return factors.map((factor, i) => factor.chance(r[i], t[i])).reduce(times);
    },
  };
}

/** A design for each cell of an open variable; the truth's cell stays as it is. */
function blocks(parts) {
  const starts = (sizes) => sizes.map((_, i) => sizes.slice(0, i).reduce((a, b) => a + b, 0));
  const [truths, reports] = [starts(parts.map(({ k }) => k)), starts(parts.map(({ m }) => m))];
  const at = (code, begins) => begins.filter((begin) => begin <= code).length - 1;
  const wordCount = Math.max(...parts.map(({ words }) => words));
  return {
    k: parts.reduce((n, { k }) => n + k, 0),
    m: parts.reduce((n, { m }) => n + m, 0),
    words: wordCount,
    draw(truth, words) {
      const cell = at(truth, truths);
      return reports[cell] + parts[cell].draw(truth - truths[cell], words.part(wordCount));
    },
    chance(report, truth) {
      const [from, to] = [at(truth, truths), at(report, reports)];
      return from === to ? parts[from].chance(report - reports[to], truth - truths[from]) : [0n, 1n];
    },
  };
}

/** One design after the other. */
function composed(first, then) {
  demand(first.m === then.k, "the second step does not take what the first reports");
  return {
    k: first.k,
    m: then.m,
    words: first.words + then.words,
    draw: (truth, words) => then.draw(first.draw(truth, words.part(first.words)), words.part(then.words)),
    chance: (report, truth) =>
      Array.from({ length: first.m }, (_, i) => times(first.chance(i, truth), then.chance(report, i))).reduce(plus),
  };
}

function patterns({ denominator, inside, outside, weights, sets }, k, m) {
  const [low, high, bottom] = [integer(outside), integer(inside), integer(denominator)];
  demand(sets.length === m && weights.length === m && sets.every((set) => /^[01]+$/.test(set) && set.length === k), "the sets of the design do not fit its labels");
  const column = (truth) => sets.map((set, i) => integer(weights[i]) * (set[truth] === "1" ? high : low));
  return byColumns(Array.from({ length: k }, (_, truth) => ({ rows: sets.map((_, i) => i), parts: column(truth), bottom })), m);
}

const parityOf = (mechanism) => (mechanism.parity ?? (() => parityOfAll(mechanism)))();

/** One line for each kind of design file. */
const KINDS = {
  dense: ({ exact }, k, m) =>
    byColumns(exact.columns.map((column, j) => ({ rows: column.map((_, i) => i), parts: column.map(integer), bottom: integer(exact.denominators[j]) })), m),
  sparse: ({ exact }, k, m) =>
    byColumns(exact.columns.map((column, j) => ({ rows: exact.rows[j], parts: column.map(integer), bottom: integer(exact.denominators[j]) })), m),
  patterns: ({ exact }, k, m) => patterns(exact, k, m),
  uniform: ({ exact }, k) => uniform(k, integer(exact.truth), integer(exact.denominator)),
  mixture: ({ exact }) => mixture(integer(exact.truth), exact.fixed.map(integer), integer(exact.denominator)),
  subset: ({ exact }, k) => subset(k, exact.size, integer(exact.include), integer(exact.denominator)),
  "l-diverse": ({ exact }, k) => subset(k, exact.size),
  unary: ({ exact }, k) => unary(k, integer(exact.keep), integer(exact.flip), integer(exact.denominator)),
  kronecker: ({ exact }) => product(exact.factors.map(mechanism)),
  blocks: ({ exact }) => blocks(exact.parts.map(mechanism)),
  composed: ({ exact }) => composed(mechanism(exact.first), mechanism(exact.then)),
};

function mechanism(content) {
  demand(Object.hasOwn(KINDS, content?.kind), `unknown kind of design: ${content?.kind}`);
  const [inputs, outputs] = [labelsOf(content, "inputs"), labelsOf(content, "outputs")];
  const made = KINDS[content.kind](content, inputs?.length, outputs?.length);
  demand(inputs.length === made.k && made.m === outputs?.length, "the labels of the design do not fit its numbers");
  return made;
}

// ---- labels in their JSON form: texts, whole numbers and booleans as they are, others as an object with one tag

const MOST_LABELS = 1_000_000; // each is held in memory

/** The labels of one side; undefined where reports are sets. */
function labelsOf(content, side) {
  const form = content[side];
  if (Array.isArray(form)) return form;
  if (Number.isInteger(form?.count)) return range(bounded(form.count));
  if (form?.sets) return undefined;
  if (form?.product) return content.exact.factors.map((part) => labelsOf(part, side)).reduce(pairs, [[]]).map((tuple) => ({ tuple }));
  if (form?.cells) return content.exact.parts.flatMap((part, i) => labelsOf(part, side).map((label) => ({ tuple: [form.cells[i], label] })));
  throw new MaskwellError(`the design has no ${side}`);
}

function pairs(rows, labels) {
  bounded(rows.length * labels.length);
  return rows.flatMap((row) => labels.map((label) => [...row, label]));
}

function bounded(count) {
  demand(count >= 0 && count <= MOST_LABELS, `the design has more than ${MOST_LABELS} answers or reports`);
  return count;
}

/** A label as people read it. */
export function textOf(label) {
  if (label === null || typeof label !== "object") return String(label);
  const [[tag, content]] = Object.entries(label);
  return tag === "tuple" ? content.map(textOf).join(", ") : String(content);
}

// ---- the fingerprint: SHA-256 of the file's JSON without spaces, keys sorted, only ASCII; without its provenance

/** The order of texts in Python; that of JavaScript puts the parts of rare characters before some common ones. */
function byCodePoints(one, other) {
  const [a, b] = [one, other].map((text) => Array.from(text, (character) => character.codePointAt(0)));
  const at = a.findIndex((point, i) => point !== b[i]);
  return at < 0 ? a.length - b.length : a[at] - (b[at] ?? -1);
}

/** JSON that is the same text in every language. */
export function canonicalText(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (value !== null && typeof value === "object")
    return `{${Object.keys(value).sort(byCodePoints).map((key) => `${canonicalText(key)}:${canonicalText(value[key])}`).join(",")}}`;
  demand(typeof value !== "number" || Number.isSafeInteger(value), "the file has a number that languages write differently: make it again");
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The name of a design, as Python computes it. */
export async function fingerprintOf({ provenance, fingerprint, ...covered }) {
  demand(globalThis.crypto?.subtle, "this page must be opened over https, or from this computer");
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonicalText(covered)));
  return `sha256:${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

// ---- a design

/** A design that was read from a file. Reports are codes 0 … m - 1; for sets texts of 0 and 1, first category first. */
export class Design {
  #mechanism;
  #codes;

  constructor(content) {
    this.#mechanism = mechanism(content);
    this.kind = content.kind;
    this.fingerprint = content.fingerprint;
    this.inputs = Object.freeze(labelsOf(content, "inputs"));
    this.outputs = Object.freeze(labelsOf(content, "outputs"));
    this.#codes = new Map(this.inputs.map((label, code) => [canonicalText(label), code]));
    demand(this.#codes.size === this.inputs.length, "two labels of the design are equal");
    Object.freeze(this);
  }

  get k() { return this.#mechanism.k; }
  get m() { return this.#mechanism.m; }
  get wordsPerRow() { return this.#mechanism.words; }

  /** The code of a true answer. */
  code(label) {
    const code = this.#codes.get(canonicalText(label));
    demand(code !== undefined, `not among the ${this.k} answers of this question`);
    return code;
  }

  /** A report for a true code, with the browser's own random words; tests and other programs give theirs. */
  draw(truth, words = secureWords(this.wordsPerRow)) {
    demand(Number.isInteger(truth) && truth >= 0 && truth < this.k, `a code is a whole number from 0 to ${this.k - 1}`);
    return this.#mechanism.draw(truth, words);
  }

  /** A report for a true answer, with the browser's own random words. */
  randomize(label) {
    return this.draw(this.code(label));
  }

  /** Whether a value can be a report of this design. */
  isReport(report) {
    if (this.m !== undefined) return Number.isInteger(report) && report >= 0 && report < this.m;
    return typeof report === "string" && report.length === this.k && /^[01]+$/.test(report) && this.#mechanism.isReport(report);
  }

  /** A report as people read it: its label, or the labels of the set. */
  describe(report) {
    demand(this.isReport(report), "this is not a report of the design");
    if (this.outputs) return textOf(this.outputs[report]);
    return this.inputs.filter((_, j) => report[j] === "1").map(textOf).join(", ");
  }

  /** Pr(report | truth code) as an exact fraction: two integers, not in lowest terms. */
  chance(report, truth) {
    demand(this.isReport(report), "this is not a report of the design");
    return this.#mechanism.chance(report, truth);
  }

  /** By what factor a report can change the odds of any two answers: an exact fraction; over 0 where without bound. */
  parity() {
    return reduced(parityOf(this.#mechanism));
  }

  /** What anyone could believe about each answer after the report, from these beliefs before it. */
  beliefsAfter(report, before) {
    const joint = before.map((belief, truth) => belief * ratio(this.chance(report, truth)));
    const total = joint.reduce((a, b) => a + b, 0);
    return joint.map((belief) => belief / total);
  }
}

function ratio([top, bottom]) {
  const scale = 2n ** 60n;
  return Number((top * scale) / bottom) / Number(scale);
}

/** A design from the content of its file; refused if the file was changed after it was made. */
export async function readDesign(content) {
  demand(content?.maskwell === "design", "this is not a maskwell design file");
  demand(content.version === VERSION, `this is a design file of version ${content.version}; version ${VERSION} can be read`);
  let design;
  try {
    design = new Design(content);
  } catch (error) {
    throw error instanceof MaskwellError ? error : new MaskwellError(`this design file cannot be read (${error.message})`);
  }
  demand((await fingerprintOf(content)) === content.fingerprint, "the design file was changed after it was made");
  return design;
}

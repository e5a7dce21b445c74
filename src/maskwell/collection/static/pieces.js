/** What the pages that ask have in common: elements, numbers, and what is kept on the device. */

// ---- what is shown

/** An element with its properties and what is in it; texts are never read as HTML. */
export function make(tag, properties = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat().filter((one) => one !== undefined && one !== null));
  return element;
}

function drawing(tag, properties, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

/** A list of bars: each has a label, the share of its length that is filled, and a number. */
export function bars(rows) {
  const part = (name, width) => drawing("rect", { class: name, x: 0, y: 0, height: 10, width });
  return make("ul", { class: "bars" }, rows.map(([label, share, number]) => make("li", {},
    make("span", { class: "label" }, label),
    drawing("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, part("room", 100), part("part", 100 * share)),
    make("span", { class: "number" }, number))));
}

/** Of 100 people with each answer, how many would get a report: the rows of the bars. `texts` are the answers, by code. */
export function chancesOf(design, report, texts, words) {
  return texts.map((text, truth) => {
    const [top, bottom] = design.chance(report, truth);
    return [text, Number((top * 10000n) / bottom) / 10000, ofHundred([top, bottom], words)];
  });
}

/** A chance as a number of 100: two digits, more near the ends, and 0 and 100 only where they are exact. */
function ofHundred([top, bottom], words) {
  if (top === 0n || top === bottom) return top === 0n ? "0" : "100";
  if (top * 10000n < bottom) return `<${spoken("0.01", words)}`;
  if ((bottom - top) * 10000n < bottom) return `>${spoken("99.99", words)}`;
  const share = Number((top * 1000000n) / bottom) / 10000;
  return spoken(share > 99 ? share.toFixed(2) : String(Number(share.toPrecision(2))), words);
}

/** A number in the signs of a language: its decimal sign, and its digits in groups of three. */
function spoken(number, { decimal, group }) {
  const [whole, part] = number.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
  return part ? `${grouped}${decimal}${part}` : grouped;
}

/** A factor that is promised: three digits, rounded up, so that no more is promised than is kept. */
export function promised([top, bottom], words) {
  if (bottom === 0n) return "∞";
  let unit = 1n; // the last digit that is shown is worth unit / 10^6
  while (top * 1000000n > 1000n * unit * bottom) unit *= 10n;
  const millionths = ((top * 1000000n + unit * bottom - 1n) / (unit * bottom)) * unit;
  const digits = String(millionths).padStart(7, "0");
  if (digits.length > 21) return `10${superscript(digits.length - 6)}`; // a power of ten that is not below it
  return spoken(`${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, ""), words);
}

function superscript(number) {
  return String(number).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
}

// ---- how far reports are protected

/** The largest factor of each step: as in `privacy/strength.py`, where they are explained; a test compares the two. */
const LIMITS = { strong: 4n, moderate: 20n, weak: 100n };

/** The step of protection of a factor, by which texts are chosen. */
export function strengthOf([top, bottom]) {
  return Object.keys(LIMITS).find((name) => bottom > 0n && top <= LIMITS[name] * bottom) ?? "none";
}

/** How sure somebody can become by reports, who thought a statement as likely as not: the rows of the bars. */
export function beliefsOf([top, bottom], [before, after], words) {
  const most = [top, top + bottom];
  const whole = (100n * most[0] + most[1] - 1n) / most[1]; // never below it
  const beyond = top > 100n * bottom ? ">99" : spoken("99.1", words); // 100 / 101 is 99.1 of 100, rounded up
  const number = whole < 100n || bottom === 0n ? String(whole) : beyond;
  return [[before, 0.5, "50"], [after, Number((most[0] * 10000n) / most[1]) / 10000, number]];
}

/** The text for a step of protection, or the one that all steps share. */
export function stepped(texts, key, strength) {
  return texts[`${key}_${strength}`] ?? texts[key];
}

/** A text with its places filled in. */
export function filled(text, values) {
  return Object.entries(values).reduce((words, [name, value]) => words.replace(`{${name}}`, value), text);
}

// ---- what is kept on the device: one value a key, on the disk before anything goes on

/*
 * Browsers write `localStorage` to the disk seconds later, and one that is killed before forgets it. Here each change is
 * one strict transaction of IndexedDB: no other tab comes in between, and whoever changes something waits until it is
 * written. Other tabs of the same place hear of it.
 */

const NAME = "maskwell";
const channel = new BroadcastChannel(NAME);
let opening;

/** The database, opened once; again after the browser has closed it, as it does when data of pages are cleared. */
function database() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => { request.result.createObjectStore(NAME); };
    request.onerror = () => { reject(request.error); };
    request.onsuccess = () => {
      request.result.onclose = () => { opening = undefined; };
      resolve(request.result);
    };
  });
  return opening;
}

/** Do something in one transaction; what it gave, once everything is written. */
async function within(mode, action) {
  const transaction = (await database()).transaction(NAME, mode, { durability: "strict" });
  return new Promise((resolve, reject) => {
    let outcome;
    transaction.oncomplete = () => { resolve(outcome); };
    transaction.onabort = () => { reject(transaction.error); };
    action(transaction.objectStore(NAME), (value) => { outcome = value; });
  });
}

/** What is kept under a key, if anything is. */
export function readKept(key) {
  return within("readonly", (store, give) => {
    store.get(key).onsuccess = ({ target }) => { give(target.result); };
  });
}

/** Replace what is kept under a key by what `change` makes of it; a promise of the new value, which is then on the disk. */
export async function changeKept(key, change) {
  const changed = await within("readwrite", (store, give) => {
    store.get(key).onsuccess = ({ target }) => {
      const value = change(target.result);
      store.put(value, key);
      give(value);
    };
  });
  channel.postMessage(key);
  return changed;
}

/** Remove whatever is kept under keys that begin so. */
export async function forgetKept(beginning) {
  await within("readwrite", (store) => { store.delete(IDBKeyRange.bound(beginning, `${beginning}\uffff`)); });
  channel.postMessage(beginning);
}

/** Call `heard` with the key whenever another tab has changed something. */
export function watchKept(heard) {
  channel.addEventListener("message", ({ data }) => { heard(data); });
}

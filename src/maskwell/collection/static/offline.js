/**
 * The respondent's page as one file, for a tablet without a network: reports stay in this browser until they are exported.
 *
 * Kept are the reports and the random id of each submission, in the order of the ids, which tells nothing. This part runs
 * before the page itself and is its place (`maskwellPlace`): where the survey comes from and where reports go.
 */

import { changeKept, filled, forgetKept, make, readKept, watchKept } from "./pieces.js";

const content = JSON.parse(document.getElementById("content").textContent);
const survey = content.survey;
const shelf = `maskwell:shelf:${survey.fingerprint}`;
const room = document.getElementById("interviewer");
let rows = []; // the reports of each person under their id, in the order of the ids
let exported;

// ---- what is kept

/** Show what is kept; where the browser lets the file keep nothing, the page itself says so. */
async function refresh() {
  try {
    rows = (await readKept(shelf)) ?? [];
  } catch {
    return;
  }
  renderRoom();
}

/** Replace the rows by what `change` makes of them, with no other tab in between. */
async function changeShelf(change) {
  rows = await changeKept(shelf, (value) => change(value ?? []).sort(([a], [b]) => (a < b ? -1 : 1)));
  renderRoom();
}

/** Keep the reports of one person; the same ones again change nothing. */
async function take({ id, reports }) {
  await changeShelf((kept) => (kept.some(([one]) => one === id) ? kept : [...kept, [id, reports]]));
  return { ok: true, status: 200 };
}

// ---- files

function asJson() {
  const reports = rows.map(([id, given]) => ({ id, reports: given }));
  return JSON.stringify({ maskwell: "reports", version: 1, survey: survey.fingerprint, reports }, null, 1);
}

const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function asCsv() {
  const names = survey.questions.map(({ name }) => name);
  const text = (name, report) => content.reports[name]?.[report] ?? String(report);
  const lines = [["maskwell_id", ...names], ...rows.map(([id, given]) => [id, ...names.map((name) => (Object.hasOwn(given, name) ? text(name, given[name]) : ""))])];
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

function download(kind, type, write) {
  const link = make("a", { href: URL.createObjectURL(new Blob([write()], { type })), download: `reports-${survey.fingerprint.slice(7, 15)}.${kind}` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  exported = rows.map(([id]) => id);
  renderRoom();
}

// ---- for the interviewer

const button = (text, onclick) => make("button", { type: "button", class: "plain", onclick }, text);

function say(key, values = {}) {
  return filled((content.wording[document.documentElement.lang] ?? Object.values(content.wording)[0])[key], values);
}

/** A button that asks once more before it does something that cannot be taken back. */
function careful(label, warning, sure, action) {
  const place = make("div", { class: "careful" });
  const rest = () => place.replaceChildren(button(label, () => {
    place.replaceChildren(
      make("p", { role: "alert" }, warning),
      make("div", { class: "buttons" }, button(sure, action), button(say("interviewer_no"), rest)));
  }));
  rest();
  return place;
}

async function removeExported() {
  const gone = new Set(exported);
  exported = undefined;
  await changeShelf((kept) => kept.filter(([id]) => !gone.has(id)));
}

async function startOver() {
  await forgetKept(`maskwell:${survey.fingerprint}:`);
  location.reload();
}

function renderRoom() {
  const count = rows.length;
  const open = room.querySelector("details")?.open ?? false;
  const details = make("details", {},
    make("summary", {}, say("interviewer")),
    make("p", { id: "kept" }, say(["interviewer_none", "interviewer_one"][count] ?? "interviewer_kept", { count: count.toLocaleString(document.documentElement.lang || "en") })),
    count ? make("div", { class: "buttons" }, button(say("interviewer_csv"), () => download("csv", "text/csv", asCsv)), button(say("interviewer_json"), () => download("json", "application/json", asJson))) : "",
    exported ? [make("p", {}, say("interviewer_exported")), careful(say("interviewer_delete"), say("interviewer_delete_sure"), say("interviewer_delete_yes"), removeExported)] : "",
    make("p", { class: "note" }, say("interviewer_left")),
    careful(say("interviewer_over"), say("interviewer_over_sure"), say("interviewer_over_yes"), startOver));
  details.open = open;
  room.replaceChildren(details);
}

globalThis.maskwellPlace = {
  wording: async () => content.wording,
  survey: async () => ({ state: "open", survey }),
  send: take,
  isInvited: async () => false,
  afterwards: ({ make: element, say: words, again }) =>
    element("div", { class: "buttons" }, element("button", { type: "button", onclick: again }, words("next_person"))),
};
refresh();
new MutationObserver(refresh).observe(document.documentElement, { attributes: true, attributeFilter: ["lang"] });
watchKept((key) => { if (key === shelf) refresh(); });

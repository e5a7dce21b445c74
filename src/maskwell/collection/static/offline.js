/**
 * The respondent's page as one file, for a tablet without a network: reports stay in this browser until they are exported.
 *
 * Kept are the reports and the random id of each submission, in the order of the ids, which tells nothing. This part runs
 * before the page itself and is its place (`maskwellPlace`): where the survey comes from and where reports go.
 */

const content = JSON.parse(document.getElementById("content").textContent);
const survey = content.survey;
const shelf = `maskwell:shelf:${survey.fingerprint}`;
const room = document.getElementById("interviewer");
let exported;

// ---- what is kept

const readShelf = () => JSON.parse(localStorage.getItem(shelf) ?? "{}");

/** Whether the browser lets the file keep anything; where it does not, the page itself says so. */
function canRead() {
  try {
    readShelf();
    return true;
  } catch {
    return false;
  }
}

/** Change what is kept, with no other tab in between. */
function changeShelf(change) {
  return navigator.locks.request(shelf, () => {
    const kept = readShelf();
    change(kept);
    const sorted = Object.fromEntries(Object.entries(kept).sort(([a], [b]) => (a < b ? -1 : 1)));
    localStorage.setItem(shelf, JSON.stringify(sorted));
  });
}

/** Keep the reports of one person; the same ones again change nothing. */
async function take({ id, reports }) {
  await changeShelf((kept) => { kept[id] ??= reports; });
  renderRoom();
  return { ok: true, status: 200 };
}

// ---- files

const listed = () => Object.entries(readShelf()).sort(([a], [b]) => (a < b ? -1 : 1));

function asJson(rows) {
  const reports = rows.map(([id, given]) => ({ id, reports: given }));
  return JSON.stringify({ maskwell: "reports", version: 1, survey: survey.fingerprint, reports }, null, 1);
}

const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function asCsv(rows) {
  const names = survey.questions.map(({ name }) => name);
  const text = (name, report) => (report === undefined ? "" : content.reports[name]?.[report] ?? String(report));
  const lines = [["maskwell_id", ...names], ...rows.map(([id, given]) => [id, ...names.map((name) => text(name, given[name]))])];
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

function download(kind, type, write) {
  const rows = listed();
  const link = make("a", { href: URL.createObjectURL(new Blob([write(rows)], { type })), download: `reports-${survey.fingerprint.slice(7, 15)}.${kind}` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  exported = rows.map(([id]) => id);
  renderRoom();
}

// ---- for the interviewer

function make(tag, properties, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "onclick") element.addEventListener("click", value);
    else element.setAttribute(name, value);
  }
  element.append(...inside.flat());
  return element;
}

const button = (text, onclick) => make("button", { type: "button", class: "plain", onclick }, text);

function say(key, values = {}) {
  const words = content.wording[document.documentElement.lang] ?? content.wording.en;
  return Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, value), words[key]);
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
  await changeShelf((kept) => { for (const id of Object.keys(kept)) if (gone.has(id)) delete kept[id]; });
  exported = undefined;
  renderRoom();
}

function startOver() {
  const unfinished = Object.keys(localStorage).filter((key) => key.startsWith(`maskwell:${survey.fingerprint}:`));
  for (const key of unfinished) localStorage.removeItem(key);
  location.reload();
}

function renderRoom() {
  const count = listed().length;
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
if (canRead()) {
  renderRoom();
  new MutationObserver(renderRoom).observe(document.documentElement, { attributes: true, attributeFilter: ["lang"] });
  window.addEventListener("storage", (event) => { if (event.key === shelf) renderRoom(); });
}

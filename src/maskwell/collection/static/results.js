/** Live results: asks for the figures again every two seconds while the survey is open, and redraws them. */

import { intervals, make, parts, percent } from "./figures.js";

const root = document.getElementById("results");
const EVERY = 2000;

/** A number, or a dash where it is not defined. */
const share = (value) => (value === null ? "–" : percent(value));
const words = (n) => new Intl.NumberFormat("en").format(n);

function card(question, ask) {
  const rows = question.estimates.map(({ category, estimate, interval }) => ({ label: String(category), estimate, interval }));
  const head = [make("h3", {}, ask), make("p", { class: "note" }, `${words(question.n)} ${question.open ? "answers, sent as they were given" : "reports"}`)];
  if (!rows.length) return make("article", { class: "card" }, head, make("p", { class: "note" }, "Estimates appear after the first two reports."));
  const table = make("details", {}, make("summary", {}, "Figures"),
    make("table", { class: "list" },
      make("thead", {}, make("tr", {}, ["Answer", "Share", "Standard error", "95 % interval"].map((text, i) => make("th", { class: i ? "number" : "" }, text)))),
      make("tbody", {}, question.estimates.map((one) => make("tr", {}, make("td", {}, String(one.category)),
        make("td", { class: "number" }, percent(one.estimate)), make("td", { class: "number" }, share(one.standard_error)),
        make("td", { class: "number" }, `${share(one.interval[0])} to ${share(one.interval[1])}`))))));
  const negative = question.estimates.some(({ estimate }) => estimate < 0 || estimate > 1);
  return make("article", { class: "card" }, head,
    intervals(rows, `Estimated shares of ${ask}`),
    !question.open && question.due_to_randomization !== null && parts(question.due_to_randomization),
    question.margin !== null && make("p", {}, question.needed > 0
      ? `Margin now ±${percent(question.margin)}. For ±${percent(question.needed_margin, 0)} about ${words(question.needed)} more respondents are needed.`
      : `Margin ±${percent(question.margin)}: within ±${percent(question.needed_margin, 0)} already.`),
    negative && make("p", { class: "note" }, "An estimate below 0 % or above 100 % is no mistake: chance has more weight than the small true share. It comes closer as reports arrive; do not cut it off, or averages will be wrong."),
    question.flags.filter((flag) => !flag.includes("outside [0, 1]")).map((flag) => make("p", { class: "note" }, flag)),
    table);
}

/** Keep what somebody has unfolded. */
function redraw(content) {
  const open = [...root.querySelectorAll("details")].map((one) => one.open);
  root.replaceChildren(...content);
  [...root.querySelectorAll("details")].forEach((one, i) => { one.open = open[i] ?? false; });
}

const asks = root ? JSON.parse(root.dataset.asks) : [];
const names = root ? JSON.parse(root.dataset.questions) : [];
let chosen = [names[0], names[1]];

async function table() {
  if (names.length < 2) return undefined;
  const choose = (at) => make("label", {}, at ? "by" : "Table of", make("select", { onchange: (event) => { chosen[at] = event.target.value; update(); } },
    names.map((name, i) => make("option", { value: name, selected: name === chosen[at] }, asks[i]))));
  const query = new URLSearchParams({ first: chosen[0], second: chosen[1] });
  const answer = await fetch(`/studio/s/${root.dataset.code}/table.json?${query}`, { headers: { Accept: "application/json" } });
  const body = await answer.json();
  const head = [make("h3", {}, "Two questions together"), make("div", { class: "row" }, choose(0), choose(1))];
  if (!answer.ok) return make("article", { class: "card" }, head, make("p", { class: "note" }, `${body.error.message}. ${body.error.hint}.`));
  if (!body) return make("article", { class: "card" }, head, make("p", { class: "note" }, "The table appears after the first reports."));
  const cells = new Map(body.estimates.map((one) => [JSON.stringify(one.category), one]));
  const [rows, columns] = [0, 1].map((i) => [...new Set(body.estimates.map(({ category }) => category[i]))]);
  return make("article", { class: "card" }, head,
    make("table", { class: "list" },
      make("thead", {}, make("tr", {}, make("th", {}, ""), columns.map((text) => make("th", { class: "number" }, String(text))))),
      make("tbody", {}, rows.map((row) => make("tr", {}, make("td", {}, String(row)), columns.map((column) => {
        const one = cells.get(JSON.stringify([row, column]));
        return make("td", { class: "number" }, one ? `${percent(one.estimate)} ± ${one.interval[0] === null ? "–" : percent((one.interval[1] - one.interval[0]) / 2)}` : "–");
      }))))),
    make("p", { class: "note" }, "Shares of all who were asked both questions, with half widths of 95 % intervals."));
}

async function update() {
  const answer = await fetch(`/studio/s/${root.dataset.code}/results.json`, { headers: { Accept: "application/json" } });
  if (!answer.ok) return;
  const { reports, questions } = await answer.json();
  document.getElementById("count").textContent = words(reports);
  const cards = questions.map((question, i) => card(question, asks[i]));
  redraw([...cards, await table()].filter(Boolean));
}

async function follow() {
  try {
    await update();
  } finally {
    if (root.dataset.live) setTimeout(follow, EVERY);
  }
}

if (root) follow();

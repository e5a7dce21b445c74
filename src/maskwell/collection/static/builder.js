/** The builder: a form of questions and one demand, written as a survey file, with what follows from it. */

import { flows, make, percent } from "./figures.js";

const root = document.getElementById("builder");
const text = document.getElementById("text");
const aside = document.getElementById("consequences");
const DEMANDS = {
  epsilon: ["ε", "log of the largest factor", "2"],
  gamma: ["γ", "largest factor by which odds may change", "6"],
  beta: ["β", "largest factor by which a probability may change", "3"],
  bayes_factor: ["Bayes factor", "largest Bayes factor", "6"],
  rho: ["ρ1 to ρ2", "a belief below the first may not rise above the second", "0.1 0.5"],
};
let waiting;

function field(label, element, note) {
  return make("label", {}, label, element, note && make("span", { class: "note" }, note));
}

function question(number) {
  const remove = make("button", { type: "button", class: "quiet", onclick: (event) => { event.target.closest("fieldset").remove(); changed(); } }, "Remove");
  return make("fieldset", { class: "question" },
    make("legend", {}, "Question"),
    field("What is asked", make("input", { name: "ask", required: true, value: number === 0 ? "Were you paid in cash last month?" : "" })),
    field("Answers, one in each line", make("textarea", { name: "answers", rows: 3, class: "text" }, number === 0 ? "never\nonce\nmore often" : "yes\nno")),
    make("label", { class: "check" }, make("input", { type: "checkbox", name: "sensitive", checked: true }), "sensitive: randomized on the device of the respondent"),
    make("label", { class: "check" }, make("input", { type: "checkbox", name: "declined" }), "with the answer “prefer not to say”"),
    remove);
}

function formOf() {
  const value = (name) => root.querySelector(`[name="${name}"]`).value;
  const questions = [...root.querySelectorAll("fieldset.question")].map((one) => ({
    ask: one.querySelector('[name="ask"]').value,
    answers: one.querySelector('[name="answers"]').value.split("\n").map((line) => line.trim()).filter(Boolean),
    sensitive: one.querySelector('[name="sensitive"]').checked,
    declined: one.querySelector('[name="declined"]').checked,
  }));
  return { title: value("title"), introduction: value("introduction"), access: value("access"), demand: { word: value("word"), value: value("value") }, n: Number(value("n")), questions };
}

function show(answer) {
  const head = make("h2", {}, "What follows");
  if (answer.error) return aside.replaceChildren(head, make("p", { class: "error" }, answer.error.message, make("br"), make("span", { class: "hint" }, answer.error.hint)));
  const cards = answer.questions.map((one) => make("div", {},
    make("h3", {}, one.name),
    one.open ? make("p", { class: "note" }, "Sent as it is.")
      : [make("p", {}, `A report changes the odds of two answers by a factor of ${one.factor} at most.`), one.matrix && flows(one.answers, one.reports, one.matrix)],
    make("p", {}, `With ${new Intl.NumberFormat("en").format(answer.n)} respondents: ±${percent(one.margin)} in the worst case. For ±5 %: ${new Intl.NumberFormat("en").format(one.needed)} respondents.`)));
  return aside.replaceChildren(head, make("p", {}, "All reports of one person together: a factor of ", make("b", {}, answer.factor), " at most."), ...cards);
}

async function ask(body) {
  const answer = await fetch("/studio/consequences", { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": root.dataset.csrf, Accept: "application/json" }, body: JSON.stringify(body) });
  const content = await answer.json();
  if (content.text !== undefined && !("text" in body)) text.value = content.text;
  show(content);
}

function later(body) {
  clearTimeout(waiting);
  waiting = setTimeout(() => ask(body()), 250);
}

const changed = () => later(formOf);

function build() {
  const questions = make("div", {}, question(0));
  const word = make("select", { name: "word", onchange: (event) => { root.querySelector('[name="value"]').value = DEMANDS[event.target.value][2]; changed(); } },
    Object.entries(DEMANDS).map(([name, [label, about]]) => make("option", { value: name }, `${label}: ${about}`)));
  root.append(
    field("Title", make("input", { name: "title", required: true, value: "Working life" })),
    field("Introduction", make("textarea", { name: "introduction", rows: 2, class: "text" })),
    field("Who can answer", make("select", { name: "access" }, make("option", { value: "open" }, "everybody with the link"), make("option", { value: "invitations" }, "those with an invitation, once each"))),
    make("div", { class: "row" }, field("What all reports of one person may reveal", word), field("Bound", make("input", { name: "value", value: "2" })), field("Respondents expected", make("input", { name: "n", type: "number", min: 1, value: 1000 }))),
    questions,
    make("p", {}, make("button", { type: "button", class: "quiet", onclick: () => { questions.append(question(1)); changed(); } }, "Add a question")));
  root.addEventListener("input", changed);
  changed();
}

if (root.dataset.fresh) build();
else later(() => ({ text: text.value }));
text.addEventListener("input", () => later(() => ({ text: text.value })));

/** The builder: a form of questions and one demand, written as a survey file, with what follows from it. */

import { flows, make, percent, probabilities, promise, shrinking, words } from "./figures.js";

const root = document.getElementById("builder");
const text = document.getElementById("text");
const plan = document.getElementById("plan");
const aside = document.getElementById("consequences");
const save = document.getElementById("save");
const failure = document.getElementById("save-error");
const DEMANDS = {
  epsilon: ["ε", "log of the largest factor", "2"],
  gamma: ["γ", "largest factor by which odds may change", "6"],
  beta: ["β", "largest factor by which a probability may change", "3"],
  bayes_factor: ["Bayes factor", "largest Bayes factor", "6"],
  rho: ["ρ1 to ρ2", "a belief below the first may not rise above the second", "0.1 0.5"],
};
let waiting;
let asked = 0;
let isForm = Boolean(root.dataset.form); // false once the file was changed by hand: then the file is what is saved

function field(label, element, note) {
  return make("label", {}, label, note && make("span", { class: "note" }, ` ${note}`), element);
}

function input(name, value, more = {}) {
  return make("input", { name, value: value ?? "", autocomplete: "off", ...more });
}

function area(name, value, rows) {
  return make("textarea", { name, rows, class: "text" }, value ?? "");
}

function check(name, checked, label) {
  return make("label", { class: "check" }, make("input", { type: "checkbox", name, checked: Boolean(checked) }), label);
}

// ---- questions

function number() {
  const all = [...root.querySelectorAll("fieldset.question")];
  all.forEach((one, i) => {
    one.querySelector("legend").textContent = `Question ${i + 1}`;
    for (const button of one.querySelectorAll(".tools button")) button.setAttribute("aria-label", `${button.textContent} question ${i + 1}`);
    one.querySelector(".up").disabled = i === 0;
  });
}

function question({ name = "", ask = "", help = "", answers = ["yes", "no"], sensitive = true, declined = false } = {}) {
  const tool = (label, onclick, kind = "") => make("button", { type: "button", class: `plain ${kind}`, onclick: () => { onclick(); number(); changed(); } }, label);
  const element = make("fieldset", { class: "question" },
    make("legend", {}, "Question"),
    make("input", { type: "hidden", name: "name", value: name }),
    field("What is asked", input("ask", ask, { required: true })),
    field("Answers, one in each line", area("answers", answers.join("\n"), Math.min(12, Math.max(3, answers.length)))),
    field("Help below the question", input("help", help), "(may be empty)"),
    check("sensitive", sensitive, "sensitive: randomized on the respondent's device"),
    check("declined", declined, "with the answer “prefer not to say”"),
    make("div", { class: "tools" },
      tool("Move up", () => { element.previousElementSibling?.before(element); element.querySelector(".up").focus(); }, "up"),
      tool("Remove", () => { const next = element.nextElementSibling ?? element.previousElementSibling; element.remove(); (next?.querySelector('[name="ask"]') ?? document.getElementById("add")).focus(); })));
  return element;
}

function formOf() {
  const value = (name) => root.querySelector(`[name="${name}"]`).value;
  const questions = [...root.querySelectorAll("fieldset.question")].map((one) => {
    const of = (name) => one.querySelector(`[name="${name}"]`);
    return {
      name: of("name").value,
      ask: of("ask").value.trim(),
      help: of("help").value.trim(),
      answers: of("answers").value.split("\n").map((line) => line.trim()).filter(Boolean),
      sensitive: of("sensitive").checked,
      declined: of("declined").checked && of("sensitive").checked,
    };
  });
  const texts = Object.fromEntries(["title", "introduction", "thanks", "contact", "access"].map((name) => [name, value(name).trim()]));
  return { ...texts, demand: { word: value("word"), value: value("value") }, questions };
}

/** What margins are for: respondents, a true share (or every share), and the margin to reach. */
function planned() {
  const value = (name) => Number(plan.querySelector(`[name="${name}"]`).value);
  return { n: value("n"), share: value("share") / 100, margin: value("margin") / 100 };
}

// ---- what follows

function failed({ message, hint }) {
  const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1).replace(/\.$/, "")}.`;
  return make("div", { class: "error" }, make("p", {}, sentence(message)), hint && make("p", { class: "hint" }, sentence(hint)));
}

function show(answer) {
  const head = make("h2", {}, "What follows");
  if (answer.error) return aside.replaceChildren(head, failed(answer.error));
  const where = answer.share === null ? "at worst" : `for a share of ${percent(answer.share, 0)}`;
  const unfolded = new Set([...aside.querySelectorAll("details[open]")].map((one) => one.id));
  const fold = (id, summary, ...inside) => make("details", { id, open: unfolded.has(id) }, make("summary", {}, summary), ...inside);
  const cards = answer.questions.map((one, i) => make("div", { class: "consequence" },
    make("h3", {}, `${i + 1}. ${one.ask}`),
    one.open ? make("p", { class: "note" }, "Sent as it is.")
      : [make("p", {}, "A report changes the odds of two answers by a factor of ", make("b", {}, one.factor), " at most."),
        one.matrix ? [flows(one.answers, one.reports, one.matrix), fold(`p${i}`, "Probabilities", probabilities(one.ask, one.answers, one.reports, one.matrix))]
          : make("p", { class: "note" }, "Each report is a set of answers; there are too many to draw.")],
    make("p", {}, `${words(answer.n)} respondents: `, make("b", {}, `±${percent(one.margin)}`), ` ${where}. For ±${percent(answer.margin)}: `, make("b", {}, words(one.needed)), " respondents."),
    fold(`c${i}`, "How the interval shrinks", ...shrinking(one.margin, one.directly, answer.n, answer.margin, one.needed))));
  return aside.replaceChildren(head,
    make("p", {}, "All reports of one person together change the odds of any two sets of answers by a factor of ", make("b", {}, answer.factor), " at most."),
    Number.isFinite(answer.gamma) ? promise(answer.gamma) : "", ...cards);
}

/** Ask what follows; whether the draft can be saved. The newest question wins. */
async function ask() {
  clearTimeout(waiting);
  const turn = (asked += 1);
  const body = { ...(isForm ? formOf() : { text: text.value }), ...planned() };
  let content;
  try {
    const answer = await fetch("/studio/consequences", { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": root.dataset.csrf, Accept: "application/json" }, body: JSON.stringify(body) });
    content = await answer.json();
  } catch {
    content = { error: { message: "The service does not answer.", hint: "What you wrote is still here; try again in a moment." } };
  }
  if (turn !== asked) return undefined;
  aside.classList.remove("busy");
  if (isForm && content.text !== undefined) text.value = content.text;
  show(content);
  return content;
}

function changed() {
  failure.replaceChildren();
  aside.classList.add("busy");
  clearTimeout(waiting);
  waiting = setTimeout(ask, 250);
}

// ---- the page

function build(form) {
  const questions = make("div", {}, form.questions.map(question));
  const bound = input("value", form.demand.value, { required: true });
  const word = make("select", { name: "word", onchange: () => { bound.value = DEMANDS[word.value][2]; } },
    Object.entries(DEMANDS).map(([name, [label, about]]) => make("option", { value: name, selected: name === form.demand.word }, `${label}: ${about}`)));
  const access = [["open", "everybody with the link"], ["invitations", "those with an invitation, once each"]];
  root.append(
    field("Title", input("title", form.title, { required: true })),
    field("Introduction", area("introduction", form.introduction, 2), "(may be empty)"),
    field("Who can answer", make("select", { name: "access" }, access.map(([value, label]) => make("option", { value, selected: value === form.access }, label)))),
    make("div", { class: "row" }, field("What all reports of one person may reveal", word), field("Bound", bound)),
    make("details", {}, make("summary", {}, "Contact and closing words"),
      field("Contact", input("contact", form.contact), "for questions of respondents"),
      field("Thanks", area("thanks", form.thanks, 2), "shown after sending")),
    make("h2", {}, "Questions"),
    questions,
    make("p", {}, make("button", { type: "button", id: "add", class: "quiet", onclick: () => { const added = question(); questions.append(added); number(); added.querySelector('[name="ask"]').focus(); changed(); } }, "Add a question")));
  number();
  root.addEventListener("input", () => { isForm = true; changed(); });
}

plan.append(make("h2", {}, "Plan for"), make("div", { class: "row" },
  field("Respondents", input("n", 1000, { type: "number", min: 1, step: 1 })),
  field("True share, %", input("share", "", { type: "number", min: 0.1, max: 99.9, step: 0.1, placeholder: "any" })),
  field("Margin, ± %", input("margin", 5, { type: "number", min: 0.1, max: 50, step: 0.1 }))));
plan.addEventListener("input", changed);
if (isForm) {
  build(JSON.parse(root.dataset.form));
  document.getElementById("file").open = false; // unfolded for those without a script
}
text.addEventListener("input", () => { isForm = false; changed(); });
save.addEventListener("submit", async (event) => {
  event.preventDefault();
  const content = await ask(); // what was typed last is what is saved
  if (content?.error) return failure.replaceChildren(failed(content.error));
  return content && save.submit();
});
ask();

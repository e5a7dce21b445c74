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

const part = (element, name) => element.querySelector(`[name="${name}"]`);
const lines = (element, name) => part(element, name).value.split("\n").map((line) => line.trim()).filter(Boolean);
const all = () => [...root.querySelectorAll("fieldset.question")];

function number() {
  all().forEach((one, i) => {
    one.querySelector("legend").textContent = `Question ${i + 1}`;
    for (const button of one.querySelectorAll(".tools button")) button.setAttribute("aria-label", `${button.textContent} question ${i + 1}`);
    one.querySelector(".up").disabled = i === 0;
  });
  follow();
}

/** Redraw what depends on other fields; only where these have changed, so that nobody loses the place where they type. */
function redraw(place, about, draw) {
  const mark = JSON.stringify(about);
  if (place.mark !== mark) place.replaceChildren(...draw());
  place.mark = mark;
}

function follow() {
  for (const one of all()) part(one, "declined").parentElement.hidden = !part(one, "sensitive").checked;
  all().forEach(conditions);
  translations();
}

/** Of whom a question is asked: of everybody, or after some answers to an earlier open question. */
function conditions(one, i, every) {
  const open = every.slice(0, i).filter((earlier) => !part(earlier, "sensitive").checked && part(earlier, "ask").value.trim());
  if (!open.includes(one.after)) one.after = undefined;
  const place = one.querySelector(".condition");
  const answers = one.after ? lines(one.after, "answers") : [];
  redraw(place, [open.map((earlier) => part(earlier, "ask").value), open.indexOf(one.after), answers], () => {
    if (!open.length) return [];
    const choose = (event) => { one.after = open[event.target.value]; one.chosen = new Set(); number(); part(one, "after").focus(); };
    const select = make("select", { name: "after", onchange: choose }, make("option", { value: "" }, "everybody"),
      open.map((earlier, at) => make("option", { value: at, selected: earlier === one.after }, `people by their answer to “${part(earlier, "ask").value}”`)));
    const box = (label) => make("label", { class: "check" }, make("input", { type: "checkbox", checked: one.chosen.has(label), onchange: (event) => { one.chosen[event.target.checked ? "add" : "delete"](label); } }), label);
    return [field("Asked of", select), one.after && make("div", { role: "group", "aria-label": "Asked after these answers", class: "choices" }, answers.map(box))].filter(Boolean);
  });
}

function conditionOf(one, every) {
  return one.after ? { question: every.indexOf(one.after), answers: lines(one.after, "answers").filter((label) => one.chosen.has(label)) } : null;
}

// ---- languages

const languages = () => [...new Set(part(root, "languages").value.toLowerCase().split(/[\s,]+/).filter(Boolean))];

function nameOf(language) {
  try {
    return `${new Intl.DisplayNames(["en"], { type: "language" }).of(language)} (${language})`;
  } catch {
    return language; // not the code of a language: the survey says so
  }
}

/** A field for a text in another language, below the text itself; what is typed stays with the owner of the text. */
function translated(owner, language, key, original, isList) {
  if (!original.length) return undefined;
  const words = (owner.words[language] ??= {});
  const about = { lang: language, oninput: (event) => { words[key] = isList ? event.target.value.split("\n").map((line) => line.trim()).filter(Boolean) : event.target.value.trim(); } };
  if (!isList) return field(original, make("input", { value: words[key] ?? "", autocomplete: "off", ...about }));
  return field(original.join(" · "), make("textarea", { rows: original.length, class: "text", ...about }, (words[key] ?? []).join("\n")), "(one in each line)");
}

function translations() {
  const place = document.getElementById("translations");
  const head = ["title", "introduction", "thanks"].map((key) => [key, part(root, key).value.trim()]);
  const texts = all().map((one) => {
    const declined = part(one, "declined").checked && part(one, "sensitive").checked ? ["prefer not to say"] : [];
    return [part(one, "ask").value.trim(), part(one, "help").value.trim(), [...lines(one, "answers"), ...declined]];
  });
  const unfolded = new Set([...place.querySelectorAll("details[open]")].map((one) => one.dataset.language));
  redraw(place, [languages(), head, texts], () => languages().slice(1).map((language) =>
    make("details", { "data-language": language, open: unfolded.has(language) }, make("summary", {}, nameOf(language)),
      head.map(([key, original]) => translated(root, language, key, original)),
      all().map((one, i) => ["ask", "help", "answers"].map((key, at) => translated(one, language, key, texts[i][at], key === "answers"))))));
}

function wordingOf(language) {
  return { ...root.words[language], questions: all().map((one) => one.words[language] ?? {}) };
}

// ---- the form

function question({ name = "", ask = "", help = "", answers = ["yes", "no"], sensitive = true, declined = false, after } = {}) {
  const tool = (label, onclick, kind = "") => make("button", { type: "button", class: `plain ${kind}`, onclick: () => { onclick(); number(); changed(); } }, label);
  const element = make("fieldset", { class: "question" },
    make("legend", {}, "Question"),
    make("input", { type: "hidden", name: "name", value: name }),
    field("What is asked", input("ask", ask, { required: true })),
    field("Answers, one in each line", area("answers", answers.join("\n"), Math.min(12, Math.max(3, answers.length)))),
    field("Help below the question", input("help", help), "(may be empty)"),
    check("sensitive", sensitive, "sensitive: randomized on the respondent's device"),
    check("declined", declined, "with the answer “prefer not to say”"),
    make("div", { class: "condition" }),
    make("div", { class: "tools" },
      tool("Move up", () => { element.previousElementSibling?.before(element); element.querySelector(".up").focus(); }, "up"),
      tool("Remove", () => { const next = element.nextElementSibling ?? element.previousElementSibling; element.remove(); (next?.querySelector('[name="ask"]') ?? document.getElementById("add")).focus(); })));
  return Object.assign(element, { words: {}, chosen: new Set(after?.answers) });
}

function formOf() {
  const value = (name) => root.querySelector(`[name="${name}"]`).value;
  const questions = all().map((one, _, every) => ({
    name: part(one, "name").value,
    ask: part(one, "ask").value.trim(),
    help: part(one, "help").value.trim(),
    answers: lines(one, "answers"),
    sensitive: part(one, "sensitive").checked,
    declined: part(one, "declined").checked && part(one, "sensitive").checked,
    after: conditionOf(one, every),
  }));
  const wording = Object.fromEntries(languages().slice(1).map((language) => [language, wordingOf(language)]));
  const texts = Object.fromEntries(["title", "introduction", "thanks", "contact", "access"].map((name) => [name, value(name).trim()]));
  const accept = part(root, "accept").checked;
  return { ...texts, languages: languages(), wording, demand: { word: value("word"), value: value("value") }, accept, questions };
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

/** By which factor odds can change, where there is a bound. */
function bounded(what, factor) {
  if (factor === "∞") return make("p", {}, "Some reports rule answers out: odds can change without bound.");
  return make("p", {}, `${what} by a factor of `, make("b", {}, factor), " at most.");
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
      : [bounded("A report changes the odds of two answers", one.factor),
        one.matrix ? [flows(one.answers, one.reports, one.matrix), fold(`p${i}`, "Probabilities", probabilities(one.ask, one.answers, one.reports, one.matrix))]
          : make("p", { class: "note" }, "Each report is a set of answers; there are too many to draw.")],
    make("p", {}, `${words(answer.n)} respondents: `, make("b", {}, `±${percent(one.margin)}`), ` ${where}. For ±${percent(answer.margin)}: `, make("b", {}, words(one.needed)), " respondents."),
    fold(`c${i}`, "How the interval shrinks", ...shrinking(one.margin, one.directly, answer.n, answer.margin, one.needed))));
  return aside.replaceChildren(head,
    bounded("All reports of one person together change the odds of any two sets of answers", answer.factor),
    make("p", { class: answer.strength === "none" ? "error" : "" }, "Protection: ", make("b", {}, answer.strength), `. Respondents read: “${answer.protects}”`),
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
    check("accept", form.accept, "ask even where reports can reveal the answers (factor above 100), and inform respondents"),
    make("details", {}, make("summary", {}, "Contact and closing words"),
      field("Contact", input("contact", form.contact), "for questions of respondents"),
      field("Thanks", area("thanks", form.thanks, 2), "shown after sending")),
    make("h2", {}, "Questions"),
    questions,
    make("p", {}, make("button", { type: "button", id: "add", class: "quiet", onclick: () => { const added = question(); questions.append(added); number(); added.querySelector('[name="ask"]').focus(); changed(); } }, "Add a question")),
    make("details", { id: "languages" }, make("summary", {}, "Languages"),
      field("Codes of the languages", input("languages", (form.languages ?? ["en"]).join(" ")), "the first is that of the texts above, such as: en de"),
      make("div", { id: "translations" })));
  fill(form);
  number();
  root.addEventListener("input", () => { isForm = true; follow(); changed(); });
}

/** What a saved form says about conditions and other languages. */
function fill({ questions, wording = {} }) {
  const every = all();
  root.words = {};
  every.forEach((one, i) => { one.after = every[questions[i].after?.question]; });
  for (const [language, { questions: words, ...head }] of Object.entries(wording)) {
    root.words[language] = head;
    every.forEach((one, i) => { one.words[language] = words[i]; });
  }
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

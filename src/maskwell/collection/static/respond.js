/**
 * The respondent's page: asks, draws reports on this device, shows what will be sent, and sends it.
 *
 * A true answer lives in the ticked radio button until the report is drawn, and then nowhere. What is kept in the
 * browser's storage, under the survey's fingerprint, is the random id of the submission and the reports that were drawn,
 * so that reloading, going back, a second tab, sending again or a browser that crashed never draw a second time.
 */

import { Design, MaskwellError, fingerprintOf, readDesign, textOf } from "./maskwell.js";
import { bars, beliefsOf, chancesOf, changeKept, filled, forgetKept, make, promised, readKept, stepped, strengthOf, watchKept } from "./pieces.js";

const main = document.getElementById("page");
const footer = document.getElementById("footer");
const code = location.pathname.split("/")[2];
const invitation = location.hash.slice(1);

/** Where the survey comes from and where reports go: the service, unless the page is one file without a network. */
const place = globalThis.maskwellPlace ?? {
  wording: async () => (await fetch("/static/wording.json")).json(),
  survey: async () => {
    const answer = await fetch(`/s/${code}/survey.json`);
    return answer.ok ? answer.json() : undefined;
  },
  send: (body) => post(`/api/surveys/${code}/reports`, padded(body)),
  isInvited: async () => {
    const answer = await post(`/api/surveys/${code}/invitation`, JSON.stringify({ invitation }));
    return answer.ok && (await answer.json()).usable;
  },
};

function post(address, body) {
  return fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

/** A submission with blanks behind it: all of one survey have the same length, which is seen in spite of https. */
function padded(body) {
  const isSet = (question) => question.design && !designs.get(question.name).outputs;
  const last = (question) => (question.design ? designs.get(question.name).outputs : question.answers).length - 1;
  const longest = survey.questions.map((question) => [question.name, isSet(question) ? "0".repeat(question.answers.length) : last(question)]);
  const size = (one) => new TextEncoder().encode(JSON.stringify(one)).length;
  return JSON.stringify(body) + " ".repeat(Math.max(0, size({ ...body, reports: Object.fromEntries(longest) }) - size(body)));
}
const PRACTICE = { kind: "uniform", inputs: { count: 3 }, outputs: { count: 3 }, exact: { denominator: "2", truth: "1" } };

let wording;
let survey;
let designs;
let joint; // by what factor all reports of one person together can change odds: a fraction, over 0 where without bound
let language;
let storageKey;
let kept; // what this device keeps, as it was last heard of
let at = "start";

// ---- small helpers

/** The texts of the page in a language: ours, or those that the survey brings. */
const wordsIn = (one) => wording[one] ?? survey?.texts?.[one]?.page ?? wording[one.split("-")[0]] ?? wording.en;

/** A text of the page in the language of the reader. */
function say(key, values = {}) {
  return filled(wordsIn(language)[key] ?? wording.en[key], values);
}

/** A text that is true for what reports can reveal: all of one person's together, or those to one question. */
function sayTrue(key, factor = joint, values = {}) {
  const number = promised(factor, wordsIn(language));
  return filled(stepped(wordsIn(language), key, strengthOf(factor)), { factor: number, ...values });
}

/** The language of the reader among some, by its code or its main part. */
function readers(languages) {
  const asked = (navigator.languages ?? []).flatMap((one) => [one, one.split("-")[0]]);
  const main = (one) => one.split("-")[0];
  return asked.map((one) => languages.find((other) => other === one) ?? languages.find((other) => main(other) === one)).find(Boolean);
}

const inWords = (texts) => texts?.[language] ?? texts?.[survey.languages[0]] ?? "";
const answerText = (question, label) => inWords(question.answers.find((answer) => answer.label === label)?.text) || label;

// ---- what is kept on this device

const device = place.device ?? { read: readKept, change: changeKept, forget: forgetKept, watch: watchKept };

/** The reports have no prototype: a question may have any name, such as "constructor". */
const stateOf = (value) => ({ ...value, reports: Object.assign(Object.create(null), value?.reports) });

async function refresh() {
  kept = stateOf(await device.read(storageKey));
}

/** Change what is kept, with no other tab in between; true once it is on the disk. Nothing changes once it was sent. */
async function keep(change) {
  kept = stateOf(await device.change(storageKey, (value) => {
    const state = stateOf(value);
    if (!state.sent) change(state);
    return state;
  }));
  return true;
}

/** Keep, or say that this browser does not: what was drawn is then neither shown nor sent. */
async function tryToKeep(change, message) {
  try {
    return await keep(change);
  } catch {
    message.replaceChildren(make("span", { class: "error" }, say("no_storage")));
    return undefined;
  }
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The questions that are asked after the open answers so far; what was answered before it was hidden does not count. */
function asked(reports) {
  const labels = new Map();
  return survey.questions.filter((question) => {
    const isAsked = Object.entries(question.show_if).every(([name, after]) => after.includes(labels.get(name)));
    if (isAsked && !question.design) labels.set(question.name, question.answers[reports[question.name]]?.label);
    return isAsked;
  });
}

// ---- the page

function show(...content) {
  const isFirst = !main.querySelector("h1");
  main.replaceChildren(...content.flat().filter(Boolean));
  if (isFirst) return; // a page that has just come is read from its top as it is
  main.focus();
  window.scrollTo(0, 0);
}

function setLanguage() {
  document.documentElement.lang = language;
  document.documentElement.dir = say("direction");
}

function stop(message) {
  setLanguage();
  show(make("h1", {}, survey ? inWords(survey.title) : ""), make("p", { class: "error", role: "alert" }, message));
}

function button(text, onclick, properties = {}) {
  return make("button", { type: "button", onclick, ...properties }, text);
}

/** Go to a step; the browser's back button comes back to where one was. */
function go(step) {
  at = step;
  history.pushState({ step }, "");
  render();
}

function render() {
  setLanguage();
  document.title = inWords(survey.title);
  renderFooter();
  if (kept.sent) return renderThanks();
  if (at === "start") return renderStart();
  if (at === "practice") return renderPractice();
  const questions = asked(kept.reports);
  if (at >= questions.length) return renderReview(questions);
  return questions[at].design ? renderSensitive(questions[at], questions.length) : renderOpen(questions[at], questions.length);
}

function renderFooter() {
  const choose = survey.languages.length > 1 &&
    make("label", {}, `${say("language")} `,
      make("select", { onchange: (event) => { language = event.target.value; render(); } },
        survey.languages.map((one) => make("option", { value: one, selected: one === language }, wordsIn(one).name))));
  footer.replaceChildren(...[
    choose && make("p", {}, choose),
    survey.contact && make("p", {}, say("contact", { contact: survey.contact })),
    make("p", {}, globalThis.maskwellPlace ? "" : [make("a", { href: `/s/${code}/check?language=${language}` }, say("check")), " · "], make("code", {}, say("fingerprint", { fingerprint: survey.fingerprint.slice(7, 23) }))),
  ].filter(Boolean));
}

function renderStart() {
  show(
    make("h1", {}, inWords(survey.title)),
    inWords(survey.introduction) && make("p", {}, inWords(survey.introduction)),
    make("section", { class: `box ${strengthOf(joint)}` },
      make("h2", {}, sayTrue("how_title")),
      make("p", {}, sayTrue("how_draw")),
      make("p", {}, sayTrue("how_sent")),
      make("p", { class: "protects" }, sayTrue("how_protects")),
      make("p", {}, say("how_all"))),
    make("section", { class: "beliefs" },
      make("p", {}, say("belief")),
      bars(beliefsOf(joint, [say("belief_before"), sayTrue("belief_after")], wordsIn(language))),
      joint[1] > 0n ? make("p", { class: "note" }, sayTrue("promise_joint")) : ""),
    make("div", { class: "buttons" },
      button(say("begin"), () => go(0)),
      survey.practice && button(say("try"), () => go("practice"), { class: "plain" })),
  );
}

/** Radio buttons, none ticked unless a code is given. */
function answers(texts, ticked) {
  return texts.map((text, code) =>
    make("label", { class: "answer" }, make("input", { type: "radio", name: "answer", value: code, checked: code === ticked, autocomplete: "off" }), make("span", {}, text)));
}

const tickedCode = () => { const input = main.querySelector("input:checked"); return input ? Number(input.value) : undefined; };

function renderPractice() {
  const design = new Design(PRACTICE);
  const texts = say("practice_answers");
  const counts = texts.map(() => texts.map(() => 0));
  const outcome = make("div", { "aria-live": "polite" });
  const draw = () => {
    const truth = tickedCode();
    if (truth === undefined) return outcome.replaceChildren(make("p", {}, say("choose")));
    counts[truth][design.randomize(truth)] += 1;
    const total = counts[truth].reduce((a, b) => a + b, 0);
    return outcome.replaceChildren(
      make("p", {}, say("practice_so_far", { answer: texts[truth] })),
      bars(texts.map((text, i) => [text, counts[truth][i] / total, String(counts[truth][i])])));
  };
  show(
    make("fieldset", {}, make("legend", {}, make("h1", {}, say("practice_ask"))), answers(texts)),
    make("p", { class: "note" }, say("practice_note")),
    make("div", { class: "buttons" }, button(say("practice_draw"), draw), button(say("begin"), () => go(0), { class: "plain" })),
    outcome,
  );
}

function stepLine(total) {
  return make("p", { class: "step" }, say("step", { n: at + 1, total }));
}

function backButton() {
  return button(say("back"), () => go(at === 0 ? "start" : at - 1), { class: "plain" });
}

function renderOpen(question, total) {
  const message = make("p", { role: "status" });
  const answer = async () => {
    const ticked = tickedCode();
    if (ticked === undefined) return message.replaceChildren(say("choose"));
    const isKept = await tryToKeep((state) => { state.reports[question.name] = ticked; }, message);
    return isKept && go(at + 1);
  };
  show(
    stepLine(total),
    make("fieldset", {}, make("legend", {}, make("h1", {}, inWords(question.ask))), inWords(question.help) && make("p", { class: "note" }, inWords(question.help)),
      answers(question.answers.map(({ label }) => answerText(question, label)), kept.reports[question.name])),
    make("p", { class: "note" }, say("open_note")),
    message,
    make("div", { class: "buttons" }, button(say("next"), answer), backButton()),
  );
}

function renderSensitive(question, total) {
  const before = kept.reports[question.name];
  if (before !== undefined) return renderDrawn(question, total, before);
  const message = make("p", { role: "status" });
  const draw = async () => {
    const ticked = tickedCode();
    if (ticked === undefined) return message.replaceChildren(say("choose"));
    const isKept = await tryToKeep((state) => { // drawn here, and only if no other tab has drawn before
      state.reports[question.name] ??= designs.get(question.name).draw(ticked);
    }, message);
    return isKept && render();
  };
  return show(
    stepLine(total),
    make("fieldset", {}, make("legend", {}, make("h1", {}, inWords(question.ask))), inWords(question.help) && make("p", { class: "note" }, inWords(question.help)),
      answers(question.answers.map(({ label }) => answerText(question, label)))),
    make("p", { class: "note" }, sayTrue("sensitive_note")),
    message,
    make("div", { class: "buttons" }, button(say("draw"), draw), backButton()),
  );
}

/** A report in the words of the survey: reports that are answers in the reader's language, others by their label. */
function reportText(question, report) {
  const design = designs.get(question.name);
  if (!design) return answerText(question, question.answers[report].label);
  if (design.outputs) return answerText(question, textOf(design.outputs[report]));
  return question.answers.filter((_, j) => report[j] === "1").map(({ label }) => answerText(question, label)).join(", ") || "–";
}

function renderDrawn(question, total, report) {
  const design = designs.get(question.name);
  const texts = question.answers.map(({ label }) => answerText(question, label));
  show(
    stepLine(total),
    make("h1", {}, inWords(question.ask)),
    make("h2", {}, say("drawn_title")),
    make("p", { class: "report" }, reportText(question, report)),
    make("p", {}, sayTrue("differs")),
    make("p", { class: "note" }, say("drawn_note")),
    make("h2", {}, say("reveals_title")),
    make("p", {}, say("reveals")),
    bars(chancesOf(design, report, texts, wordsIn(language))),
    make("p", {}, design.parity()[1] > 0n ? sayTrue("reveals_factor", design.parity()) : say("reveals_factor_infinite")),
    make("div", { class: "buttons" }, button(say("next"), () => go(at + 1)), backButton()),
  );
}

function renderReview(questions) {
  const { reports } = kept;
  const missing = questions.findIndex((question) => reports[question.name] === undefined);
  if (missing >= 0) { at = missing; return render(); }
  const message = make("p", { role: "status" });
  const send = button(say("send"), async () => {
    send.disabled = true;
    message.replaceChildren(say("sending"));
    const outcome = await deliver(questions, reports);
    if (outcome === true) return render();
    send.disabled = false;
    send.replaceChildren(say("again"));
    return message.replaceChildren(make("span", { class: "error" }, outcome ?? say("failed")));
  });
  return show(
    make("h1", {}, say("review_title")),
    make("dl", { class: "sent" }, questions.flatMap((question) => [
      make("dt", {}, inWords(question.ask)),
      make("dd", { class: question.design ? "drawn" : "" }, `${reportText(question, reports[question.name])} `, make("span", {}, `(${say(question.design ? "as_drawn" : "as_given")})`))])),
    make("p", { class: "note" }, say("review_note"), survey.access === "invitations" ? ` ${say("review_invitation")}` : ""),
    message,
    make("div", { class: "buttons" }, send, button(say("back"), () => go(questions.length - 1), { class: "plain" })),
  );
}

/** True once the reports are stored, or other ones than those on the screen are kept; else what to tell. */
async function deliver(questions, seen) {
  try {
    await keep((state) => { state.id ??= newId(); }); // the same id goes with every try
  } catch {
    return say("no_storage");
  }
  if (kept.sent || survey.questions.some(({ name }) => kept.reports[name] !== seen[name])) return true; // from another tab
  const reports = Object.fromEntries(questions.map((question) => [question.name, seen[question.name]]));
  const body = { id: kept.id, survey: survey.fingerprint, reports, ...(survey.access === "invitations" ? { invitation } : {}) };
  let answer;
  try {
    answer = await place.send(body);
  } catch {
    return undefined;
  }
  if (answer.ok || (await isConflict(answer))) {
    await keep((state) => { // who has this device next shall not read the answers
      state.sent = true;
      state.reports = {};
      delete state.id;
    });
    return true;
  }
  if (answer.status === 403) return say("used");
  if (answer.status === 409) return say("closed");
  return undefined;
}

/** Whether an earlier try has arrived after all, before an open answer was changed: that one stands. */
async function isConflict(answer) {
  return answer.status === 409 && (await answer.json()).error?.code === "conflict";
}

function renderThanks() {
  show(make("h1", {}, say("thanks_title")), make("p", {}, inWords(survey.thanks) || say("thanks")), place.afterwards?.({ make, say, again }));
}

/** The next person on the same device: what was kept of the last one is removed. */
async function again() {
  await device.forget(storageKey);
  await refresh();
  at = "start";
  render();
}

// ---- beginning

/** The factor that the survey states, as a fraction; over 0 where it states that there is no bound. */
function statedFactor() {
  if (survey.joint.parity === "inf") return [1n, 0n];
  const [top, bottom = "1"] = survey.joint.parity.split("/");
  return [BigInt(top), BigInt(bottom)];
}

/** Designs that were read and checked; a survey that states a better promise than they keep is refused. */
async function readDesigns() {
  const sensitive = survey.questions.filter((question) => question.design);
  const read = new Map(await Promise.all(sensitive.map(async (question) => [question.name, await readDesign(question.design)])));
  const [top, bottom] = [...read.values()].map((design) => design.parity()).reduce(([a, b], [c, d]) => [a * c, b * d], [1n, 1n]);
  const [stated, over] = joint;
  if (over > 0n && (bottom === 0n || top * over > stated * bottom)) throw new MaskwellError("weak");
  return read;
}

async function sha256(text) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function begin() {
  const asking = place.survey(); // both are on their way at once
  device.read("").catch(() => {}); // what is kept is opened meanwhile; an error shows when it is read
  wording = await place.wording();
  language = readers(Object.keys(wording)) ?? "en";
  if (!globalThis.crypto?.subtle) return stop(say("not_safe"));
  const content = await asking;
  if (!content) return stop(say("not_there"));
  survey = content.survey;
  language = readers(survey.languages) ?? survey.languages[0];
  if ((await fingerprintOf(survey)) !== survey.fingerprint) return stop(say("changed"));
  try {
    joint = statedFactor();
    designs = await readDesigns();
  } catch (error) {
    return stop(say(error.message === "weak" ? "weak" : "changed"));
  }
  storageKey = `maskwell:${survey.fingerprint}:${code}:${invitation && (await sha256(invitation)).slice(0, 32)}`;
  try {
    await refresh();
  } catch {
    return stop(say("no_storage"));
  }
  if (kept.sent) return render();
  if (content.state !== "open") return stop(say("closed"));
  if (survey.access === "invitations" && !(await isInvited())) return stop(say(invitation ? "used" : "needs_invitation"));
  history.replaceState({ step: at }, "");
  return render();
}

async function isInvited() {
  if (!invitation) return false;
  if (kept.id) return true; // it was sent, and perhaps the answer was lost: sending again tells
  return place.isInvited();
}

window.addEventListener("popstate", (event) => {
  at = event.state?.step ?? "start";
  if (kept) render();
});
device.watch(async (key) => {
  if (!kept || key !== storageKey) return;
  await refresh(); // another tab has drawn or sent
  render();
});
begin();

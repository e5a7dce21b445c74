/**
 * One sensitive question inside a page of somebody else: asks, draws once on this device, hands over the report.
 *
 * A true answer lives in the ticked radio button until the report is drawn, and then nowhere. The buttons stand in a
 * closed shadow tree: they belong to no form of the page, so that no form can send them. What is kept in the browser's
 * storage is the text of the report, under the design and a hash of the respondent's id, so that loading the page
 * again, going back, a double click or a browser that crashed never draw a second time.
 *
 * `host` is what the page offers:
 *   element      where to ask
 *   language     of the reader, if the page knows it
 *   respondent   a text that tells this respondent from others on the same device; empty where the page has none
 *   read, write  the one field that the page stores
 *   wait, go     keep the respondent on the page, and let go on; where the page can do that
 */

import { readDesign } from "./maskwell.js";
import { bars, chancesOf, changeKept, filled, forgetKept, make, promised, readKept, stepped, strengthOf } from "./pieces.js";

/** For pages that know no id of a respondent: what is kept until the tab is closed. */
const inThisTab = {
  read: async (key) => sessionStorage.getItem(key) ?? undefined,
  change: async (key, change) => {
    const text = change(sessionStorage.getItem(key) ?? undefined);
    sessionStorage.setItem(key, text);
    return text;
  },
  forget: async (key) => { sessionStorage.removeItem(key); },
};

export async function askInside(question, wording, host) {
  const main = (one) => String(one ?? "").toLowerCase().split(/[-_]/)[0];
  const language = [host.language, document.documentElement.lang, ...(navigator.languages ?? [])]
    .map((one) => question.languages.find((other) => other === one) ?? question.languages.find((other) => main(other) === main(one)))
    .find(Boolean) ?? question.languages[0];
  const words = wording[language];
  const say = (key) => words[key];
  const sayTrue = (key) => stepped(words, key, question.strength); // of all reports of one person, as the survey states it
  const inWords = (texts) => texts[language] ?? texts[question.languages[0]] ?? "";

  const outside = make("div", { class: "maskwell", lang: language, dir: say("direction") });
  const inside = outside.attachShadow({ mode: "closed" });
  const style = new CSSStyleSheet();
  style.replaceSync(question.style);
  inside.adoptedStyleSheets = [style];
  const show = (...content) => inside.replaceChildren(...content);
  const stop = (key) => show(make("p", { class: "error", role: "alert" }, say(key)));

  host.element.append(outside);
  host.wait?.();
  if (!globalThis.crypto?.subtle) return stop("not_safe");
  let design;
  try {
    design = await readDesign(question.design);
  } catch {
    return stop("changed");
  }

  // ---- what is kept

  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(host.respondent ?? ""));
  const hashed = Array.from(new Uint8Array(digest).slice(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const key = `maskwell:${design.fingerprint}:${question.name}:${hashed}`;
  const textOfReport = (report) => (question.reports ? question.reports[report] : report);
  const reportOf = (text) => {
    const report = question.reports ? question.reports.indexOf(text) : text;
    return design.isReport(report) ? report : undefined;
  };
  const device = host.respondent ? { read: readKept, change: changeKept, forget: forgetKept } : inThisTab;
  const known = (value) => [value, host.read()].find((text) => reportOf(text ?? undefined) !== undefined);

  /** The report: drawn here and now, unless one was drawn before. */
  const settle = (ticked) => device.change(key, (value) => known(value) ?? textOfReport(design.draw(ticked)));

  // ---- what is shown

  const shown = (report) => {
    if (!question.reports) return question.answers.filter((_, j) => report[j] === "1").map(({ text }) => inWords(text)).join(", ") || "–";
    const answer = question.answers.find(({ label }) => label === question.reports[report]);
    return answer ? inWords(answer.text) : question.reports[report];
  };

  const factorText = () => {
    const factor = design.parity();
    const text = factor[1] > 0n ? stepped(words, "reveals_factor", strengthOf(factor)) : say("reveals_factor_infinite");
    return filled(text, { factor: promised(factor, words) });
  };

  function showReport(text, focus) {
    const report = reportOf(text);
    const heading = make("p", { class: "report", tabindex: "-1" }, shown(report));
    show(
      make("p", { class: "ask" }, inWords(question.ask)),
      make("h2", {}, say("drawn_title")),
      heading,
      make("p", {}, sayTrue("differs")),
      make("p", { class: "note" }, say("drawn_note")),
      make("details", {},
        make("summary", {}, say("reveals_title")),
        make("p", {}, say("reveals")),
        bars(chancesOf(design, report, question.answers.map(({ text: words }) => inWords(words)), words)),
        make("p", {}, factorText())),
    );
    host.write(text);
    host.go?.();
    if (focus) heading.focus();
  }

  function showQuestion() {
    const message = make("p", { role: "status" });
    const draw = async () => {
      const ticked = inside.querySelector("input:checked");
      if (!ticked) return message.replaceChildren(say("choose"));
      try {
        return showReport(await settle(Number(ticked.value)), true);
      } catch {
        return message.replaceChildren(say("no_storage"));
      }
    };
    show(
      make("fieldset", {},
        make("legend", { class: "ask" }, inWords(question.ask)),
        inWords(question.help) ? make("p", { class: "note" }, inWords(question.help)) : "",
        question.answers.map(({ text }, code) =>
          make("label", { class: "answer" }, make("input", { type: "radio", name: "answer", value: code, autocomplete: "off" }), make("span", {}, inWords(text))))),
      question.strength === "weak" || question.strength === "none" ? make("p", { class: "protects" }, sayTrue("how_protects")) : "",
      make("p", { class: "note" }, sayTrue("sensitive_note")),
      message,
      make("button", { type: "button", onclick: draw }, say("draw")),
    );
  }

  try {
    if (known(await device.read(key)) === undefined) showQuestion();
    else showReport(await settle(), false);
  } catch {
    return stop("no_storage");
  }
  return { forget: () => device.forget(key) }; // for a page that begins with another respondent in the same tab
}

/**
 * One sensitive question inside a page of somebody else: asks, draws once on this device, hands over the report.
 *
 * A true answer lives in the ticked radio button until the report is drawn, and then nowhere. The buttons stand in a
 * closed shadow tree: they belong to no form of the page, so that no form can send them. What is kept in the browser's
 * storage is the text of the report, under the design and a hash of the respondent's id, so that loading the page
 * again, going back or a double click never draw a second time.
 *
 * `host` is what the page offers:
 *   element      where to ask
 *   language     of the reader, if the page knows it
 *   respondent   a text that tells this respondent from others on the same device; empty where the page has none
 *   read, write  the one field that the page stores
 *   wait, go     keep the respondent on the page, and let go on; where the page can do that
 */

import { readDesign } from "./maskwell.js";

export async function askInside(question, wording, host) {
  const language = [host.language, document.documentElement.lang, ...(navigator.languages ?? [])]
    .map((one) => String(one ?? "").toLowerCase().split(/[-_]/)[0])
    .find((one) => question.languages.includes(one)) ?? question.languages[0];
  const say = (key, values = {}) =>
    Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, value), (wording[language] ?? wording.en)[key]);
  const inWords = (texts) => texts[language] ?? texts[question.languages[0]] ?? "";
  const rounded = (number, digits) => new Intl.NumberFormat(language, { maximumSignificantDigits: digits }).format(number);

  function make(tag, properties, ...inside) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === "onclick") element.addEventListener("click", value);
      else element.setAttribute(name, value);
    }
    element.append(...inside.flat());
    return element;
  }

  const outside = make("div", { class: "maskwell", lang: language });
  const inside = outside.attachShadow({ mode: "closed" });
  const style = new CSSStyleSheet();
  style.replaceSync(question.style);
  inside.adoptedStyleSheets = [style];
  const show = (...content) => inside.replaceChildren(...content);
  const stop = (key) => show(make("p", { class: "error", role: "alert" }, say(key)));

  host.element.append(outside);
  host.wait?.();
  if (!globalThis.crypto?.subtle || !navigator.locks) return stop("not_safe");
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
  let storage;
  try {
    storage = host.respondent ? localStorage : sessionStorage; // without an id: until this tab is closed
    storage.setItem(`${key}:try`, "1");
    storage.removeItem(`${key}:try`);
  } catch {
    return stop("no_storage");
  }
  const kept = () => [storage.getItem(key), host.read()].find((text) => reportOf(text ?? undefined) !== undefined);

  /** The report: drawn here and now, unless one was drawn before. */
  const settle = (ticked) => navigator.locks.request(key, () => {
    const text = kept() ?? textOfReport(design.draw(ticked));
    storage.setItem(key, text);
    return text;
  });

  // ---- what is shown

  const shown = (report) => {
    if (!question.reports) return question.answers.filter((_, j) => report[j] === "1").map(({ text }) => inWords(text)).join(", ") || "–";
    const answer = question.answers.find(({ label }) => label === question.reports[report]);
    return answer ? inWords(answer.text) : question.reports[report];
  };

  function bar(share) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of Object.entries({ viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" })) svg.setAttribute(name, value);
    for (const [name, width] of [["room", 100], ["part", 100 * share]]) {
      const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      for (const [property, value] of Object.entries({ class: name, x: 0, y: 0, height: 10, width })) rect.setAttribute(property, value);
      svg.append(rect);
    }
    return svg;
  }

  function showReport(text, focus) {
    const report = reportOf(text);
    const [top, bottom] = design.parity();
    const heading = make("p", { class: "report", tabindex: "-1" }, shown(report));
    show(
      make("p", { class: "ask" }, inWords(question.ask)),
      make("h2", {}, say("drawn_title")),
      heading,
      make("p", { class: "note" }, say("drawn_note")),
      make("details", {},
        make("summary", {}, say("reveals_title")),
        make("p", {}, say("reveals")),
        make("ul", { class: "bars" }, question.answers.map(({ text: words }, truth) => {
          const [part, whole] = design.chance(report, truth);
          const share = Number((part * 10000n) / whole) / 10000;
          return make("li", {}, make("span", { class: "label" }, inWords(words)), bar(share), make("span", { class: "number" }, rounded(100 * share, 2)));
        })),
        make("p", {}, say("reveals_factor", { factor: rounded(Number((top * 1000000n) / bottom) / 1e6, 3) }))),
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
      make("p", { class: "note" }, say("sensitive_note")),
      message,
      make("button", { type: "button", onclick: draw }, say("draw")),
    );
  }

  const before = kept();
  if (before === undefined) showQuestion();
  else showReport(await settle(), false);
  return { forget: () => storage.removeItem(key) }; // for a page that begins with another respondent in the same tab
}

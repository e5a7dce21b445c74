/** Pictures of the builder, drawn as SVG: no library, no inline style, the colours are those of the page. */

const SPACE = "http://www.w3.org/2000/svg";

export function make(tag, properties = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat(3).filter((one) => one !== undefined && one !== null && one !== false));
  return element;
}

function draw(tag, properties = {}, ...inside) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...inside.flat(3));
  return element;
}

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits).replace("-", "−")}\u00a0%`;
export const words = (n) => new Intl.NumberFormat("en").format(n);

/** What reports reveal: belief before on the x axis, after on the y axis, all that is possible shaded. */
export function promise(gamma) {
  const [left, top, size] = [44, 12, 190];
  const x = (p) => left + size * p;
  const y = (p) => top + size * (1 - p);
  const steps = Array.from({ length: 41 }, (_, i) => i / 40);
  const most = (p) => (gamma * p) / (gamma * p + 1 - p);
  const least = (p) => p / (p + gamma * (1 - p));
  const line = (points) => points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join(" L");
  const region = `M${line(steps.map((p) => [p, most(p)]))} L${line([...steps].reverse().map((p) => [p, least(p)]))} Z`;
  const label = `Somebody who believes 10 % before can believe ${percent(least(0.1))} to ${percent(most(0.1))} after all reports`;
  return make("figure", { class: "plain-figure" },
    draw("svg", { viewBox: "0 0 320 248", class: "figure", role: "img", "aria-label": label },
      [0, 0.5, 1].map((tick) => [
        draw("line", { x1: x(tick), x2: x(tick), y1: top, y2: top + size, class: "axis" }),
        draw("line", { x1: left, x2: left + size, y1: y(tick), y2: y(tick), class: "axis" }),
        draw("text", { x: x(tick), y: top + size + 16, class: "soft", "text-anchor": "middle" }, `${100 * tick} %`),
        draw("text", { x: left - 6, y: y(tick) + 4, class: "soft", "text-anchor": "end" }, `${100 * tick} %`)]).flat(),
      draw("path", { d: region, class: "region" }),
      draw("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "dash" }),
      draw("circle", { cx: x(0.1), cy: y(most(0.1)), r: 4, class: "point" }),
      draw("text", { x: left + size + 10, y: y(1) + 5, class: "soft" }, "belief after"),
      draw("text", { x: left + size / 2, y: top + size + 34, class: "soft", "text-anchor": "middle" }, "belief before")),
    make("figcaption", { class: "note" }, `${label}.`));
}

/** Where an answer goes: truths on the left, reports on the right, width of a line = probability. */
export function flows(answers, reports, matrix) {
  const step = 30;
  const height = step * Math.max(answers.length, reports.length) + 24;
  const yOf = (i, n) => 22 + (height - 24) * ((i + 0.5) / n);
  const short = (text) => (text.length > 16 ? `${text.slice(0, 15)}…` : text);
  return draw("svg", { viewBox: `0 0 340 ${height}`, class: "figure", role: "img", "aria-label": "Where an answer goes: each true answer on the left can become each report on the right; the probabilities stand below" },
    draw("text", { x: 0, y: 12, class: "soft" }, "true answer"),
    draw("text", { x: 340, y: 12, class: "soft", "text-anchor": "end" }, "report"),
    matrix.flatMap((row, i) => row.map((chance, j) => {
      const [from, to] = [yOf(j, answers.length), yOf(i, reports.length)];
      return draw("path", { d: `M118 ${from} C170 ${from} 170 ${to} 222 ${to}`, "stroke-width": Math.max(0.75, 14 * chance), class: answers[j] === reports[i] ? "flow same" : "flow" },
        draw("title", {}, `${answers[j]} becomes ${reports[i]} with probability ${percent(chance)}`));
    })),
    answers.map((text, j) => draw("text", { x: 112, y: yOf(j, answers.length) + 4, "text-anchor": "end" }, short(text), draw("title", {}, text))),
    reports.map((text, i) => draw("text", { x: 228, y: yOf(i, reports.length) + 4 }, short(text), draw("title", {}, text))));
}

/** The same probabilities as a table. */
export function probabilities(name, answers, reports, matrix) {
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Probabilities of reports: ${name}` },
    make("table", { class: "list cross" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "True answer"), reports.map((text) => make("th", { scope: "col", class: "number" }, text)))),
      make("tbody", {}, answers.map((text, j) => make("tr", {}, make("th", { scope: "row" }, text), reports.map((_, i) => make("td", { class: "number" }, percent(matrix[i][j]))))))));
}

/** How the margin falls with the number of respondents, with protection and without. */
export function shrinking(margin, directly, n, wished, needed) {
  const most = 1.25 * Math.max(n, needed);
  const top = Math.min(0.5, Math.max(3 * margin, 2 * wished));
  const [x, y] = [(count) => (100 * count) / most, (half) => 100 - (100 * half) / top];
  const counts = Array.from({ length: 61 }, (_, i) => most * 60 ** (i / 60 - 1));
  const path = (half) => `M${counts.map((count) => [count, half * Math.sqrt(n / count)]).filter(([, h]) => h <= top).map(([c, h]) => `${x(c).toFixed(2)} ${y(h).toFixed(2)}`).join(" L")}`;
  const flat = { "vector-effect": "non-scaling-stroke" };
  const at = (half) => 8 + 1.5 * y(half);
  return [
    draw("svg", { class: "curve", role: "img", "aria-label": `The margin falls with the number of respondents: ±${percent(margin)} with ${words(n)}, ±${percent(wished)} with ${words(needed)}; asked openly ±${percent(directly)} with ${words(n)}` },
      draw("svg", { x: 0, y: 8, width: "100%", height: 150, viewBox: "0 0 100 100", preserveAspectRatio: "none" },
        draw("line", { class: "axis", x1: 0, x2: 100, y1: 100, y2: 100, ...flat }),
        draw("line", { class: "target", x1: 0, x2: 100, y1: y(wished), y2: y(wished), ...flat }),
        draw("path", { class: "fall", d: path(margin), ...flat }),
        draw("path", { class: "fall target", d: path(directly), ...flat })),
      draw("circle", { class: "point", cx: `${x(n)}%`, cy: at(margin), r: 5 }),
      draw("circle", { class: "goal", cx: `${x(needed)}%`, cy: at(wished), r: 5 }),
      draw("text", { class: "soft", x: 0, y: 178 }, "0"),
      draw("text", { class: "soft", x: "100%", y: 178, "text-anchor": "end" }, `${words(Math.round(most))} respondents`)),
    make("p", { class: "ends" },
      make("span", {}, make("i", { class: "key now" }), `${words(n)}: ±${percent(margin)}`),
      make("span", {}, make("i", { class: "key goal" }), `±${percent(wished)}: ${words(needed)}`),
      make("span", {}, `dashed: asked openly, ±${percent(directly)}`))];
}

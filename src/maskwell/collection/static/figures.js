/** Small pictures of the studio, drawn as SVG: no library, no inline style, the colours are those of the page. */

const SPACE = "http://www.w3.org/2000/svg";

export function make(tag, properties = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat().filter((one) => one !== undefined && one !== null && one !== false));
  return element;
}

function draw(tag, properties = {}, ...inside) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...inside.flat());
  return element;
}

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits).replace("-", "−")} %`;

/** Shares with their intervals: a dot never stands without its bar. */
export function intervals(rows, title) {
  const [left, width, step] = [150, 470, 30];
  const ends = rows.flatMap(({ estimate, interval }) => [estimate, ...interval]).filter((end) => end !== null);
  const [low, high] = [Math.min(0, ...ends), Math.max(1, ...ends)];
  const x = (share) => left + (width * (share - low)) / (high - low);
  const height = step * rows.length + 26;
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return draw("svg", { viewBox: `0 0 720 ${height}`, class: "figure", role: "img", "aria-label": title },
    ticks.map((tick) => [
      draw("line", { x1: x(tick), x2: x(tick), y1: 0, y2: height - 22, class: tick === 0 ? "zero" : "axis" }),
      draw("text", { x: x(tick), y: height - 6, class: "soft", "text-anchor": "middle" }, `${100 * tick} %`)]).flat(),
    rows.map(({ label, estimate, interval }, i) => {
      const y = step * i + 16;
      return [
        draw("text", { x: left - 14, y: y + 4, "text-anchor": "end" }, label.length > 20 ? `${label.slice(0, 19)}…` : label, draw("title", {}, label)),
        interval[0] === null ? "" : draw("line", { x1: x(interval[0]), x2: x(interval[1]), y1: y, y2: y, class: "interval" }),
        draw("circle", { cx: x(estimate), cy: y, r: 5, class: "point" }),
        draw("text", { x: left + width + 12, y: y + 4 }, percent(estimate))];
    }).flat());
}

/** How much of the error is due to sampling, and how much to the randomization. */
export function parts(share) {
  const cut = 720 * (1 - share);
  return draw("svg", { viewBox: "0 0 720 34", class: "figure", role: "img", "aria-label": `${percent(share, 0)} of the variance is due to the randomization` },
    draw("rect", { x: 0, y: 0, width: cut, height: 12, class: "sampling" }),
    draw("rect", { x: cut, y: 0, width: 720 - cut, height: 12, class: "chance" }),
    draw("text", { x: 0, y: 29, class: "soft" }, `sampling ${percent(1 - share, 0)}`),
    draw("text", { x: 720, y: 29, class: "soft", "text-anchor": "end" }, `randomization ${percent(share, 0)} of the variance`));
}

/** Where an answer goes: truths on the left, reports on the right, width of a line = probability. */
export function flows(answers, reports, matrix) {
  const step = 34;
  const height = step * Math.max(answers.length, reports.length) + 24;
  const yOf = (i, n) => 22 + (height - 24) * ((i + 0.5) / n);
  const short = (text) => (text.length > 15 ? `${text.slice(0, 14)}…` : text);
  return draw("svg", { viewBox: `0 0 320 ${height}`, class: "figure", role: "img", "aria-label": "Where an answer goes: each true answer on the left can become each report on the right" },
    draw("text", { x: 0, y: 12, class: "soft" }, "true answer"),
    draw("text", { x: 320, y: 12, class: "soft", "text-anchor": "end" }, "report"),
    matrix.flatMap((row, i) => row.map((chance, j) => {
      const [from, to] = [yOf(j, answers.length), yOf(i, reports.length)];
      return draw("path", { d: `M112 ${from} C160 ${from} 160 ${to} 208 ${to}`, "stroke-width": Math.max(0.5, 14 * chance), class: answers[j] === reports[i] ? "flow same" : "flow" },
        draw("title", {}, `${answers[j]} becomes ${reports[i]} with probability ${percent(chance)}`));
    })),
    answers.map((text, j) => draw("text", { x: 104, y: yOf(j, answers.length) + 4, "text-anchor": "end" }, short(text))),
    reports.map((text, i) => draw("text", { x: 216, y: yOf(i, reports.length) + 4 }, short(text))));
}

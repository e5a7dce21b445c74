/** Live results: asks for the page again while the survey is open, and puts in what has changed, and nothing else. */

const EVERY = 2000;
const live = document.getElementById("live");
const forms = ["margin-form", "table-form"].map((id) => document.getElementById(id)).filter(Boolean);
let asked = 0;

/** The address of this page with what is chosen in its forms. */
function address() {
  const chosen = new URLSearchParams();
  for (const form of forms) for (const [name, value] of new FormData(form)) chosen.set(name, value);
  const margin = document.getElementById("margin");
  if (margin.validity.valid) chosen.set("margin", margin.value);
  return `${location.pathname}?${chosen}`;
}

/** Replace a part by the same part of a newer page: what is unfolded stays so, and the focus stays where it is. */
function replace(old, fresh) {
  const unfolded = [...old.querySelectorAll("details")].filter((one) => one.open).map((one) => one.id);
  for (const id of unfolded) fresh.querySelector(`#${id}`)?.setAttribute("open", "");
  if (old.outerHTML === fresh.outerHTML) return;
  const focus = old.contains(document.activeElement) ? document.activeElement.id : "";
  old.replaceWith(fresh);
  if (focus) document.getElementById(focus)?.focus();
}

function show(page) {
  const cards = [...page.querySelectorAll("#cards > article")];
  document.querySelectorAll("#cards > article").forEach((old, i) => { if (cards[i]) replace(old, document.adoptNode(cards[i])); });
  const [old, fresh] = [document, page].map((one) => one.getElementById("table-body"));
  if (old && fresh) replace(old, document.adoptNode(fresh));
  for (const selector of [".lead", ".head .state"]) {
    const [before, after] = [document, page].map((one) => one.querySelector(selector));
    if (before.outerHTML !== after.outerHTML) before.replaceWith(document.adoptNode(after));
  }
}

async function update() {
  const number = (asked += 1);
  let answer;
  try {
    answer = await fetch(address(), { headers: { Accept: "text/html" } });
  } catch {
    live.textContent = "The service does not answer. The figures are those of before; this page keeps trying.";
    return true;
  }
  if (answer.redirected) {
    live.replaceChildren("You are not signed in any more. ", Object.assign(document.createElement("a"), { href: "/studio/login", textContent: "Sign in" }));
    return false;
  }
  if (!answer.ok) {
    live.textContent = "The figures could not be read. They are those of before; load the page again.";
    return answer.status >= 500;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (number !== asked) return true; // something else was chosen meanwhile
  show(page);
  const state = page.getElementById("live");
  if (live.textContent !== state.textContent) live.textContent = state.textContent;
  return Boolean(state.dataset.live);
}

async function follow() {
  const goesOn = document.hidden || (await update());
  if (goesOn) setTimeout(follow, EVERY);
}

function choose() {
  history.replaceState(null, "", address());
  return update();
}

for (const form of forms) {
  form.addEventListener("submit", (event) => { event.preventDefault(); choose(); });
  form.addEventListener("change", choose);
  form.querySelector("button").hidden = true; // choosing is enough where there is a script
}
if (live.dataset.live) setTimeout(follow, EVERY);

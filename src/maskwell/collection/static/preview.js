/** The preview: the respondent's page with a place of its own, where nothing is sent and nothing outlives the tab. */

const address = location.pathname.replace(/\/preview$/, "/survey.json");
const kept = new Map();
Object.defineProperty(globalThis, "localStorage", {
  value: {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => { kept.set(key, text); },
    removeItem: (key) => { kept.delete(key); },
  },
});
history.replaceState(history.state, "", "#preview"); // stands for an invitation, where one is needed

globalThis.maskwellPlace = {
  wording: async () => (await fetch("/static/wording.json")).json(),
  survey: async () => {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    return answer.ok ? answer.json() : undefined;
  },
  send: async () => ({ ok: true }),
  isInvited: async () => true,
  afterwards: ({ make, again }) => make("section", { class: "box" },
    make("p", {}, "This was the preview: nothing was sent or stored."),
    make("button", { type: "button", class: "plain", onclick: again }, "Begin again")),
};

await import("./respond.js");

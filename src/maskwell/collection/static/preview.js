/** The preview: the respondent's page with a place of its own, where nothing is sent and nothing outlives the tab. */

const address = location.pathname.replace(/\/preview$/, "/survey.json");
const kept = new Map();
history.replaceState(history.state, "", "#preview"); // stands for an invitation, where one is needed

globalThis.maskwellPlace = {
  wording: async () => (await fetch("/static/wording.json")).json(),
  survey: async () => {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    return answer.ok ? answer.json() : undefined;
  },
  send: async () => ({ ok: true }),
  isInvited: async () => true,
  device: {
    read: async (key) => kept.get(key),
    change: async (key, change) => kept.set(key, change(kept.get(key))).get(key),
    forget: async (key) => { kept.delete(key); },
    watch: () => {},
  },
  afterwards: ({ make, again }) => make("section", { class: "box" },
    make("p", {}, "This was the preview: nothing was sent or stored."),
    make("button", { type: "button", class: "plain", onclick: again }, "Begin again")),
};

await import("./respond.js");

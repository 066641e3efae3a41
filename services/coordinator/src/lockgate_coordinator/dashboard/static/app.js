// The page as a whole: who looks, which view is shown, and whether the coordinator answers.
import { Problem, ask, session } from "./api.js";
import { fill, h, say } from "./dom.js";
import { showGroup } from "./group.js";
import { showGroups } from "./groups.js";
import { span } from "./words.js";

const [main, crumbs, link, caller, theme] =
  ["main", "crumbs", "link", "caller", "theme"].map((id) => document.getElementById(id));
let view = new AbortController();

// Whether the coordinator answers, by the parts that ask it: "look" for requests, "stream" for events.
export const contact = {
  faults: new Map(),
  since: 0,
  good(part) {
    this.faults.delete(part);
    this.show();
  },
  bad(part, reason) {
    if (!this.faults.size) this.since = Date.now();
    this.faults.set(part, reason);
    this.show();
  },
  clear() {
    this.faults.clear();
    link.textContent = "";
    document.body.classList.remove("stale");
  },
  show() {
    const lost = this.faults.size > 0;
    document.body.classList.toggle("stale", lost);
    link.dataset.state = lost ? "lost" : "live";
    if (!lost) return say(link, "Live");
    const age = Date.now() - this.since;
    link.title = [...this.faults.values()].join("; ");
    return say(link, age < 5000 ? "Connection lost: retrying"
      : `Connection lost ${span(age - age % 5000)} ago: trying again`);
  },
};
setInterval(() => { if (contact.faults.size) contact.show(); }, 5000);

export function toast(text) {
  const note = h("p", {}, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 8000);
}

// What a view does with an error of a request: a refused token ends in the login.
export function failed(error, part = "look") {
  if (error instanceof Problem && error.status === 401) {
    signIn("The coordinator no longer accepts this token.");
    return "stop";
  }
  contact.bad(part, error instanceof Problem ? error.message : "the coordinator does not answer");
  return "again";
}

function title(...names) {
  document.title = [...names, "lockgate"].join(" · ");
}

function route() {
  view.abort();
  view = new AbortController();
  contact.clear();
  const [, kind, name] = location.hash.split("/");
  if (kind === "groups" && name) {
    const group = decoded(name);
    title(group);
    fill(crumbs, h("a", { href: "#/" }, "Groups"), h("span", { "aria-hidden": "true" }, "/"),
      h("span", { class: "crumb", "aria-current": "page", title: group, dir: "auto" }, group));
    showGroup(main, group, view.signal);
  } else {
    title("Groups");
    fill(crumbs, h("span", { class: "crumb", "aria-current": "page" }, "Groups"));
    showGroups(main, view.signal);
  }
}

function decoded(name) {
  try { return decodeURIComponent(name); } catch { return name; }
}

function showCaller() {
  const known = session.caller;
  if (known.name === null) return fill(caller, h("span", { class: "dim" }, "no tokens here"));
  return fill(caller, h("span", { class: "who", title: `this token may ${known.role}` }, `${known.name} · ${known.role}`),
    h("button", { class: "quiet", type: "button", on: { click: () => signIn("Signed out.") } }, "Sign out"));
}

function signIn(note = "") {
  view.abort();
  contact.clear();
  session.token = null;
  session.caller = null;
  fill(caller);
  fill(crumbs);
  title("Sign in");
  const fault = h("p", { class: "fault", role: "alert" }, note);
  const field = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const send = async (event) => {
    event.preventDefault();
    session.token = field.value.trim();
    try {
      await enter();
    } catch (error) {
      session.token = null;
      say(fault, error instanceof Problem && error.status === 401 ? "The coordinator rejects this token: it is wrong or was removed." : error.message);
      field.select();
    }
  };
  fill(main, h("form", { class: "sign-in panel", on: { submit: send } },
    h("h1", {}, "Sign in"),
    h("p", { class: "dim" }, "This coordinator asks for a token. This tab keeps it until it is closed."),
    h("label", { for: "token" }, "Token"), field, fault,
    h("button", { class: "main", type: "submit" }, "Sign in"),
    h("p", { class: "dim small" }, "An operator makes one with ", h("code", {}, "lockgate token NAME --role read"), ".")));
  field.focus();
}

async function enter() {
  session.caller = (await ask("v1/token")).json;
  showCaller();
  route();
}

function themed() {
  theme.textContent = document.documentElement.dataset.theme === "dark" ? "Light" : "Dark";
  theme.setAttribute("aria-label", `Use ${theme.textContent.toLowerCase()} colours`);
}

async function begin() {
  themed();
  addEventListener("lockgate:theme", themed);
  theme.addEventListener("click", () => dispatchEvent(new Event("lockgate:toggle-theme")));
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  addEventListener("hashchange", () => { if (session.caller) { route(); main.focus({ preventScroll: true }); scrollTo(0, 0); } });
  for (;;) {
    try {
      return await enter();
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return signIn(session.token ? "The coordinator rejects this token: it is wrong or was removed." : "");
      contact.bad("look", "the coordinator does not answer");
      fill(main, h("p", { class: "empty" }, `The coordinator does not answer: ${error.message}. Trying again.`));
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

begin();

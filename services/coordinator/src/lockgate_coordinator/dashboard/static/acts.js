// The actions of an operator, each confirmed in a dialog. The service decides whether the token may.
import { Problem, ask, groupPath, newKey, session, sourcePath } from "./api.js";
import { toast } from "./app.js";
import { append, h, say } from "./dom.js";
import { span } from "./words.js";

const UNITS = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

// Opens a dialog; `act` gets the form's values and does it. Resolves to whether it was done.
function confirmed({ title, text, fields = [], verb, danger = false, act }) {
  return new Promise((done) => {
    const fault = h("p", { class: "fault", role: "alert" });
    const yes = h("button", { type: "submit", class: danger ? "main danger" : "main" }, verb);
    const form = h("form", { method: "dialog" },
      h("h2", { id: "asked" }, title), text.map((line) => h("p", {}, line)), fields, fault,
      h("div", { class: "buttons" },
        h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel"), yes));
    const dialog = h("dialog", { "aria-labelledby": "asked" }, form);
    let success = false;
    const key = newKey();
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      yes.disabled = true;
      try {
        await act(new FormData(form), key);
        success = true;
        dialog.close();
      } catch (error) {
        say(fault, refusal(error));
        yes.disabled = false;
      }
    });
    dialog.addEventListener("close", () => { dialog.remove(); done(success); });
    append(document.body, [dialog]);
    dialog.showModal();
  });
}

function refusal(error) {
  if (!(error instanceof Problem)) return `The change may not have been made: ${error.message}.`;
  if (error.status === 403) return `This token may not do that: ${error.message}.`;
  if (error.status === 412) return "Another operator has changed the configuration. Close this dialog and try again.";
  if ([404, 405].includes(error.status) && error.type === "about:blank") return "This coordinator is of an older release and cannot do that.";
  return `${error.message}.`;
}

const field = (label, id, input) => h("div", { class: "field" }, h("label", { for: id }, label), input);

export async function pauseSource(group, source) {
  const done = await confirmed({
    title: `Pause ${source}?`, verb: "Pause",
    text: [`Its queries finish the current batch and then read nothing until you resume ${source}, even after a restart.`,
      "The other queries wait for it: they read no further than max_drift above it."],
    fields: [field("Reason, which the query and the journal show", "reason", h("input", { id: "reason", name: "reason", maxlength: "200", autocomplete: "off" }))],
    act: (form, key) => ask(`${sourcePath(group, source)}/pause`, { method: "PUT", body: { reason: form.get("reason").trim() }, headers: { "Idempotency-Key": key } }),
  });
  if (done) toast(`${source} is paused.`);
  return done;
}

export async function resumeSource(group, source) {
  const done = await confirmed({
    title: `Resume ${source}?`, verb: "Resume", text: ["Its queries read again with their next batch."],
    act: (_, key) => ask(`${sourcePath(group, source)}/pause`, { method: "DELETE", headers: { "Idempotency-Key": key } }),
  });
  if (done) toast(`${source} is resumed.`);
  return done;
}

export async function evict(group, source, subtask) {
  const name = `${source}/${subtask}`;
  const done = await confirmed({
    title: `Evict ${name}?`, verb: "Evict", danger: true,
    text: [`The others stop waiting for ${name} at once. They may read past its unread records, so its rows may be late.`,
      "A live query registers again with its next report."],
    act: (_, key) => ask(`${sourcePath(group, source)}/readers/${subtask}?force=true`, { method: "DELETE", headers: { "Idempotency-Key": key } }),
  });
  if (done) toast(`${name} is evicted.`);
  return done;
}

export async function deleteGroup(group) {
  const typed = h("input", { id: "typed", name: "typed", autocomplete: "off", spellcheck: "false", required: true });
  const done = await confirmed({
    title: "Delete this group?", verb: "Delete", danger: true,
    text: [`This deletes ${group} with its configuration, readers and journal. Live readers register again and create it with their own configuration.`],
    fields: [field("Type the group's name", "typed", typed)],
    act: (form, key) => {
      if (form.get("typed") !== group) throw new Error("the name differs");
      return ask(groupPath(group), { method: "DELETE", headers: { "Idempotency-Key": key } });
    },
  });
  if (done) toast(`${group} is deleted.`);
  return done;
}

export async function configure(group, config, etag) {
  const unit = Object.keys(UNITS).reverse().find((one) => config.max_drift_ms && config.max_drift_ms % UNITS[one] === 0) ?? "ms";
  const modes = { enforce: "enforce: readers wait at the read limit", observe: "observe: the read limit is shown, but no reader waits" };
  const done = await confirmed({
    title: "Change drift and mode", verb: "Change",
    text: [`max_drift is ${span(config.max_drift_ms)}, mode is ${config.mode}. Waiting times start again from zero.`],
    fields: [
      field("max_drift", "drift", h("span", { class: "pair" },
        h("input", { id: "drift", name: "drift", type: "number", min: "0", step: "any", required: true, value: config.max_drift_ms / UNITS[unit] }),
        h("select", { name: "unit", "aria-label": "Unit of max_drift" }, Object.keys(UNITS).map((one) => h("option", { selected: one === unit }, one))))),
      field("Mode", "mode", h("select", { id: "mode", name: "mode" }, Object.entries(modes).map(([value, words]) =>
        h("option", { value, selected: value === config.mode }, words)))),
    ],
    act: (form, key) => ask(groupPath(group), {
      method: "PUT", headers: { "Idempotency-Key": key, ...(etag ? { "If-Match": etag } : {}) },
      body: { ...config, max_drift_ms: Math.round(Number(form.get("drift")) * UNITS[form.get("unit")]), mode: form.get("mode") },
    }),
  });
  if (done) toast("The configuration is changed.");
  return done;
}

// Why there are no buttons, for a token that may only look.
export function mayNot() {
  if (session.admin) return null;
  return h("p", { class: "dim small" },
    `This token (${session.caller?.name}, role ${session.caller?.role}) may only read. Pause, evict and configure need the role admin.`);
}

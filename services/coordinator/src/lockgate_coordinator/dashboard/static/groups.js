// All groups, the sick ones first, and the service's own health.
import { contact, failed } from "./app.js";
import { ask, keepLooking } from "./api.js";
import { cells, fill, give, h, rows, say, table } from "./dom.js";
import { servicePanel } from "./service.js";
import { HEALTH, brief, holderName, isTime, moment, plural, span } from "./words.js";

const COLUMNS = [
  { name: "Group", class: "name" },
  { name: "Health" },
  { name: "Waiting for", class: "wide" },
  { name: "Watermark", class: "number", explain: "Every reader has read its records up to this event time" },
  { name: "Behind the clock", class: "number" },
  { name: "Drift", class: "number", explain: "How far the foremost reader is above the group's watermark, and max_drift" },
  { name: "Readers", class: "number" },
];
const PAGES = 10;
const SHOWN = 250;
const LOOK_MS = 3000;

export function showGroups(main, signal) {
  const found = h("input", { type: "search", id: "find", placeholder: "Find a group", "aria-label": "Find a group" });
  const summary = h("p", { class: "lead" }, "Asking the coordinator …");
  const empty = h("p", { class: "empty", hidden: true }, "There are no groups yet. The first reader that registers creates one.");
  const grid = table("Groups", COLUMNS);
  const service = servicePanel(signal);
  fill(main, h("div", { class: "title" }, h("h1", {}, "Groups"), h("span", { class: "push" }), found), summary,
    h("div", { class: "panel flush" }, grid.whole, empty), service);
  let items = [];

  function draw() {
    const wanted = found.value.trim().toLowerCase();
    const shown = items.filter((item) => item.group.toLowerCase().includes(wanted));
    rows(grid.body, shown.slice(0, SHOWN), (item) => item.group, () => newRow(), drawRow);
    empty.hidden = shown.length > 0;
    say(empty, items.length ? `No group has “${found.value.trim()}” in its name.`
      : "There are no groups yet. The first reader that registers creates one.");
    grid.whole.hidden = !shown.length;
    const sick = items.filter((item) => ["unreadable", "lost", "overdue"].includes(item.health)).length;
    say(summary, !items.length ? "" : `${plural(items.length, "group")}: ${sick
      ? `${plural(sick, "group")} with a reader that is lost or waits too long` : "no reader is lost or waits too long"}.${shown.length > SHOWN ? ` The first ${SHOWN} are shown.` : ""}`);
  }

  keepLooking(async () => {
    const began = performance.now();
    items = await allGroups(signal);
    contact.good("look");
    draw();
    return Math.max(LOOK_MS, 50 * (performance.now() - began));
  }, failed, signal);
  found.addEventListener("input", draw);
}

async function allGroups(signal) {
  const found = [];
  let after = "";
  for (let page = 0; page < PAGES && after !== null; page++) {
    const { json } = await ask(`v1/groups?limit=1000&after=${encodeURIComponent(after)}`, { signal });
    found.push(...json.items);
    found.push(...(json.unreadable ?? []).map((item) => ({ ...item, health: "unreadable" })));
    after = json.next;
  }
  const order = Object.keys(HEALTH);
  return found.sort((one, other) => order.indexOf(one.health) - order.indexOf(other.health)
    || (other.drift_ms ?? 0) - (one.drift_ms ?? 0) || one.group.localeCompare(other.group));
}

function newRow() {
  const row = cells(COLUMNS);
  row.children[0].append(h("a", { dir: "auto" }));
  row.children[1].append(h("span", { class: "badge" }, h("span", { "aria-hidden": "true" }), h("span")), h("span", { class: "dim small" }));
  row.children[5].append(h("span"), h("progress", { max: "1", value: "0", "aria-hidden": "true" }));
  return row;
}

function drawRow(row, item) {
  const [name, health, who, watermark, behind, drift, readers] = row.children;
  const link = name.firstElementChild;
  say(link, item.group);
  give(link, "href", `#/groups/${encodeURIComponent(item.group)}`);
  drawBadge(health.firstElementChild, item.health);
  say(health.lastElementChild, item.mode === "observe" ? " observe" : "");
  say(who, holders(item));
  give(who, "title", item.sentence);
  say(watermark, item.now ? brief(item.group_watermark, item.now) : "–");
  give(watermark, "title", moment(item.group_watermark));
  say(behind, isTime(item.group_watermark) && item.now ? span(Math.max(0, item.now - item.group_watermark)) : "–");
  say(drift.firstElementChild, item.drift_ms === null || item.drift_ms === undefined ? "–"
    : `${span(item.drift_ms)} of ${span(item.max_drift_ms)}`);
  const part = item.drift_ms && item.max_drift_ms ? item.drift_ms / item.max_drift_ms : 0;
  const bar = drift.lastElementChild;
  bar.hidden = item.drift_ms === null || item.drift_ms === undefined;
  bar.value = Math.min(1, part);
  give(bar, "data-over", part > 1 ? "" : null);
  say(readers, item.readers ?? "–");
}

function holders({ blocked_by: held, waiting, reason, sentence, health }) {
  if (reason) return reason;
  if (!held.length || health === "starting") return sentence;
  const [first] = held;
  const more = held.length > 1 ? ` and ${plural(held.length - 1, "more reader")}` : "";
  return `${holderName(first)}${first.split ? `, partition ${first.split}` : ""}${more}${waiting ? `: ${plural(waiting, "reader waits", "readers wait")}` : ""}`;
}

export function drawBadge(badge, health) {
  const { glyph, word, tone } = HEALTH[health] ?? { glyph: "?", word: health, tone: "quiet" };
  give(badge, "data-tone", tone);
  say(badge.firstElementChild, glyph);
  say(badge.lastElementChild, word);
}


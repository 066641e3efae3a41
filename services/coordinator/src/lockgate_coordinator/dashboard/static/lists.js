// Sources, readers with their leases, and the journal, as tables that keep their rows.
import { evict, pauseSource, resumeSource } from "./acts.js";
import { session } from "./api.js";
import { cells, give, h, rows, say, table } from "./dom.js";
import { SPLIT_STATES, STATES, age, ago, brief, clock, count, moment, pace, entryOf, entryWords, plural, span, stateOf } from "./words.js";

const SHOWN = 25;
const SOURCES = [
  { name: "Source", class: "name" }, { name: "State" }, { name: "Watermark", class: "number" }, { name: "Drift", class: "number" },
  { name: "Event-time rate", class: "number", explain: "Event seconds a second of wall time" },
  { name: "Waiting", class: "number" }, { name: "Readers", class: "number" }, { name: "Paused partitions", class: "number" },
  { name: "Late rows", class: "number" }, { name: "Rows saved", class: "number" },
  { name: "To retention", class: "number", explain: "Until Kafka deletes an unread record of a paused partition" },
  { name: "Producer lag", class: "number" },
];
const READERS = [
  { name: "Reader", class: "name" }, { name: "State" }, { name: "Watermark", class: "number" }, { name: "Drift", class: "number" },
  { name: "Waiting", class: "number" }, { name: "Lease left", class: "number" },
  { name: "Last progress", class: "number", explain: "Time since its last progress" },
  { name: "Batch", class: "number" }, { name: "Owner", class: "owner" },
];
const FIRST = ["lost", "passed_over", "waiting"];
const ACT = { name: "Actions", class: "act" };

export function state(place, kind, note = "") {
  if (!place.firstElementChild) place.append(h("span", { class: "badge" }, h("span", { "aria-hidden": "true" }), h("span")), h("span", { class: "dim small block" }));
  const { glyph, word, tone } = STATES[kind] ?? SPLIT_STATES[kind] ?? { glyph: "?", word: kind, tone: "quiet" };
  const [badge, more] = place.children;
  give(badge, "data-tone", tone);
  say(badge.firstElementChild, glyph);
  say(badge.lastElementChild, word);
  say(more, note);
}

export class SourceList {
  constructor(group, changed) {
    this.columns = session.admin ? [...SOURCES, ACT] : SOURCES;
    Object.assign(this, { group, changed, paused: new Map(), grid: table("Sources", this.columns) });
    this.element = this.grid.whole;
  }

  splits(splits) {
    const found = new Map();
    for (const { source, state: kind } of splits) {
      const [paused, all] = found.get(source) ?? [0, 0];
      found.set(source, [paused + (kind === "paused"), all + 1]);
    }
    this.paused = found;
  }

  draw(sources, samples, tones, now) {
    rows(this.grid.body, sources, (source) => source.name, (source) => this.row(source.name), (row, source) => {
      row.source = source;
      const [name, kind, watermark, drift, speed, waits, readers, paused, late, saved, retention, lag, act] = row.children;
      const tone = tones.find((one) => one.name === source.name);
      say(name.lastElementChild, source.name);
      give(name, "title", source.name);
      name.firstElementChild.style.setProperty("--line", `var(${tone.tone})`);
      const by = source.paused;
      state(kind, source.state, by ? `by ${by.by ?? "somebody"}${by.reason ? `: ${by.reason}` : ""}` : "");
      say(watermark, brief(source.watermark, now));
      give(watermark, "title", moment(source.watermark));
      say(drift, span(source.drift));
      say(speed, pace(source.pace === null ? samples.sourceRate(source.name) : source.pace / 1000));
      say(waits, age(source.waiting));
      say(readers, count(source.readers.length));
      const splits = this.paused.get(source.name);
      say(paused, splits ? `${count(splits[0])} of ${count(splits[1])}` : "–");
      say(late, count(source.late));
      give(late, "data-tone", source.late ? "overdue" : null);
      say(saved, count(source.saved));
      say(retention, span(source.retention));
      give(retention, "title", source.retentionSplit);
      say(lag, span(source.lag));
      if (act) say(act.firstElementChild, by ? "Resume" : "Pause");
    });
  }

  row(name) {
    const row = cells(this.columns);
    row.firstElementChild.append(h("span", { class: "swatch", "aria-hidden": "true" }), h("span", { dir: "auto" }));
    if (session.admin) row.lastElementChild.append(h("button", { type: "button", on: { click: async () => {
      const act = row.source.paused ? resumeSource : pauseSource;
      if (await act(this.group, name)) this.changed();
    } } }));
    return row;
  }
}

export class ReaderList {
  constructor(group, changed) {
    this.columns = session.admin ? [...READERS, ACT] : READERS;
    Object.assign(this, { group, changed, grid: table("Readers and leases", this.columns), most: SHOWN, sources: [] });
    this.find = h("input", { type: "search", placeholder: "Find a reader", "aria-label": "Find a reader", on: { input: () => this.redraw() } });
    this.tools = h("span", { class: "tools" }, this.find);
    this.more = h("button", { type: "button", class: "quiet", hidden: true, on: { click: () => { this.most += SHOWN; this.redraw(); } } });
    this.element = h("div", {}, this.grid.whole, this.more);
  }

  draw(sources, now) {
    this.now = now;
    this.sources = sources;
    this.redraw();
  }

  redraw() {
    const wanted = this.find.value.trim().toLowerCase();
    const rank = (kind) => (FIRST.indexOf(kind) + 1) || FIRST.length + 1;
    const all = this.sources.flatMap((source) => source.readers.map((reader) =>
      ({ name: `${source.name}/${reader.subtask}`, source: source.name, reader, kind: stateOf(reader) })))
      .filter((item) => `${item.name} ${item.reader.owner}`.toLowerCase().includes(wanted))
      .sort((one, other) => rank(one.kind) - rank(other.kind));
    rows(this.grid.body, all.slice(0, this.most), (item) => item.name, (item) => this.row(item), (row, { name, reader, kind }) => {
      const [title, shown, watermark, drift, waits, lease, step, batch, owner] = row.children;
      say(title, name);
      give(title, "title", name);
      state(shown, kind, reader.parked_until_iso ? `until ${reader.parked_until_iso.slice(0, 19)}Z` : "");
      say(watermark, brief(reader.watermark, this.now));
      give(watermark, "title", moment(reader.watermark));
      say(drift, span(reader.drift_ms));
      say(waits, age(reader.waiting_ms));
      give(waits, "data-tone", reader.overdue ? "overdue" : null);
      say(lease, kind === "lost" ? "ended" : span(reader.lease_left_ms));
      give(lease, "data-tone", kind === "lost" ? "lost" : null);
      say(step, ago(reader.progress_age_ms));
      say(batch, count(reader.batch_id));
      say(owner, reader.owner || "–");
      give(owner, "title", [reader.owner, ...Object.entries(reader.attributes ?? {}).map(([key, value]) => `${key}: ${value}`)].join("\n"));
    });
    this.more.hidden = all.length <= this.most;
    say(this.more, `${plural(all.length - this.most, "more reader")}: show ${SHOWN} of them`);
  }

  row({ source, reader }) {
    const row = cells(this.columns);
    row.children[8].setAttribute("dir", "auto");
    if (session.admin) row.lastElementChild.append(h("button", { type: "button", class: "danger", "aria-label": `Evict ${source}/${reader.subtask}`, on: { click: async () => {
      if (await evict(this.group, source, reader.subtask)) this.changed();
    } } }, "Evict"));
    return row;
  }
}

export class JournalList {
  constructor() {
    this.list = h("ol", { class: "journal", tabindex: "0", "aria-label": "Journal" });
    this.empty = h("p", { class: "empty" }, "Nothing yet.");
    this.element = h("div", {}, this.list, this.empty);
    this.list.hidden = true;
  }

  none(text) { say(this.empty, text); }

  draw(entries) {
    this.empty.hidden = entries.length > 0;
    this.list.hidden = !entries.length;
    rows(this.list, entries, (entry) => entry.id, () => h("li", {}, h("time"), h("span", { dir: "auto" }, h("b"), " ", h("span")), h("span", { class: "dim" })), (row, entry) => {
      const [when, what, by] = row.children;
      say(when, clock(entry.at));
      give(when, "datetime", entry.at_iso);
      give(when, "title", moment(entry.at));
      say(what.firstElementChild, entryOf(entry));
      say(what.lastElementChild, entryWords(entry));
      say(by, entry.by ? `by ${entry.by}` : "");
    });
  }
}

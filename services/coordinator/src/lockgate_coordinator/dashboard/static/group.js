// One group: what it waits for and why, how far apart its readers are, and what an operator may do.
import { Problem, ask, follow, groupPath, keepLooking, session, sourcePath } from "./api.js";
import { configure, deleteGroup, mayNot } from "./acts.js";
import { AssignmentList } from "./assignments.js";
import { contact, failed } from "./app.js";
import { TimeChart, eventTimes, toned } from "./charts.js";
import { fill, h, panel, say } from "./dom.js";
import { Figures } from "./figures.js";
import { drawBadge } from "./groups.js";
import { HeatMap } from "./heat.js";
import { JournalList, ReaderList, SourceList } from "./lists.js";
import { Samples, sourcesOf } from "./samples.js";
import { Timeline } from "./timeline.js";
import { brief, pace } from "./words.js";

const LEAST_MS = 1000; // between two looks, however often the group changes
const LOOK_MS = 2000;
const MOST_PAGES = 10;
const MOST_SOURCES = 60; // whose splits are asked for

export function showGroup(main, name, signal) {
  new GroupPage(name, signal).begin(main);
}

class GroupPage {
  constructor(name, signal) {
    Object.assign(this, { name, signal, samples: new Samples(), entries: [], sources: [], looked: 0, bytes: 0 });
    this.badge = h("span", { class: "badge" }, h("span", { "aria-hidden": "true" }), h("span"));
    this.mode = h("span", { class: "chip", hidden: true }, "mode observe: no reader waits");
    this.sentence = h("p", { class: "sentence", id: "sentence" }, "Asking the coordinator …");
    this.reason = h("p", { class: "reason" });
    this.figures = new Figures();
    this.chart = new TimeChart({ label: "Event time over wall time", unit: (at) => brief(at === null || at === undefined ? null : at * 1000, Date.now()), axis: eventTimes, times: true, height: 400 });
    this.paces = new TimeChart({ label: "Event seconds a second of wall time", unit: pace, zero: true, height: 180,
      axis: (_, marks) => marks.map(short) });
    this.heat = new HeatMap();
    this.timeline = new Timeline();
    const changed = () => this.looking?.kick();
    this.sourceList = new SourceList(name, changed);
    this.readerList = new ReaderList(name, changed);
    this.assignments = new AssignmentList();
    this.assigned = panel("Assigned partitions", this.assignments.tools, this.assignments.element);
    this.assigned.hidden = true;
    this.journal = new JournalList();
    signal.addEventListener("abort", () => [this.chart, this.paces, this.heat].forEach((part) => part.end()));
  }

  begin(main) {
    const acts = session.admin ? h("span", { class: "tools" },
      h("button", { type: "button", on: { click: async () => { if (await configure(this.name, this.group.config, this.etag)) this.looking.kick(); } } }, "Drift and mode"),
      h("button", { type: "button", class: "danger", on: { click: async () => { if (await deleteGroup(this.name)) location.hash = "#/"; } } }, "Delete")) : null;
    this.body = h("div", { class: "group-body" },
      this.figures.element,
      h("div", { class: "pair-grid" },
        panel("Event time", h("span", { class: "dim small" }, "of the group and of each source, over wall time (UTC)"), this.chart.element),
        h("div", { class: "stack" },
          panel("Event-time rate", h("span", { class: "dim small" }, "seconds of event time per second; 1× keeps up"), this.paces.element),
          panel("Journal", null, this.journal.element))),
      panel("Sources", mayNot(), this.sourceList.element),
      panel("Drift by partition", this.heat.tools, this.heat.element),
      panel("States", h("span", { class: "dim small" }, "of each source, over wall time (UTC)"), this.timeline.element),
      panel("Readers and leases", this.readerList.tools, this.readerList.element),
      this.assigned);
    fill(main, h("div", { class: "title" }, h("h1", { dir: "auto" }, this.name), this.badge, this.mode, h("span", { class: "push" }), acts),
      this.sentence, this.reason, this.body);
    this.looking = keepLooking(() => this.look(), (error) => this.fault(error), this.signal);
    keepLooking(() => this.lookAtSplits(), () => "again", this.signal);
    keepLooking(() => this.lookAtAssignments(), () => "again", this.signal);
    keepLooking(() => this.lookAtJournal(), (error) => this.noJournal(error), this.signal);
    follow(this.name, { signal: this.signal, event: () => this.changed(), state: (state, reason) => {
      if (state === "lost") return contact.bad("stream", reason);
      contact.good("stream");
      return state === "live" ? this.looking.kick() : undefined;
    } });
  }

  // An event of the stream: look anew, but not more often than the service can give easily.
  changed() {
    if (this.waiting) return;
    const rest = Math.max(LEAST_MS, this.bytes / 50) - (Date.now() - this.looked);
    this.waiting = setTimeout(() => { this.waiting = null; this.looking.kick(); }, Math.max(0, rest));
  }

  fault(error) {
    if (error instanceof Problem && ["unknown-group", "forbidden", "unreadable-group", "invalid-request"].some((type) => error.type.endsWith(type))) {
      this.body.hidden = true;
      this.badge.hidden = true;
      say(this.sentence, error.message);
      say(this.reason, error.status === 404 ? "It may have been deleted. The next reader that registers creates it again." : "");
      contact.good("look");
      return "again";
    }
    return failed(error);
  }

  async look() {
    this.looked = Date.now();
    const readers = new Map();
    let [first, after, bytes] = [null, "", 0];
    for (let page = 0; page < MOST_PAGES && after !== null; page++) {
      const answer = await ask(`${groupPath(this.name)}?limit=1000${after && `&after=${encodeURIComponent(after)}`}`, { signal: this.signal });
      first ??= answer;
      bytes += answer.bytes;
      for (const { source, readers: some } of answer.json.sources) readers.set(source, [...(readers.get(source) ?? []), ...some]);
      after = answer.json.next;
    }
    [this.group, this.etag, this.bytes] = [first.json, first.headers.get("etag"), bytes];
    this.sources = sourcesOf(readers, this.group.paused_sources);
    if (!this.loaded) await this.load();
    this.samples.look(this.group, this.sources);
    contact.good("look");
    this.draw();
    return Math.max(LOOK_MS, bytes / 50);
  }

  async load() {
    this.loaded = true;
    try {
      this.samples.load((await ask(`${groupPath(this.name)}/samples`, { signal: this.signal })).json);
    } catch (error) {
      if (!gone(error)) this.loaded = false;
    }
  }

  async lookAtSplits() {
    if (!this.group) return 200;
    const [splits, shown] = [[], this.sources.filter((source) => source.readers.length).slice(0, MOST_SOURCES)];
    let bytes = 0;
    for (const source of shown) {
      for (let after = -1; after !== null;) {
        const more = after < 0 ? "" : `&after=${after}`;
        const { json, bytes: size } = await ask(`${sourcePath(this.name, source.name)}?limit=1000${more}`, { signal: this.signal });
        bytes += size;
        for (const reader of json.readers) {
          for (const [split, one] of Object.entries(reader.splits)) {
            splits.push({ ...one, split, source: source.name, subtask: reader.subtask, drift: one.drift_ms });
          }
        }
        after = json.next;
      }
    }
    this.heat.add(Date.now(), splits, this.group.config.max_drift_ms);
    this.figures.splits(splits.length);
    this.sourceList.splits(splits);
    return Math.max(LOOK_MS, bytes / 40);
  }

  async lookAtAssignments() {
    if (!this.group) return 200;
    this.assigned.hidden = !this.group.enumerators;
    const bytes = this.group.enumerators ? await this.assignments.look(this.group, this.signal) : 0;
    return Math.max(LOOK_MS, bytes / 40);
  }

  async lookAtJournal() {
    const { json } = await ask(`${groupPath(this.name)}/journal?limit=200&order=newest`, { signal: this.signal });
    this.entries = json.items;
    this.journal.draw(this.entries);
    return 5000;
  }

  // The sources that are there, and those that were: their history stays when they have left.
  everySource() {
    const there = new Set(this.sources.map((source) => source.name));
    const before = new Map();
    for (const point of this.samples.points) for (const [name, one] of point.sources) if (!there.has(name)) before.set(name, one);
    return [...this.sources, ...[...before].map(([name, one]) => ({ name, watermark: one.watermark }))];
  }

  noJournal(error) {
    if (!gone(error)) return "again";
    this.journal.none("This coordinator keeps no journal.");
    return "stop";
  }

  draw() {
    const { group, samples, sources } = this;
    this.body.hidden = false;
    this.badge.hidden = false;
    drawBadge(this.badge, group.health);
    this.mode.hidden = group.config.mode !== "observe";
    say(this.sentence, group.sentence);
    say(this.reason, group.reason);
    this.figures.draw(group, samples, sources);
    const tones = toned(this.everySource());
    const times = samples.points.map((point) => point.at);
    this.chart.draw(times, [
      ...tones.map((tone) => ({ ...tone, values: samples.points.map((point) => seconds(point.sources.get(tone.name)?.watermark)) })),
      { name: "group watermark", tone: "--ink", width: 2.5, values: samples.points.map((point) => seconds(point.watermark)) },
      { name: "read limit", tone: "--ceiling", width: 2, dash: [6, 4], values: samples.points.map((point) => seconds(point.ceiling)) },
    ]);
    this.paces.draw(times, [
      ...tones.map((tone) => ({ ...tone, values: slopes(samples.points, (point) => point.sources.get(tone.name)?.watermark) })),
      { name: "group", tone: "--ink", width: 2.5, values: slopes(samples.points, (point) => point.watermark) },
    ]);
    this.sourceList.draw(sources, samples, tones, group.now);
    this.timeline.draw(samples.points, tones.map((tone) => tone.name), this.entries);
    this.readerList.draw(sources, group.now);
    document.title = `${group.health === "healthy" ? "" : "● "}${this.name} · lockgate`;
  }
}

const short = (mark) => mark >= 1e6 ? `${mark / 1e6}M×` : mark >= 1e4 ? `${mark / 1e3}k×` : `${mark}×`;
const seconds = (ms) => ms === null || ms === undefined ? null : ms / 1000;
const gone = (error) => error instanceof Problem && [404, 405].includes(error.status) && error.type === "about:blank";

// Event time a second, each over the points of the ten seconds before.
function slopes(points, valueOf) {
  let begin = 0;
  return points.map((point, place) => {
    while (begin < place - 1 && points[begin + 1].at <= point.at - 10_000) begin++;
    const [from, to] = [valueOf(points[begin]), valueOf(point)];
    const passed = point.at - points[begin].at;
    return passed < 1000 || from === null || from === undefined || to === null || to === undefined ? null : (to - from) / passed;
  });
}


// The row of figures: where the group is, how far apart, how fast, and until when, as honestly as the
// samples allow.
import { give, h, say } from "./dom.js";
import { least, total } from "./samples.js";
import { clock, count, isTime, moment, pace, plural, span } from "./words.js";

const NAMES = {
  watermark: "Group watermark", ceiling: "Read limit", drift: "Drift", held: "Waiting since", pace: "Event-time rate",
  wait: "Waiting queries", clock: "Caught up", late: "Late rows", saved: "Rows saved", retention: "Time to retention",
};
const NEAR_MS = 60_000; // a group this close to the clock has caught up

export class Figures {
  constructor() {
    this.tiles = new Map(Object.entries(NAMES).map(([key, name]) => [key, { value: h("dd"), note: h("dd", { class: "note" }), name }]));
    this.element = h("dl", { class: "figures" }, [...this.tiles.entries()].map(([key, tile]) =>
      h("div", { "data-figure": key }, h("dt", {}, tile.name), tile.value, tile.note)));
    this.count = null;
  }

  splits(number) { this.count = number; }

  set(key, value, note = "", tone = null) {
    const tile = this.tiles.get(key);
    say(tile.value, value);
    say(tile.note, note);
    give(tile.value, "data-tone", tone);
  }

  draw(group, samples, sources) {
    const { now, config } = group;
    const known = isTime(group.group_watermark);
    const ceiling = group.alignment.would_be ?? group.max_desired_watermark;
    this.set("watermark", moment(group.group_watermark), known ? `${span(Math.max(0, now - group.group_watermark))} behind the clock` : "");
    this.set("ceiling", moment(ceiling), group.alignment.would_be != null ? "in mode enforce" : `max_drift ${span(config.max_drift_ms)}`);
    const part = group.drift_ms === null ? null : group.drift_ms / Math.max(1, config.max_drift_ms);
    this.set("drift", span(group.drift_ms), part === null ? "not known yet"
      : `${Math.round(100 * part)} % of max_drift; ${plural(group.readers, "reader")}${this.count === null ? "" : `, ${plural(this.count, "partition")}`}`,
    part > 1 ? "overdue" : null);
    this.held(group, samples, sources);
    const rate = samples.groupRate();
    this.set("pace", pace(rate), rate === null ? "measuring" : rate <= 0.001 ? "the watermark does not move" : "seconds of event time per second",
      rate !== null && rate <= 0.001 && known ? "waiting" : null);
    this.wait(group, samples, sources, ceiling);
    this.clock(group, samples, known);
    const late = total(sources.map((source) => source.late));
    this.set("late", count(late), late === null ? "not reported" : "since the queries started", late ? "overdue" : null);
    const saved = total(sources.map((source) => source.saved));
    this.set("saved", count(saved), saved === null ? "not reported" : "estimate of what plain Spark would have dropped");
    const left = least(sources.map((source) => source.retention));
    const nearest = sources.find((source) => source.retention === left);
    this.set("retention", left === null ? "–" : span(left), left === null ? "not known for any paused partition"
      : `until Kafka deletes unread records of ${nearest.retentionSplit ?? nearest.name}`, left !== null && left < 3_600_000 ? "lost" : null);
  }

  held(group, samples, sources) {
    const since = samples.heldSince();
    const waiting = sources.filter((source) => source.waiting !== null);
    if (!group.alignment.blocked_by.length) return this.set("held", "–", "no reader blocks the group");
    const longest = Math.max(0, ...waiting.map((source) => source.waiting));
    const note = group.waiting ? `${plural(group.waiting, "reader waits", "readers wait")}${longest < 2000 ? "" : `, the longest for ${span(longest)}`}`
      : "no reader waits now";
    return this.set("held", since === null ? "–" : `${since.whole ? "" : "before "}${clock(since.at)}`, note, group.overdue ? "overdue" : null);
  }

  // Until when: by how far the highest one that waits is above the ceiling, and how fast that rises.
  wait(group, samples, sources, ceiling) {
    if (!group.waiting) return this.set("wait", "–", "no reader waits");
    const marks = sources.flatMap((source) => source.readers).filter((reader) => reader.waiting_ms !== null).map((reader) => reader.watermark).filter(isTime);
    if (!marks.length || !isTime(ceiling)) return this.set("wait", "no estimate", "the read limit is not known");
    const [needed, rate] = [Math.max(...marks) - ceiling, samples.groupRate()];
    if (rate !== null && rate > 0.001 && needed < 2000 * rate) return this.set("wait", `follow at ${pace(rate)}`, "step by step, as the read limit rises");
    return this.estimate("wait", samples.until(Math.max(0, needed)), "until they read again, at this rate");
  }

  clock(group, samples, known) {
    if (!known) return this.set("clock", "–", "");
    const behind = group.now - group.group_watermark;
    if (behind < NEAR_MS) return this.set("clock", "now", `${span(Math.max(0, behind))} behind`, "well");
    return this.estimate("clock", samples.until(behind, 1), `${span(behind)} to catch up`);
  }

  estimate(key, found, note) {
    if (found.words === "unknown") return this.set(key, "measuring", note);
    if (found.words === "stopped") return this.set(key, "no estimate", "the watermark does not move", "waiting");
    if (found.words === "never") return this.set(key, "not at this rate", key === "clock" ? "slower than the clock, or uneven" : "the rate is uneven", "waiting");
    const [low, high] = [Math.max(1000, found.least), Math.max(1000, found.most)];
    const words = high > 1.3 * low ? `in ${rough(low)} to ${rough(high)}` : `in about ${rough(high)}`;
    return this.set(key, words, note);
  }
}

// An estimate has no seconds beside its minutes.
function rough(ms) { return span(ms < 60_000 ? ms - ms % 1000 : ms - ms % 60_000); }

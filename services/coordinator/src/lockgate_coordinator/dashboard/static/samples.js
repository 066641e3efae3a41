// What the page has seen of a group over time: the service's samples, and each look since.
import { isTime, stateOf, worst } from "./words.js";

const MOST = 1500;
const SHORT_MS = 60_000;
const LONG_MS = 300_000;

export class Samples {
  constructor() { this.points = []; }

  // Of `GET …/samples`, where the coordinator has them. What was seen here since stays.
  load(answer) {
    const loaded = answer.samples.map((sample) => ({
      at: sample.at,
      watermark: time(sample.group_watermark),
      ceiling: time(sample.max_desired_watermark),
      holder: sample.blocked_by?.length ? `${sample.blocked_by[0].source}/${sample.blocked_by[0].subtask}` : null,
      sources: new Map(Object.entries(sample.sources ?? {}).map(([name, one]) =>
        [name, { watermark: time(one.watermark), state: one.state ?? null, late: one.late_rows, saved: one.rows_saved }])),
    }));
    const last = loaded.at(-1)?.at ?? 0;
    this.points = [...loaded, ...this.points.filter((point) => point.at > last)];
  }

  // One look: the answer of `GET /v1/groups/{group}` with all its readers.
  look(group, sources) {
    const event = group.alignment;
    const point = {
      at: group.now,
      watermark: time(group.group_watermark),
      ceiling: time(event.would_be ?? group.max_desired_watermark),
      holder: event.blocked_by.length ? `${event.blocked_by[0].source}/${event.blocked_by[0].subtask}` : null,
      sources: new Map(sources.map((source) => [source.name, { watermark: source.watermark, state: source.state }])),
    };
    const last = this.points.at(-1);
    if (last && point.at <= last.at) return;
    this.points.push(point);
    if (this.points.length > MOST) this.points = this.points.filter((_, place) => place > MOST / 2 || place % 2 === 0);
  }

  get last() { return this.points.at(-1); }

  // Since when the one that holds now has held without a break, as far as was seen.
  heldSince() {
    const holder = this.last?.holder;
    if (!holder) return null;
    let place = this.points.length - 1;
    while (place > 0 && this.points[place - 1].holder === holder) place--;
    return { at: this.points[place].at, whole: place > 0 };
  }

  // Event ms a ms of wall time over the newest `window`; null where too little was seen.
  rate(valueOf, window = SHORT_MS) {
    const last = this.last;
    if (!last) return null;
    const end = valueOf(last);
    const begin = this.points.find((point) => point.at >= last.at - window && isTime(valueOf(point)));
    if (!isTime(end) || !begin || last.at - begin.at < 4000) return null;
    return (end - valueOf(begin)) / (last.at - begin.at);
  }

  groupRate(window) { return this.rate((point) => point.watermark, window); }

  sourceRate(name, window) { return this.rate((point) => point.sources.get(name)?.watermark, window); }

  // How long until the watermark has moved on by `needed`: [least, most] by its newest minute and its
  // newest five; null where it does not move, or nothing is known.
  until(needed, against = 0) {
    const rates = [this.groupRate(SHORT_MS), this.groupRate(LONG_MS)].filter((rate) => rate !== null);
    if (!rates.length) return { words: "unknown" };
    if (rates[0] <= 0.001) return { words: "stopped" };
    const times = rates.filter((rate) => rate - against > 0.02).map((rate) => needed / (rate - against));
    if (times.length < rates.length) return { words: "never" };
    return { words: "range", least: Math.min(...times), most: Math.max(...times) };
  }
}

export function time(value) { return isTime(value) ? value : null; }

// Each source with what its readers add up to.
export function sourcesOf(readersBySource, paused = []) {
  const by = new Map(paused.map((one) => [one.source, one]));
  const names = new Set([...readersBySource.keys(), ...by.keys()]);
  return [...names].map((name) => {
    const readers = readersBySource.get(name) ?? [];
    const states = readers.map(stateOf);
    const times = readers.filter((reader) => !["lost", "finished", "idle"].includes(reader.state))
      .map((reader) => reader.watermark).filter(isTime);
    const all = readers.map((reader) => reader.watermark).filter(isTime);
    const facts = readers.map((reader) => reader.facts ?? {});
    return {
      name, readers,
      paused: by.get(name) ?? null,
      state: by.has(name) && !states.includes("lost") ? "paused" : worst(states),
      watermark: times.length ? Math.min(...times) : all.length ? Math.min(...all) : null,
      drift: most(readers.map((reader) => reader.drift_ms)),
      waiting: most(readers.map((reader) => reader.waiting_ms)),
      late: total(facts.map((one) => one.late_rows)),
      saved: total(facts.map((one) => one.rows_saved)),
      retention: least(facts.map((one) => one.retention_left_ms)),
      retentionSplit: facts.find((one) => one.retention_left_ms === least(facts.map((each) => each.retention_left_ms)))?.retention_split,
      lag: most(facts.map((one) => one.producer_lag_ms)),
      pace: least(facts.map((one) => one.event_time_rate)),
    };
  }).sort((one, other) => one.name.localeCompare(other.name));
}

const given = (values) => values.filter((value) => value !== null && value !== undefined);
export const most = (values) => given(values).length ? Math.max(...given(values)) : null;
export const least = (values) => given(values).length ? Math.min(...given(values)) : null;
export const total = (values) => given(values).length ? given(values).reduce((sum, value) => sum + value, 0) : null;

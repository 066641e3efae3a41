// Times, spans and states in words, as the command line has them.

const FAR = 9e15; // MIN and MAX of the protocol are beyond what a date can be
const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

export const isTime = (ms) => typeof ms === "number" && Math.abs(ms) < 8.64e15;

// In two units, the rest cut off: "12 min 20 s", "15.5 s", "40 ms"; as `spoken` of the core.
export function span(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms >= FAR) return "for ever";
  if (ms < 0) return `−${span(-ms)}`;
  if (ms > 0 && ms < 100) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1).replace(/\.0$/, "")} s`;
  const units = [[Math.floor(ms / DAY), "d"], [Math.floor(ms / HOUR) % 24, "h"],
    [Math.floor(ms / MINUTE) % 60, "min"], [Math.floor(ms / SECOND) % 60, "s"]];
  const first = units.findIndex(([count]) => count);
  return units.slice(first, first + 2).filter(([count]) => count)
    .map(([count, unit]) => `${count.toLocaleString("en")} ${unit}`).join(" ");
}

export function moment(ms) {
  if (ms === null || ms === undefined) return "–";
  if (!isTime(ms)) return ms < 0 ? "none yet" : "unbounded";
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

// The time of day alone where the day is clear from what stands beside it.
export function clock(ms) {
  return isTime(ms) ? new Date(ms).toISOString().slice(11, 19) : moment(ms);
}

// The time of day, with the day before it where that is another one than `now`'s.
export function brief(ms, now) {
  if (!isTime(ms)) return moment(ms);
  const [text, today] = [new Date(ms).toISOString(), new Date(now).toISOString()];
  return `${text.slice(0, 10) === today.slice(0, 10) ? "" : `${text.slice(text.slice(0, 4) === today.slice(0, 4) ? 5 : 0, 10)} `}${text.slice(11, 19)}Z`;
}

// A wait or an age: below a second it says nothing to a person.
export function age(ms) {
  return ms === null || ms === undefined ? "–" : ms < 1000 ? "< 1 s" : span(ms);
}

export function ago(ms) {
  return ms === null || ms === undefined ? "–" : `${age(ms)} ago`;
}

export function count(number) {
  return number === null || number === undefined ? "–" : number.toLocaleString("en");
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

// Event seconds a second of wall time.
export function pace(rate) {
  if (rate === null || rate === undefined || !Number.isFinite(rate)) return "–";
  const size = Math.abs(rate);
  return `${size >= 100 ? Math.round(rate).toLocaleString("en") : size >= 10 ? rate.toFixed(1) : rate.toFixed(2)}×`;
}

// Each has a shape of its own: colour is never the only sign.
export const STATES = {
  active: { glyph: "●", word: "reading", tone: "well" },
  waiting: { glyph: "◐", word: "waits at the read limit", tone: "waiting" },
  paused: { glyph: "❚❚", word: "paused by an operator", tone: "paused" },
  registered: { glyph: "○", word: "registered, no report yet", tone: "quiet" },
  idle: { glyph: "–", word: "idle", tone: "quiet" },
  parked: { glyph: "■", word: "parked", tone: "parked" },
  finished: { glyph: "✓", word: "finished", tone: "quiet" },
  passed_over: { glyph: "◇", word: "passed over", tone: "overdue" },
  lost: { glyph: "✕", word: "lost", tone: "lost" },
};

// Of a split that an enumerator assigns.
export const SPLIT_STATES = {
  assigned: { glyph: "●", word: "assigned", tone: "well" },
  revoking: { glyph: "◐", word: "being handed over", tone: "waiting" },
  unassigned: { glyph: "○", word: "unassigned", tone: "overdue" },
  missing: { glyph: "◇", word: "missing from the list", tone: "quiet" },
};

export const HEALTH = {
  unreadable: { glyph: "✕", word: "Cannot be read", tone: "lost" },
  lost: { glyph: "✕", word: "Reader lost", tone: "lost" },
  overdue: { glyph: "▲", word: "Waits too long", tone: "overdue" },
  starting: { glyph: "○", word: "Starting", tone: "waiting" },
  paused: { glyph: "❚❚", word: "Paused", tone: "paused" },
  waiting: { glyph: "◐", word: "Waiting", tone: "waiting" },
  healthy: { glyph: "●", word: "Healthy", tone: "well" },
  idle: { glyph: "–", word: "Idle", tone: "quiet" },
};

// The worst comes first: of several readers, a source has the state of the worst one.
const WORST = ["lost", "passed_over", "paused", "waiting", "active", "registered", "parked", "idle", "finished"];

export function stateOf(reader) {
  return reader.state === "active" && reader.waiting_ms !== null && reader.waiting_ms !== undefined
    ? "waiting" : reader.state;
}

export function worst(states) {
  return WORST.find((state) => states.includes(state)) ?? states[0] ?? "registered";
}

export const holderName = (held) => `${held.source}/${held.subtask}`;

// An entry of the journal: whom it is of, and what happened, as the command line prints it.
export function entryOf(entry) {
  return entry.source === undefined ? "group" : entry.subtask === undefined ? entry.source : holderName(entry);
}

export function entryWords(entry) {
  const kind = entry.kind.replace(/^(reader|source|group)_/, "").replaceAll("_", " ");
  const more = [entry.details?.why, ...Object.entries(entry.details ?? {}).map(([name, value]) => TOLD[name]?.(value))].filter(Boolean);
  return `${kind}: ${entry.reason}${more.length ? ` (${more.join("; ")})` : ""}`;
}

const valued = (name, value) => name.endsWith("_ms") && typeof value === "number" ? span(value) : Array.isArray(value) ? value.join(", ") || "none" : value ?? "none";

const TOLD = {
  blocked_by: (names) => names.length ? `waiting for ${names.join(", ")}` : "",
  silent_ms: (ms) => ms ? `silent for ${span(ms)}` : "",
  read_limit: (at) => `read limit ${moment(at)}`,
  waited_ms: (ms) => `waited for ${span(ms)}`,
  owner: (owner) => owner ? `owner ${owner}` : "",
  changed: (changed) => Object.entries(changed).map(([name, { from, to }]) => `${name} ${valued(name, from)} → ${valued(name, to)}`).join(", "),
};

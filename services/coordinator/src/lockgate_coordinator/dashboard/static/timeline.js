// The state of each source over wall time, with the reason for it. A lane is one picture to a screen
// reader; arrow keys go from state to state.
import { fill, h, rows, say } from "./dom.js";
import { STATES, clock, entryWords, span } from "./words.js";

const MOST_LANES = 200;
const NEAR_MS = 15_000;

export class Timeline {
  constructor() {
    this.lanes = h("div", { class: "lanes" });
    this.output = h("output", { class: "cell", "aria-live": "polite" });
    this.axis = h("div", { class: "axis", "aria-hidden": "true" }, h("span"), h("span"));
    this.key = h("ul", { class: "legend" }, Object.values(STATES).map((state) => h("li", {},
      h("span", { class: "tone", "data-tone": state.tone, "aria-hidden": "true" }, state.glyph), state.word)));
    this.element = h("div", {}, this.lanes, this.axis, this.key, h("div", { class: "under" }, this.output));
  }

  draw(points, names, entries) {
    if (!points.length) return;
    const [from, to] = [points[0].at, Math.max(points.at(-1).at, points[0].at + 1)];
    const shown = names.slice(0, MOST_LANES);
    rows(this.lanes, shown, (name) => name, (name) => this.lane(name), (lane, name) => {
      const found = segments(points, name, entries.filter((entry) => entry.source === name));
      lane.found = found;
      const newest = found.at(-1);
      lane.track.setAttribute("aria-label", newest ? `${name}: ${words(newest)}` : `${name}: nothing known`);
      fill(lane.track, found.map((one) => h("i", { "data-tone": STATES[one.state]?.tone ?? "quiet",
        style: { left: `${100 * (one.from - from) / (to - from)}%`, width: `${100 * (one.to - one.from) / (to - from)}%` } },
      (one.to - one.from) / (to - from) > 0.03 ? STATES[one.state]?.glyph : "")),
      entries.filter((entry) => entry.source === name && entry.at >= from && entry.at <= to).slice(0, 60).map((entry) =>
        h("b", { title: `${clock(entry.at)} ${entryWords(entry)}`, style: { left: `${100 * (entry.at - from) / (to - from)}%` } })));
    });
    say(this.axis.firstElementChild, clock(from));
    say(this.axis.lastElementChild, `${clock(to)} UTC`);
  }

  lane(name) {
    const track = h("div", { class: "track", tabindex: "0", role: "img" });
    const lane = h("div", { class: "lane" }, h("span", { class: "lane-name", title: name, dir: "auto" }, name), track);
    Object.assign(lane, { track, found: [], place: null });
    track.addEventListener("mousemove", (event) => {
      const box = track.getBoundingClientRect();
      const part = (event.clientX - box.left) / box.width;
      const [from, to] = [lane.found[0]?.from ?? 0, lane.found.at(-1)?.to ?? 1];
      this.show(name, lane.found.find((one) => from + part * (to - from) <= one.to));
    });
    track.addEventListener("mouseleave", () => say(this.output, ""));
    track.addEventListener("focus", () => this.show(name, lane.found[lane.place = lane.found.length - 1]));
    track.addEventListener("blur", () => say(this.output, ""));
    track.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move) return;
      event.preventDefault();
      lane.place = Math.min(lane.found.length - 1, Math.max(0, (lane.place ?? lane.found.length) + move));
      this.show(name, lane.found[lane.place]);
    });
    return lane;
  }

  show(name, one) { say(this.output, one ? `${name}: ${words(one)}` : ""); }
}

function words(one) {
  return `${STATES[one.state]?.word ?? one.state} from ${clock(one.from)} for ${span(one.to - one.from)}${one.reason ? `. ${one.reason}` : ""}`;
}

// Points of one state in a row are one segment; its reason is the journal's entry that began it.
function segments(points, name, entries) {
  const found = [];
  for (const point of points) {
    const state = point.sources.get(name)?.state;
    const last = found.at(-1);
    if (last && !last.gone) last.to = point.at;
    if (last) last.gone ||= !state;
    if (state && (last?.state !== state || last.gone)) found.push({ state, from: point.at, to: point.at, reason: null });
  }
  for (const one of found) {
    const near = entries.filter((entry) => Math.abs(entry.at - one.from) < NEAR_MS);
    const cause = near.length ? near.reduce((a, b) => Math.abs(a.at - one.from) <= Math.abs(b.at - one.from) ? a : b) : null;
    one.reason = cause && `${entryWords(cause)}${cause.by ? `, by ${cause.by}` : ""}`;
  }
  return found;
}

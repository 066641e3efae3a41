// Lines over wall time, by uPlot, in the colours of the page. Arrow keys move the cursor.
import { fill, h, say } from "./dom.js";
import { clock } from "./words.js";

const STEPS_S = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000, 7776000, 31536000];
const LINES = 8;
const FEW = 0.08; // of all values
const SQUEEZED = 6; // times

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Marks of time: the day where steps are days, seconds where steps are short.
export function eventTimes(_, marks, __, ___, step) {
  return marks.map((mark) => {
    const text = new Date(mark * 1000).toISOString();
    return step >= 86400 ? text.slice(5, 10) : step >= 60 ? `${text.slice(11, 16)}` : text.slice(11, 19);
  });
}

export class TimeChart {
  // `unit`: a value in words; `axis`: the marks of the y axis in words; `times`: whether y is event time.
  constructor({ label, unit, axis, times = false, height = 240, zero = false }) {
    Object.assign(this, { label, unit, axis, times, height, zero });
    this.plot = null;
    this.names = "";
    this.place = h("div", { class: "chart", tabindex: "0", role: "img", "aria-label": label });
    this.legend = h("ul", { class: "legend" });
    this.element = h("div", {}, this.place, this.legend);
    this.seen = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.seen.observe(this.place);
    this.themed = () => this.plot?.redraw(false);
    addEventListener("lockgate:theme", this.themed);
    this.place.addEventListener("keydown", (event) => this.key(event));
    this.place.addEventListener("blur", () => this.plot?.setCursor({ left: -10, top: -10 }));
  }

  end() {
    this.seen.disconnect();
    removeEventListener("lockgate:theme", this.themed);
    this.plot?.destroy();
  }

  size() { return { width: Math.max(200, this.place.clientWidth), height: this.height }; }

  // times: ms; lines: [{name, tone, dash, width, values, quiet}]
  draw(times, lines) {
    this.lines = lines;
    this.times_ms = times;
    const data = [times.map((ms) => ms / 1000), ...lines.map((line) => line.values)];
    const names = JSON.stringify(lines.map((line) => [line.name, line.tone, line.quiet]));
    if (names !== this.names) {
      this.names = names;
      this.plot?.destroy();
      this.plot = new uPlot(this.options(lines), data, this.place);
      fill(this.legend, lines.filter((line) => !line.quiet).map((line) => h("li", {},
        h("span", { class: "swatch", "data-dash": line.dash ? "" : null, style: { "--line": `var(${line.tone})` } }),
        h("span", { class: "legend-name", title: line.name, dir: "auto" }, line.name), h("b"))));
    } else {
      this.plot.setData(data);
    }
    this.show(this.plot.cursor.idx);
  }

  options(lines) {
    const axis = { stroke: () => colour("--muted"), grid: { stroke: () => colour("--grid"), width: 1 },
      ticks: { stroke: () => colour("--grid"), width: 1, size: 4 }, font: "11px system-ui, sans-serif" };
    return {
      ...this.size(), legend: { show: false }, cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: { x: { time: true }, y: { range: (_, low, high) => this.range(...this.usual(low, high)) } },
      axes: [{ ...axis, space: 80, size: 28, values: eventTimes }, { ...axis, size: 62, values: this.axis, ...(this.times ? { incrs: STEPS_S } : {}) }],
      series: [{}, ...lines.map((line) => ({
        label: line.name, stroke: () => colour(line.tone), width: line.width ?? 1.5, dash: line.dash, spanGaps: false,
        points: { show: false }, alpha: line.quiet ? 0.35 : 1,
      }))],
      hooks: { setCursor: [(plot) => this.show(plot.cursor.idx)] },
    };
  }

  // Without the few values that would squeeze all others into a line: a split that is read to its end
  // may go from last year to now in one step.
  usual(low, high) {
    const all = this.lines.flatMap((line) => line.values).filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
    const few = Math.floor(all.length * FEW);
    if (!few) return [low, high];
    const [from, to] = [all[few], all[all.length - 1 - few]];
    return to > from && high - low > SQUEEZED * (to - from) ? [from, to] : [low, high];
  }

  range(low, high) {
    if (low === null || high === null) return [0, 1];
    const from = this.zero ? Math.min(0, low) : low;
    const edge = Math.max((high - from) * 0.06, this.times ? 2 : 0.1);
    return [this.zero && from === 0 ? 0 : from - edge, high + edge];
  }

  // The values at the cursor, or else the newest.
  show(place) {
    if (!this.lines) return;
    const at = place ?? this.times_ms.length - 1;
    const values = this.lines.filter((line) => !line.quiet);
    values.forEach((line, number) => say(this.legend.children[number].lastElementChild, this.unit(line.values[at])));
    const words = values.map((line) => `${line.name} ${this.unit(line.values[at])}`).join(", ");
    this.place.setAttribute("aria-label", `${this.label}. At ${clock(this.times_ms[at])} UTC: ${words}`);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || !this.plot) return;
    event.preventDefault();
    const last = this.times_ms.length - 1;
    const at = Math.min(last, Math.max(0, (this.plot.cursor.idx ?? last) + step));
    this.plot.setCursor({ left: this.plot.valToPos(this.times_ms[at] / 1000, "x"), top: 20 });
  }
}

// The sources that get a colour of their own: the lowest ones first, since these hold; the others are grey.
export function toned(sources) {
  const order = [...sources].sort((one, other) => (one.watermark ?? Infinity) - (other.watermark ?? Infinity));
  const chosen = new Set(order.length <= LINES ? order : [...order.slice(0, LINES / 2), ...order.slice(-LINES / 2)]);
  let next = 0;
  return sources.map((source) => chosen.has(source)
    ? { name: source.name, tone: `--line-${++next}`, quiet: false } : { name: source.name, tone: "--muted", quiet: true });
}

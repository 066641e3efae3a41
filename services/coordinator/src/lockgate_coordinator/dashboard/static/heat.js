// Split × time: how far each split is above the group's watermark, the furthest first. A canvas of our
// own that draws only what is in sight, so that 5,000 splits cost what 30 do.
import { colour } from "./charts.js";
import { fill, h, say } from "./dom.js";
import { clock, count, moment, plural, span } from "./words.js";

const COLUMNS = 180;
const ROW = 18;
const FIRST = 12; // splits of a source that are shown before it is opened
const ALL = 60; // with fewer splits than this nothing is folded
const HIGHEST = 432;
const ORDERS = { ahead: "furthest ahead first", behind: "furthest behind first", name: "by name" };
const UNREAD = new Set(["active", "paused"]);
const READ = -1e9; // the value of a split that is read to its end: how far it is ahead says nothing
const MARKS = { paused: "❚", idle: "–", finished: "✓", caught_up: "○" };

export class HeatMap {
  constructor() {
    this.times = [];
    this.splits = new Map();
    this.open = new Set();
    this.rows = [];
    this.cursor = null;
    this.limit = 1;
    this.find = h("input", { type: "search", placeholder: "Find a partition", "aria-label": "Find a partition",
      on: { input: () => { this.scroller.scrollTop = 0; this.arrange(); } } });
    this.order = h("select", { "aria-label": "Order of the partitions", on: { change: () => this.arrange() } },
      Object.entries(ORDERS).map(([value, name]) => h("option", { value }, name)));
    this.tools = h("span", { class: "tools" }, this.find, this.order);
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.spacer = h("div", { class: "spacer" });
    this.output = h("output", { class: "cell", "aria-live": "polite" });
    this.scroller = h("div", { class: "heat", tabindex: "0", role: "group", on: {
      scroll: () => this.paint(), keydown: (event) => this.key(event), mousemove: (event) => this.point(event),
      mouseleave: () => this.choose(null), click: (event) => this.click(event), blur: () => this.choose(null),
    } }, this.canvas, this.spacer);
    this.list = h("tbody");
    this.scale = h("div", { class: "scale", "aria-hidden": "true" });
    this.element = h("div", {}, this.scroller, h("div", { class: "under" }, this.output, this.scale),
      h("details", {}, h("summary", {}, "The partitions as a table"),
        h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "The partitions as a table" }, h("table", {},
          h("thead", {}, h("tr", {}, ["Partition", "Reader", "State", "Watermark", "Drift", "Position", "Unread"].map((name, place) =>
            h("th", { scope: "col", class: place > 2 ? "number" : null }, name)))), this.list))));
    this.seen = new ResizeObserver(() => this.paint());
    this.seen.observe(this.scroller);
    this.themed = () => this.paint();
    addEventListener("lockgate:theme", this.themed);
  }

  end() {
    this.seen.disconnect();
    removeEventListener("lockgate:theme", this.themed);
  }

  // splits: [{source, subtask, split, drift, watermark, state, position, end}]
  add(at, splits, maxDrift) {
    this.limit = Math.max(1, maxDrift);
    if (this.times.length === COLUMNS) {
      this.times.shift();
      for (const one of this.splits.values()) one.values.copyWithin(0, 1);
    }
    const column = this.times.push(at) - 1;
    for (const one of this.splits.values()) one.values[column] = NaN;
    const there = new Set();
    for (const split of splits) {
      const key = `${split.source}/${split.subtask}/${split.split}`;
      there.add(key);
      const kept = this.splits.get(key) ?? { values: new Float32Array(COLUMNS).fill(NaN) };
      kept.values[column] = UNREAD.has(split.state) ? split.drift ?? NaN : READ;
      kept.now = split;
      this.splits.set(key, kept);
    }
    for (const key of this.splits.keys()) if (!there.has(key)) this.splits.delete(key);
    this.arrange();
  }

  arrange() {
    const wanted = this.find.value.trim().toLowerCase();
    // by tenths of max_drift, and then by name: rows that change places all the time cannot be read
    const far = (one) => one.now.drift === null || !UNREAD.has(one.now.state) ? READ : Math.round(10 * one.now.drift / this.limit);
    const compare = { ahead: (a, b) => far(b) - far(a), behind: (a, b) => far(a) - far(b), name: () => 0 }[this.order.value];
    const byName = (a, b) => a.now.split.localeCompare(b.now.split, "en", { numeric: true });
    const sources = new Map();
    for (const one of this.splits.values()) {
      const name = `${one.now.source}/${one.now.subtask} ${one.now.split}`;
      if (wanted && !name.toLowerCase().includes(wanted)) continue;
      if (!sources.has(one.now.source)) sources.set(one.now.source, []);
      sources.get(one.now.source).push(one);
    }
    const grouped = [...sources].map(([source, splits]) => ({ source, splits: splits.sort((a, b) => compare(a, b) || byName(a, b)) }));
    grouped.sort((a, b) => compare(a.splits[0], b.splits[0]) || a.source.localeCompare(b.source));
    this.rows = [];
    const whole = this.splits.size <= ALL || wanted;
    for (const { source, splits } of grouped) {
      if (grouped.length > 1 || !whole) this.rows.push({ kind: "source", source, splits, folds: !whole && splits.length > FIRST, values: highest(splits) });
      const shown = whole || this.open.has(source) ? splits : splits.slice(0, FIRST);
      for (const one of shown) this.rows.push({ kind: "split", source, one, values: one.values });
      if (shown.length < splits.length) this.rows.push({ kind: "more", source, left: splits.length - shown.length });
    }
    this.scroller.setAttribute("aria-label",
      `Drift of ${plural(this.splits.size, "partition")} over time. Arrow keys choose a cell, Enter opens and closes a source.`);
    this.scroller.hidden = !this.rows.length;
    const height = Math.max(ROW, this.rows.length * ROW);
    this.scroller.style.setProperty("height", `${Math.min(HIGHEST, height) + 20}px`);
    this.spacer.style.setProperty("height", `${height + 20}px`);
    this.tabulate(grouped.flatMap(({ splits }) => splits).sort((a, b) => compare(a, b) || byName(a, b)).slice(0, 100));
    this.paint();
  }

  tabulate(splits) {
    if (!this.list.closest("details").open && this.list.childElementCount) return;
    fill(this.list, splits.map(({ now }) => h("tr", {},
      h("th", { scope: "row", dir: "auto" }, now.split), h("td", {}, `${now.source}/${now.subtask}`), h("td", {}, now.state.replace("_", " ")),
      [moment(now.watermark), span(now.drift), count(now.position), unread(now)].map((text) => h("td", { class: "number" }, text)))));
  }

  get geometry() {
    const width = this.scroller.clientWidth;
    const labels = Math.min(260, Math.max(110, width * 0.24));
    const shown = Math.max(12, this.times.length);
    return { width, labels, shown, cell: (width - labels) / shown };
  }

  paint() {
    const { width, labels, cell } = this.geometry;
    if (!width) return;
    const height = this.scroller.clientHeight;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.setProperty("width", `${width}px`);
    this.canvas.style.setProperty("height", `${height}px`);
    const draw = this.canvas.getContext("2d");
    draw.scale(ratio, ratio);
    draw.font = "12px system-ui, sans-serif";
    draw.textBaseline = "middle";
    const inks = { ink: colour("--ink"), muted: colour("--muted"), cursor: colour("--accent"), scale: scale() };
    const top = this.scroller.scrollTop;
    const first = Math.floor(top / ROW);
    for (let place = first; place < Math.min(this.rows.length, first + height / ROW + 1); place++) {
      this.paintRow(draw, this.rows[place], place * ROW - top, labels, cell, inks);
    }
    draw.fillStyle = inks.muted;
    draw.clearRect(0, height - 18, width, 18);
    if (this.times.length) {
      draw.fillText(clock(this.times[0]), labels, height - 8);
      draw.textAlign = "right";
      draw.fillText(`${clock(this.times.at(-1))} UTC`, Math.min(width - 2, Math.max(labels + 150, labels + this.times.length * cell)), height - 8);
      draw.textAlign = "left";
    }
    if (this.cursor) {
      draw.strokeStyle = inks.cursor;
      draw.lineWidth = 2;
      draw.strokeRect(labels + this.cursor.column * cell, this.cursor.row * ROW - top, Math.max(3, cell), ROW - 1);
    }
    this.paintScale(inks.scale);
  }

  paintRow(draw, row, y, labels, cell, inks) {
    const middle = y + ROW / 2;
    draw.fillStyle = row.kind === "split" ? inks.ink : inks.muted;
    if (row.kind === "more") {
      draw.fillText(`  ${plural(row.left, "more partition", "more partitions")}: Enter or a click shows them`, 4, middle);
      return;
    }
    const name = row.kind === "source" ? `${!row.folds ? "" : this.open.has(row.source) ? "▾ " : "▸ "}${row.source}` : row.one.now.split;
    const mark = row.kind === "split" ? MARKS[row.one.now.state] ?? "" : "";
    draw.fillText(cut(draw, name, labels - 30), row.kind === "source" ? 4 : 14, middle);
    draw.fillText(mark, labels - 14, middle);
    for (let column = 0; column < this.times.length; column++) {
      const value = row.values[column];
      if (Number.isNaN(value)) continue;
      draw.fillStyle = inks.scale[step(value / this.limit)];
      draw.fillRect(labels + column * cell, y, Math.ceil(cell * 10) / 10 + 0.3, ROW - 2);
    }
  }

  paintScale(colours) {
    const theme = colours.join();
    if (this.scaleOf === theme + this.limit) return;
    this.scaleOf = theme + this.limit;
    fill(this.scale, h("i", { style: { background: colours[0] } }), h("span", {}, "at its end, or below"), h("span", {}, "0"), colours.slice(1).map((one, place) => h("i", {
      style: { background: one }, title: place < 5 ? `up to ${span(this.limit * (place + 1) / 5)}` : "above max_drift" })),
    h("span", {}, `max_drift ${span(this.limit)} lies where orange begins`));
  }

  choose(cursor) {
    this.cursor = cursor;
    this.paint();
    const row = cursor && this.rows[cursor.row];
    if (!row) return say(this.output, "");
    if (row.kind === "more") return say(this.output, `${plural(row.left, "more partition")} of ${row.source}`);
    const value = row.values[cursor.column];
    const when = clock(this.times[cursor.column]);
    const far = Number.isNaN(value) ? "no drift known" : value === READ ? "read to its end" : `${span(Math.round(value))} above the group's watermark`;
    if (row.kind === "source") return say(this.output, `${row.source}, ${plural(row.splits.length, "partition")}, at ${when}: up to ${far}`);
    const { now } = row.one;
    const newest = cursor.column === this.times.length - 1
      ? `; ${now.state.replace("_", " ")}, watermark ${moment(now.watermark)}, position ${count(now.position)}, ${unread(now)} unread` : "";
    return say(this.output, `${now.split} of ${now.source}/${now.subtask} at ${when}: ${far}${newest}`);
  }

  at(event) {
    const box = this.scroller.getBoundingClientRect();
    const { labels, cell } = this.geometry;
    const row = Math.floor((event.clientY - box.top + this.scroller.scrollTop) / ROW);
    const column = Math.min(this.times.length - 1, Math.max(0, Math.floor((event.clientX - box.left - labels) / cell)));
    return this.rows[row] ? { row, column } : null;
  }

  point(event) { this.choose(this.at(event)); }

  click(event) {
    const found = this.at(event);
    if (found) this.toggle(this.rows[found.row]);
  }

  toggle(row) {
    if (row.kind === "split" || row.folds === false) return;
    if (!this.open.delete(row.source)) this.open.add(row.source);
    this.arrange();
  }

  key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-20, 0], PageDown: [20, 0] };
    const last = this.times.length - 1;
    if (event.key === "Enter" && this.cursor) return this.toggle(this.rows[this.cursor.row]);
    if (!(event.key in moves) || last < 0 || !this.rows.length) return undefined;
    event.preventDefault();
    const [down, right] = moves[event.key];
    const from = this.cursor ?? { row: -Math.max(0, down), column: last };
    const row = Math.min(this.rows.length - 1, Math.max(0, from.row + down));
    const [top, height] = [this.scroller.scrollTop, this.scroller.clientHeight - 20];
    if (row * ROW < top) this.scroller.scrollTop = row * ROW;
    if ((row + 1) * ROW > top + height) this.scroller.scrollTop = (row + 1) * ROW - height;
    return this.choose({ row, column: Math.min(last, Math.max(0, from.column + right)) });
  }
}

const unread = (split) => split.position === null || split.end === null ? "–" : count(Math.max(0, split.end - split.position));

// Nine steps: below the watermark, five up to max_drift, three above. Blue and orange, which all can tell.
const scale = () => Array.from({ length: 9 }, (_, place) => colour(`--heat-${place}`));
const step = (part) => part < 0 ? 0 : part <= 1 ? 1 + Math.min(4, Math.floor(part * 5)) : part <= 1.5 ? 6 : part <= 3 ? 7 : 8;

function highest(splits) {
  const values = new Float32Array(COLUMNS).fill(NaN);
  for (const one of splits) {
    for (let place = 0; place < COLUMNS; place++) {
      const value = one.values[place];
      if (!Number.isNaN(value) && !(values[place] >= value)) values[place] = value;
    }
  }
  return values;
}

// The middle is cut out: the beginning says the topic, the end the partition.
function cut(draw, text, width) {
  if (draw.measureText(text).width <= width) return text;
  let keep = Math.min(text.length, 60);
  const short = () => `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
  while (keep > 4 && draw.measureText(short()).width > width) keep--;
  return short();
}

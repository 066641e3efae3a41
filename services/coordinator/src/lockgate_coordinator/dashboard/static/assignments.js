// Who reads which split of a source that has an enumerator, and where it stands.
import { ask, sourcePath } from "./api.js";
import { cells, h, rows, say, table } from "./dom.js";
import { state } from "./lists.js";
import { age, count, plural } from "./words.js";

const SHOWN = 25;
const MOST_SOURCES = 20;
const COLUMNS = [
  { name: "Partition", class: "name" }, { name: "Reader", class: "name" }, { name: "State" },
  { name: "Position", class: "number", explain: "The next record to read, as of the reader's last snapshot" },
  { name: "Assigned for", class: "number" },
];
const FIRST = ["unassigned", "missing", "revoking"];

export class AssignmentList {
  constructor() {
    Object.assign(this, { grid: table("Assigned partitions", COLUMNS), most: SHOWN, items: [] });
    this.find = h("input", { type: "search", placeholder: "Find a partition", "aria-label": "Find a partition", on: { input: () => this.redraw() } });
    this.said = h("span", { class: "dim small" });
    this.tools = h("span", { class: "tools" }, this.said, this.find);
    this.more = h("button", { type: "button", class: "quiet", hidden: true, on: { click: () => { this.most += SHOWN; this.redraw(); } } });
    this.element = h("div", {}, this.grid.whole, this.more);
  }

  // Asks for the splits of the group's sources that have an enumerator; returns the bytes of the answers.
  async look(group, signal) {
    const items = [];
    let bytes = 0;
    for (const source of Object.keys(group.enumerators ?? {}).slice(0, MOST_SOURCES)) {
      for (let after = ""; after !== null;) {
        const more = after && `&after=${encodeURIComponent(after)}`;
        const { json, bytes: size } = await ask(`${sourcePath(group.group, source)}/splits?limit=1000${more}`, { signal });
        bytes += size;
        for (const item of json.items) items.push({ ...item, source, age: item.since === null ? null : json.now - item.since });
        after = json.next;
      }
    }
    this.items = items;
    this.redraw();
    return bytes;
  }

  redraw() {
    const wanted = this.find.value.trim().toLowerCase();
    const rank = (kind) => (FIRST.indexOf(kind) + 1) || FIRST.length + 1;
    const reader = (item) => item.subtask === null ? "–" : `${item.source}/${item.subtask}`;
    const all = this.items.filter((item) => `${item.split} ${reader(item)} ${item.state}`.toLowerCase().includes(wanted))
      .sort((one, other) => rank(one.state) - rank(other.state));
    rows(this.grid.body, all.slice(0, this.most), (item) => `${item.source} ${item.split}`, () => cells(COLUMNS), (row, item) => {
      const [split, who, kind, position, since] = row.children;
      say(split, item.split);
      say(who, reader(item));
      state(kind, item.state);
      say(position, typeof item.position === "number" ? count(item.position) : item.position);
      say(since, age(item.age));
    });
    const nobodys = this.items.filter((item) => item.state === "unassigned").length;
    say(this.said, `${plural(this.items.length, "partition")}, ${nobodys ? `${count(nobodys)} of them unassigned` : "none unassigned"}`);
    this.more.hidden = all.length <= this.most;
    say(this.more, `${plural(all.length - this.most, "more partition")}: show ${SHOWN} of them`);
  }
}

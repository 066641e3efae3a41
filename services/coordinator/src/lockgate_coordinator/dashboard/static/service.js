// The service's own health: what /readyz says, and some figures of /metrics.
import { Problem, ask, keepLooking } from "./api.js";
import { fill, h, panel } from "./dom.js";
import { count, span } from "./words.js";

const LOOK_MS = 20_000; // a scrape looks at every reader

export function servicePanel(signal) {
  const list = h("dl", { class: "facts" }, fact("Coordinator", "asking …"));
  let before = null;
  keepLooking(async () => {
    const ready = await readiness(signal);
    const figures = await metrics(signal);
    const facts = [fact("Coordinator", ready.words, ready.ok ? "well" : "lost")];
    if (typeof figures === "string") {
      facts.push(fact("Figures", figures));
    } else {
      const now = performance.now();
      const reports = figures.sum("lockgate_reports_total");
      const cpu = figures.sum("process_cpu_seconds_total");
      const passed = before ? (now - before.now) / 1000 : 0;
      const steady = before && reports >= before.reports && cpu >= before.cpu;
      facts.push(
        fact("Store", figures.sum("lockgate_store_up") ? "answers" : "does not answer",
          figures.sum("lockgate_store_up") ? "well" : "lost"),
        fact("Reports", steady ? `${((reports - before.reports) / passed).toFixed(1)} a second` : count(reports)),
        fact("Mean time of a report", mean(figures, "lockgate_report_duration_seconds")),
        fact("Mean time of the store", mean(figures, "lockgate_store_operation_duration_seconds")),
        fact("Refused", count(figures.sum("lockgate_rejections_total"))),
        fact("Streams and long polls", count(figures.sum("lockgate_subscribers"))),
        fact("Processor", steady ? `${(100 * (cpu - before.cpu) / passed).toFixed(1)} % of a core` : "measuring …"),
        fact("Memory", `${Math.round(figures.sum("process_resident_memory_bytes") / 2 ** 20)} MiB`),
      );
      before = { now, reports, cpu };
    }
    fill(list, facts, ready.by ? fact("Answered by", ready.by) : null);
    return before && typeof figures !== "string" && list.dataset.second === undefined
      ? ((list.dataset.second = ""), 5000) : LOOK_MS;
  }, () => "again", signal);
  return panel("The service", h("span", { class: "dim small" }, "of the process that answered"), list);
}

function fact(name, value, tone) {
  return h("div", {}, h("dt", {}, name), h("dd", { "data-tone": tone }, value));
}

async function readiness(signal) {
  try {
    const { headers } = await ask("readyz", { signal });
    return { ok: true, words: "ready", by: headers.get("x-served-by") };
  } catch (error) {
    return { ok: false, words: error instanceof Problem ? error.message : "does not answer" };
  }
}

async function metrics(signal) {
  try {
    return new Figures((await ask("metrics", { signal })).text);
  } catch (error) {
    return error instanceof Problem && error.status === 403 ? "need a token for all groups" : "not there just now";
  }
}

// Prometheus's text format, as far as sums need it.
class Figures {
  constructor(text) {
    this.sums = new Map();
    for (const line of text.split("\n")) {
      if (!line || line.startsWith("#")) continue;
      const name = line.slice(0, line.search(/[ {]/));
      const value = Number(line.slice(line.lastIndexOf(" ") + 1));
      this.sums.set(name, (this.sums.get(name) ?? 0) + value);
    }
  }

  sum(name) { return this.sums.get(name) ?? 0; }
}

function mean(figures, name) {
  const times = figures.sum(`${name}_count`);
  if (!times) return "–";
  const ms = 1000 * figures.sum(`${name}_sum`) / times;
  return ms < 10 ? `${ms.toFixed(2)} ms` : span(ms);
}

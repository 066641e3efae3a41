// The public API of the coordinator, and nothing else. The token stays in this tab's session storage:
// no cookie, so nothing that another site could make the browser send.

const KEY = "lockgate.token";
const TIMEOUT_MS = 15_000;
const SILENT_MS = 45_000; // the service says something at least every 15 s

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `the service answered ${status}`);
    this.status = status;
    this.type = body.type || "about:blank";
  }
}

export const session = {
  caller: null,
  get token() { return sessionStorage.getItem(KEY); },
  set token(token) {
    if (token) sessionStorage.setItem(KEY, token);
    else sessionStorage.removeItem(KEY);
  },
  get admin() { return this.caller?.role === "admin"; },
};

function headers(more = {}) {
  return session.token ? { ...more, Authorization: `Bearer ${session.token}` } : more;
}

async function problemOf(response) {
  let body = {};
  try { body = await response.json(); } catch { /* a proxy's own page */ }
  return new Problem(response.status, body);
}

// Raises Problem for an answer that is none of success, and Error where none came.
export async function ask(path, { method = "GET", body, headers: more = {}, signal } = {}) {
  const limits = [AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])];
  const response = await fetch(path, {
    method, signal: AbortSignal.any(limits), cache: "no-store", credentials: "omit", redirect: "error",
    headers: headers(body === undefined ? more : { "Content-Type": "application/json", ...more }),
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw await problemOf(response);
  const text = await response.text();
  return {
    status: response.status, headers: response.headers, bytes: text.length,
    json: text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : null, text,
  };
}

export const groupPath = (group) => `v1/groups/${encodeURIComponent(group)}`;
export const sourcePath = (group, source) => `${groupPath(group)}/sources/${encodeURIComponent(source)}`;

// A key that no other request has; randomUUID is not there on plain http.
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function pause(ms, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
  });
}

// Calls `look` again and again until `signal`: after what it returns in ms, or at once by `kick`.
// A hidden page asks nothing. After a failure the pauses get longer, up to 10 s.
export function keepLooking(look, failed, signal) {
  let wake = () => {};
  const woken = () => wake();
  document.addEventListener("visibilitychange", woken, { signal });
  (async () => {
    let failures = 0;
    while (!signal.aborted) {
      let wait;
      try {
        wait = await look();
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        wait = Math.min(10_000, 1000 * 2 ** failures++) * (0.75 + Math.random() / 2);
        if (failed(error) === "stop") return;
      }
      const ended = new AbortController();
      wake = () => { if (!document.hidden) ended.abort(); };
      await pause(document.hidden ? 2 ** 30 : wait, AbortSignal.any([signal, ended.signal]));
    }
  })();
  return { kick: woken };
}

// Until somebody can see the page.
function seen(signal) {
  return new Promise((done) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look, { once: true });
    look();
  });
}

// The event stream of a group, over fetch: an EventSource could not send the token. Connects again
// until `signal`; `state` hears "live", "lost" with the reason, and "none" where there is no
// such group.
// A hidden page has none: a browser opens six connections to a service, and each tab's stream takes one.
export async function follow(group, { event, state, signal }) {
  let wait = 500;
  let last = null;
  while (!signal.aborted) {
    await seen(signal);
    const silent = new AbortController();
    const hidden = () => { if (document.hidden) silent.abort(); };
    document.addEventListener("visibilitychange", hidden, { signal });
    let watchdog;
    const heard = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => silent.abort(), SILENT_MS);
    };
    try {
      heard();
      const response = await fetch(`${groupPath(group)}/alignment/events`, {
        signal: AbortSignal.any([signal, silent.signal]), cache: "no-store", credentials: "omit", redirect: "error",
        headers: headers({ Accept: "text/event-stream", ...(last === null ? {} : { "Last-Event-ID": last }) }),
      });
      if (!response.ok) throw await problemOf(response);
      wait = 500;
      state("live");
      let text = "";
      const parts = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await parts.read(); !part.done; part = await parts.read()) {
        heard();
        text += part.value;
        const frames = text.split("\n\n");
        text = frames.pop();
        for (const frame of frames) {
          const lines = frame.split("\n");
          last = lines.find((line) => line.startsWith("id: "))?.slice(4) ?? last;
          const data = lines.find((line) => line.startsWith("data: "));
          if (data) event(JSON.parse(data.slice(6)));
        }
      }
      state("lost", "the coordinator has ended the stream");
    } catch (error) {
      if (signal.aborted) return;
      if (document.hidden) continue;
      const told = error instanceof Problem; // an answer, though not the stream
      if (told && [401, 403].includes(error.status)) return;
      if (told && error.status === 404) state("none");
      else state("lost", told ? error.message : "the coordinator does not answer");
    } finally {
      clearTimeout(watchdog);
      document.removeEventListener("visibilitychange", hidden);
    }
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(10_000, wait * 2);
  }
}

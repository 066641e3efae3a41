// The search runs in a worker, which browsers refuse to pages that come from a disk (file://).
// There its script runs in a frame that nobody sees, behind the same interface.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      const tell = (type, data) => this.tell(type, data);
      this.ready = new Promise((loaded) => {
        inside.postMessage = (data) => tell("message", data);
        inside.importScripts = (...urls) => Promise.all(urls.map((each) => load(new URL(each, url))));
        const load = (address) =>
          new Promise((done, failed) => {
            const script = inside.document.createElement("script");
            Object.assign(script, { src: address, onload: done, onerror: failed });
            inside.document.body.append(script);
          });
        loaded(load(new URL(url, location)));
      });
    }
    tell(type, data) {
      const event = new MessageEvent(type, { data });
      this.dispatchEvent(event);
      this["on" + type]?.(event);
    }
    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => {
        const event = new inside.MessageEvent("message", { data });
        inside.dispatchEvent(event);
        inside.onmessage?.(event);
      });
    }
    terminate() {
      this.frame.remove();
    }
  };
}

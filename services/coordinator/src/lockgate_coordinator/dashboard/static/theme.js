// Light or dark before the first paint: what was chosen here, else what the system prefers.
(function () {
  const key = "lockgate.theme";
  let chosen = null;
  try { chosen = localStorage.getItem(key); } catch { /* storage may be forbidden */ }
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  function apply() {
    root.dataset.theme = chosen || (system.matches ? "dark" : "light");
    dispatchEvent(new Event("lockgate:theme"));
  }
  system.addEventListener("change", apply);
  addEventListener("lockgate:toggle-theme", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(key, chosen); } catch { /* then it lasts until the tab is closed */ }
    apply();
  });
  apply();
})();

// Elements out of tags, properties and children. Each text becomes a text node, never HTML.

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// Writes only what differs, so that a selection and a screen reader are left in peace.
export function say(element, text) {
  const words = text === null || text === undefined ? "" : String(text);
  if (element.textContent !== words) element.textContent = words;
}

export function give(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

// The rows of a table body by their keys: a row that stays keeps its element, and with it the focus.
export function rows(body, items, keyOf, make, update) {
  const before = new Map([...body.children].map((row) => [row.dataset.key, row]));
  let place = body.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let row = before.get(key);
    if (row === undefined) {
      row = make(item);
      row.dataset.key = key;
    }
    before.delete(key);
    if (row === place) place = place.nextElementSibling;
    else body.insertBefore(row, place);
    update(row, item);
  }
  for (const row of before.values()) row.remove();
}

// A table with a caption for screen readers; columns: [{name, class, explain}]
export function table(caption, columns) {
  const head = h("tr", {}, columns.map((column) =>
    h("th", { scope: "col", class: column.class, title: column.explain }, column.name)));
  const body = h("tbody");
  const whole = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, head), body));
  return { whole, body, columns };
}

export function cells(columns) {
  return h("tr", {}, columns.map((column, place) => h(place ? "td" : "th", {
    class: column.class, scope: place ? null : "row", "data-label": column.name })));
}

export function panel(title, note, ...children) {
  const id = `panel-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return h("section", { class: "panel", "aria-labelledby": id },
    h("div", { class: "panel-head" }, h("h2", { id }, title), note), children);
}

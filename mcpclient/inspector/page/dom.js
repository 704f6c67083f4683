// @ts-check
// Elements. Whatever a server says reaches the page through `el` or `plain`, as text.

import { cut, plain } from "./text.js";

const MAX_TEXT_LENGTH = 5000;

/**
 * Make an element. `about` has attributes; also `class`, `on` with listeners, and properties that
 * are not attributes (`value`, `checked`, `disabled`, `hidden`). Strings among the children are
 * text.
 */
export function el(tag, about = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value))
        element.addEventListener(event, listener);
    } else if (["value", "checked", "disabled", "hidden", "tabIndex", "rows"].includes(name)) {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : plain(value));
    }
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(3)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : plain(child));
  }
}

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Return the head of what is shown: its title, and buttons. */
export function head(title, ...others) {
  return el("header", { class: "subject" }, el("h2", { dir: "auto" }, cut(title, 300)), others);
}

/** Return a form that is sent by its button, by Enter in a line, and by Ctrl+Enter anywhere. */
export function formOf(send, ...children) {
  const submit = (event) => (event.preventDefault(), send());
  const keydown = (event) =>
    event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event);
  return el("form", { novalidate: true, on: { submit, keydown } }, children);
}

/** Return buttons in a row. */
export function buttonRow(...buttons) {
  return el("div", { class: "buttons" }, buttons);
}

/** Return a control below its label. */
export function withLabel(label, control) {
  control.id ||= freshId();
  return el("div", { class: "field" }, el("label", { for: control.id }, label), control);
}

/** Return a line about what is shown. */
export function quiet(...said) {
  return el("p", { class: "quiet" }, said);
}

/** Return an element for a text; of a long one it shows the beginning, and more on demand. */
export function longText(text, about = {}) {
  const shown = plain(cut(text, MAX_TEXT_LENGTH));
  const block = el("pre", { class: "text", dir: "auto", tabindex: "0", ...about }, shown);
  if (text.length <= MAX_TEXT_LENGTH) return block;
  let end = MAX_TEXT_LENGTH;
  const more = el("button", { on: { click: showMore } });
  const describe = () =>
    `Show more (${end.toLocaleString()} of ${text.length.toLocaleString()} characters)`;
  function showMore() {
    const next = Math.min(end * 4, text.length);
    block.textContent = plain(cut(text.slice(0, next), next)) + (next < text.length ? "…" : "");
    end = next;
    if (end === text.length) more.remove();
    else more.textContent = describe();
  }
  more.textContent = describe();
  return el("div", {}, block, more);
}

/** Announce something to screen readers. */
export function announce(text) {
  byId("news").textContent = plain(cut(text, 200));
}

/** A button that copies what `make` returns, and says that it has. */
export function copyButton(label, make, kind = "") {
  const button = el("button", { type: "button", class: kind || undefined }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(make());
      button.textContent = "Copied";
      announce(`${label}: copied`);
    } catch {
      button.textContent = "The browser did not allow it";
    }
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

/** Run the latest call of a function once, when no other has come for `milliseconds`. */
export function calm(milliseconds, work) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

/** Return the element of the document with this id. */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** Return the first element of the document that fits, or null. */
export function first(selector) {
  return /** @type {HTMLElement | null} */ (document.querySelector(selector));
}

/** Return the elements of the document that fit. */
export function every(selector) {
  return /** @type {HTMLElement[]} */ ([...document.querySelectorAll(selector)]);
}

/** Give the focus to the first control in an element of the document, if there is one. */
export function focusIn(selector, controls = "input, textarea, select, button, a") {
  first(`${selector} :is(${controls})`)?.focus();
}

let lastId = 0;

/** Return an id that no element has yet. */
export function freshId() {
  lastId += 1;
  return `e${lastId}`;
}

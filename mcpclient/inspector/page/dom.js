// @ts-check
// Elements. Whatever a server says reaches the page through `el` or `plain`, as text.

import { cut, plain } from "./text.js";

const MAX_TEXT_LENGTH = 5000;

const PROPERTIES = ["value", "checked", "disabled", "hidden", "tabIndex", "rows"];

/**
 * Make an element. `about` has attributes; also `class`, `on` with listeners, and properties that
 * are not attributes (`value`, `checked`, `disabled`, `hidden`). Strings among the children are
 * text.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {About} about
 * @param {Child[]} children
 */
export function el(tag, about = {}, ...children) {
  const element = document.createElement(tag);
  const { on = {}, ...others } = about;
  const listeners = /** @type {[string, EventListener][]} */ (Object.entries(on));
  for (const [event, listener] of listeners) element.addEventListener(event, listener);
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined || value === null || value === false) continue;
    if (PROPERTIES.includes(name)) Object.assign(element, { [name]: value });
    else {
      element.setAttribute(name, value === true ? "" : plain(value));
    }
  }
  append(element, children);
  return element;
}

export function append(/** @type {Element} */ element, /** @type {Child[]} */ children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== undefined && child !== null && child !== false) element.append(plain(child));
  }
}

/** Replace the children of an element. */
/** @template {Element} E @param {E} element @param {Child[]} children */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Return the head of what is shown: its title, and buttons. */
export function head(/** @type {string} */ title, /** @type {Child[]} */ ...others) {
  return el("header", { class: "subject" }, el("h2", { dir: "auto" }, cut(title, 300)), others);
}

/** Return a form that is sent by its button, by Enter in a line, and by Ctrl+Enter anywhere. */
export function formOf(/** @type {Work} */ send, /** @type {Child[]} */ ...children) {
  const submit = (/** @type {Event} */ event) => (event.preventDefault(), send());
  const keydown = (/** @type {KeyboardEvent} */ event) =>
    event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event);
  return el("form", { novalidate: true, on: { submit, keydown } }, children);
}

/** Return buttons in a row. */
export function buttonRow(/** @type {Child[]} */ ...buttons) {
  return el("div", { class: "buttons" }, buttons);
}

/** Return a control below its label. */
export function withLabel(/** @type {string} */ label, /** @type {Control} */ control) {
  control.id ||= freshId();
  return el("div", { class: "field" }, el("label", { for: control.id }, label), control);
}

/** Return a line about what is shown. */
export function quiet(/** @type {Child[]} */ ...said) {
  return el("p", { class: "quiet" }, said);
}

/** Return an element for a text; of a long one it shows the beginning, and more on demand. */
export function longText(/** @type {string} */ text, /** @type {About} */ about = {}) {
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
export function announce(/** @type {string} */ text) {
  byId("news").textContent = plain(cut(text, 200));
}

/** A button that copies what `make` returns, and says that it has. */
/** @param {string} label @param {() => string} make */
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
export function calm(/** @type {number} */ milliseconds, /** @type {Work} */ work) {
  let timer = /** @type {number | undefined} */ (undefined);
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

/** Return the element of the document with this id. */
export function byId(/** @type {string} */ id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** Return the first element of the document that fits, or null. */
export function first(/** @type {string} */ selector) {
  return /** @type {HTMLElement | null} */ (document.querySelector(selector));
}

/** Return the elements of the document that fit. */
export function every(/** @type {string} */ selector) {
  return /** @type {HTMLElement[]} */ ([...document.querySelectorAll(selector)]);
}

/** Give the focus to the first control in an element of the document, if there is one. */
export function focusIn(
  /** @type {string} */ selector,
  controls = "input, textarea, select, button, a",
) {
  first(`${selector} :is(${controls})`)?.focus();
}

let lastId = 0;

/** Return an id that no element has yet. */
export function freshId() {
  lastId += 1;
  return `e${lastId}`;
}

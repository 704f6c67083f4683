// Elements and texts. Whatever a server says reaches the page through `el` or `plain`, as text.

// Characters that would be invisible, or change the order in which others are shown.
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
const MAX_TEXT_LENGTH = 20000;

/** Return a string with its control and invisible characters written out. */
function plain(text) {
  return textOf(text)
    .replace(/\r\n/g, "\n")
    .replace(UNSAFE, (character) => {
      const code = character.codePointAt(0);
      if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
      return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
    });
}

/** Return a value of a server as a string; the conversion of an object may throw. */
function textOf(value) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Return the string, cut to `limit` characters. */
function cut(text, limit) {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

/**
 * Make an element. `about` has attributes; also `class`, `on` with listeners, and properties that
 * are not attributes (`value`, `checked`, `disabled`, `hidden`). Children that are strings are text.
 */
function el(tag, about = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (["value", "checked", "disabled", "hidden", "tabIndex", "rows"].includes(name)) {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : plain(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(3)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : plain(child));
  }
}

/** Replace the children of an element. */
function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Return an element for a text of any length: a long one shows its beginning, and more on demand. */
function longText(text, about = {}) {
  const shown = plain(cut(text, MAX_TEXT_LENGTH));
  const block = el("pre", { class: "text", dir: "auto", tabindex: "0", ...about }, shown);
  if (text.length <= MAX_TEXT_LENGTH) return block;
  let end = MAX_TEXT_LENGTH;
  const more = el("button", { on: { click: showMore } });
  const describe = () => `Show more (${end.toLocaleString()} of ${text.length.toLocaleString()} characters)`;
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

function sized(characters) {
  if (characters < 1000) return `${characters} B`;
  return characters < 1e6 ? `${(characters / 1000).toFixed(1)} kB` : `${(characters / 1e6).toFixed(1)} MB`;
}

function lasted(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  return milliseconds < 10000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** Announce something to screen readers. */
function announce(text) {
  document.getElementById("news").textContent = plain(cut(text, 200));
}

/** A button that copies what `make` returns, and says that it has. */
function copyButton(label, make) {
  const button = el("button", { type: "button" }, label);
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
function calm(milliseconds, work) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

let lastId = 0;
/** Return an id that no element has yet. */
function freshId() {
  lastId += 1;
  return `e${lastId}`;
}

/** An error as the server of the page describes it: what happened, and what to do. */
function errorBox(error) {
  return el(
    "div",
    { class: "problem", role: "note" },
    el("strong", {}, error.type || "Error"),
    el("p", { dir: "auto" }, cut(textOf(error.text), 4000)),
    error.hint && el("p", { class: "hint", dir: "auto" }, error.hint),
    error.data !== undefined && error.data !== null && jsonTree(error.data, "data"),
  );
}

// @ts-check
// The result of a call: its content for people, and all of it as a tree.

import { go } from "./events.js";
import { buttonRow, copyButton, el, fill, longText, quiet } from "./dom.js";
import { cut, indented, jsonText, sized, textOf } from "./text.js";
import { errorBox, jsonTree } from "./tree.js";

const SHOWN_IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const HEARD_SOUNDS = ["audio/wav", "audio/mpeg", "audio/ogg", "audio/mp3", "audio/webm"];

const blobs = /** @type {string[]} */ ([]);

/** Return an element for the outcome of a call: `{result, warnings}` or `{error}`. */
export function outcomeView(/** @type {Outcome} */ outcome) {
  for (const url of blobs.splice(0)) URL.revokeObjectURL(url);
  if (outcome.error) return errorBox(outcome.error);
  const result = outcome.result ?? {};
  const parts = /** @type {Child[]} */ ([]);
  if (result.isError === true)
    parts.push(el("p", { class: "problem" }, "The tool says that it failed."));
  for (const warning of outcome.warnings ?? [])
    parts.push(el("p", { class: "warning", dir: "auto" }, warning));
  const { structuredContent: structured, content } = result;
  if (structured !== undefined) {
    parts.push(
      el("h3", { class: "part" }, "Structured content"),
      jsonTree(structured, "Structured content"),
    );
  }
  if (Array.isArray(content)) {
    const same = content.filter((block) => isTextOf(block, structured));
    parts.push(
      someOf(
        content.filter((block) => !same.includes(block)),
        contentView,
      ),
    );
    if (same.length)
      parts.push(
        el("details", {}, el("summary", {}, "The same as text"), someOf(same, contentView)),
      );
  }
  if (Array.isArray(result.contents)) parts.push(someOf(result.contents, resourceView));
  if (Array.isArray(result.messages)) parts.push(someOf(result.messages, messageView));
  const hasParts = parts.length > 0;
  const whole = el("details", { open: !hasParts }, el("summary", {}, "The whole result"));
  const show = () =>
    whole.open && whole.childElementCount === 1 && whole.append(jsonTree(result, "Result", 2));
  whole.addEventListener("toggle", show);
  show();
  const copy = copyButton("Copy result", () => jsonText(result, 2), "small");
  return el("div", { class: "outcome" }, parts, whole, buttonRow(copy));
}

/** Whether a content block is the text of the structured content. */
function isTextOf(/** @type {Block} */ block, /** @type {unknown} */ structured) {
  if (structured === undefined || block?.type !== "text") return false;
  try {
    return jsonText(JSON.parse(textOf(block.text))) === jsonText(structured);
  } catch {
    return false;
  }
}

const MAX_PARTS = 200;

/** Return the first parts of a result, and the number of the others. */
/** @param {Block[]} parts @param {(part: Block) => Child} view */
function someOf(parts, view) {
  const left = parts.length - MAX_PARTS;
  const more = left > 0 && quiet(`${left.toLocaleString()} more are in the whole result.`);
  return [...parts.slice(0, MAX_PARTS).map(view), more];
}

function contentView(/** @type {Block} */ block) {
  if (!block || typeof block !== "object")
    return el("p", { class: "warning" }, "An entry is not a content block.");
  if (block.type === "text") return jsonOrText(textOf(block.text));
  if (block.type === "image" || block.type === "audio")
    return mediaView(block.data, block.mimeType);
  if (block.type === "resource" && block.resource) return resourceView(block.resource);
  if (block.type === "resource_link") {
    return el(
      "p",
      {},
      el(
        "button",
        { class: "link", on: { click: () => go("offer", "resources", textOf(block.uri)) } },
        cut(textOf(block.uri), 300),
      ),
      ` ${cut(textOf(block.title ?? block.name), 300)}`,
    );
  }
  return jsonTree(block, "Content");
}

/** A text; one that is JSON is indented, and shown as it came on demand. */
function jsonOrText(/** @type {string} */ text) {
  const lines = indented(text);
  if (lines === text) return longText(text);
  const holder = el("div", {}, longText(lines));
  const button = el("button", { type: "button", class: "small", "aria-pressed": "false" });
  button.textContent = "As it came";
  button.addEventListener("click", () => {
    const isRaw = button.getAttribute("aria-pressed") === "false";
    button.setAttribute("aria-pressed", String(isRaw));
    fill(holder, longText(isRaw ? text : lines));
  });
  return el("div", { class: "json" }, holder, button);
}

export function messageView(/** @type {Block} */ message) {
  const blocks = Array.isArray(message?.content) ? message.content : [message?.content];
  return el(
    "div",
    { class: "message" },
    el("h3", { class: "part" }, cut(textOf(message?.role) || "?", 100)),
    someOf(blocks, contentView),
  );
}

function resourceView(/** @type {Block} */ resource) {
  const about = el(
    "h3",
    { class: "part" },
    cut(textOf(resource?.uri), 300),
    " ",
    el("span", { class: "quiet" }, cut(textOf(resource?.mimeType), 100)),
  );
  if (typeof resource?.blob === "string")
    return el("div", {}, about, mediaView(resource.blob, resource.mimeType));
  return el("div", {}, about, jsonOrText(textOf(resource?.text)));
}

/** Bytes in the page, shown if the browser can do so without running anything. */
function mediaView(/** @type {unknown} */ base64, /** @type {unknown} */ type) {
  const kind = textOf(type);
  let bytes;
  try {
    bytes = Uint8Array.from(atob(textOf(base64)), (character) => character.charCodeAt(0));
  } catch {
    return el("p", { class: "warning" }, "The data is not base64.");
  }
  const isImage = SHOWN_IMAGES.includes(kind);
  const url = URL.createObjectURL(
    new Blob([bytes], {
      type: isImage || HEARD_SOUNDS.includes(kind) ? kind : "application/octet-stream",
    }),
  );
  blobs.push(url);
  const save = el(
    "a",
    { href: url, download: "content", class: "button" },
    `Save (${sized(bytes.length)}, ${cut(kind, 80) || "of unknown type"})`,
  );
  if (isImage)
    return el("figure", {}, el("img", { src: url, alt: "Image that the server returned" }), save);
  if (HEARD_SOUNDS.includes(kind))
    return el("figure", {}, el("audio", { src: url, controls: true }), save);
  return el("p", {}, save);
}

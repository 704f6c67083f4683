// @ts-check
// One record of the wire: its message as a tree, its bytes, and what can be done with it.

import { go } from "./events.js";
import { replay } from "./calls.js";
import { copyButtons } from "./copying.js";
import { copyButton, el, longText } from "./dom.js";
import { mayCall } from "./store.js";
import { cut, indented, jsonText, sized, textOf, timeOfDay } from "./text.js";
import { jsonTree } from "./tree.js";
import { faultList } from "./verdict.js";

/**
 * Return the elements that show a record. `row`: its row, if that is kept; `block`: the lines of
 * stderr around it; `close` ends the view.
 * @param {number} number
 * @param {Row | undefined} row
 * @param {WireRecord} record
 * @param {{ lines: string[] } | null} block
 * @param {Work} close
 * @returns {Child[]}
 */
export function recordParts(number, row, record, block, close) {
  const message = messageIn(record);
  const about = [record.direction ?? "header", record.channel ?? "", sized(row?.size ?? 0)];
  if (row?.at) about.unshift(timeOfDay(row.at));
  return [
    el(
      "header",
      {},
      el("h3", {}, `#${number}`),
      el("span", { class: "quiet" }, about.filter(Boolean).join(" · ")),
      el("span", { class: "grow" }),
      partnerButton(row),
      copyButton("Copy", () => jsonText(record, 2), "small"),
      el(
        "button",
        { class: "small", "aria-label": "Close the record", title: "Escape", on: { click: close } },
        "✕",
      ),
    ),
    row && faultList(row.faults),
    row?.level && el("p", { class: `logged at-${row.level}` }, levelBadge(row), logText(message)),
    record.direction === "sent" && requestButtons(message),
    block ? blockView(block.lines, record.text) : textView(record),
    message !== null && jsonTree(message, "Message", 3),
    jsonTree(readable(record, message), "Record", message === null || record.http ? 3 : 1),
  ];
}

function partnerButton(/** @type {Row | undefined} */ row) {
  const partner = row?.partner ?? null;
  if (!row || partner === null) return null;
  const label = partner < row.number ? "Its request" : "Its response";
  return el("button", { class: "small", on: { click: () => go("record", partner) } }, label);
}

function levelBadge(/** @type {Row} */ row) {
  return el("span", { class: "badge" }, cut(row.level, 20));
}

function logText(/** @type {Message | null} */ message) {
  const data = message?.params?.data;
  return el("span", { class: "pre", dir: "auto" }, cut(textOf(data), 20000));
}

/** Lines of stderr as one block, as a traceback is read. */
function blockView(/** @type {string[]} */ lines, /** @type {unknown} */ chosen) {
  return el(
    "pre",
    { class: "text stderr", tabindex: "0" },
    lines.map((line) => [line === chosen ? el("mark", {}, line || " ") : line, "\n"]),
  );
}

/** A line or a body that is not a message, as it came. */
function textView(/** @type {WireRecord} */ record) {
  if (typeof record.base64 === "string") return longText(bytesAsText(record.base64));
  if (typeof record.text !== "string" || messageIn(record) !== null) return null;
  return longText(indented(record.text));
}

/** Return bytes as text; those that are not printable ASCII are written out. */
function bytesAsText(/** @type {string} */ base64) {
  const written = (/** @type {string} */ character) =>
    `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  try {
    return atob(base64).replace(/[^\t\n\x20-\x7e]/g, written);
  } catch {
    return base64;
  }
}

/** @returns {Message | null} */
function messageIn(/** @type {WireRecord} */ record) {
  if (record.message !== undefined) return record.message;
  let data = record.event?.data ?? record.text;
  if (typeof data === "string" && /^[[{]/.test(data)) {
    try {
      data = JSON.parse(data); // JSON that is not written compactly stands there as it came
    } catch {
      return null;
    }
  }
  return data !== null && typeof data === "object" ? data : null;
}

/** Return the other fields of a record, its headers as lines. */
function readable(/** @type {WireRecord} */ record, /** @type {Message | null} */ message) {
  const { message: _, ...others } = record;
  /** @type {WireRecord} */
  const shownRecord = message === null ? { ...record } : others;
  if (message !== null && record.event) shownRecord.event = { ...record.event, data: "…" };
  const headers = record.http?.headers;
  if (Array.isArray(headers)) {
    shownRecord.http = {
      ...record.http,
      headers: headers.map((pair) => (Array.isArray(pair) ? pair.join(": ") : pair)),
    };
  }
  return shownRecord;
}

function requestButtons(/** @type {Message | null} */ message) {
  const method = message?.id !== undefined && message.method;
  if (typeof method !== "string") return null;
  const { _meta, ...params } = message?.params ?? {};
  const copies = copyButtons(() => [method, params]);
  if (mayCall() && !["initialize", "server/discover"].includes(method)) {
    copies.prepend(
      el("button", { on: { click: () => replay(method, params) } }, "Replay"),
      el("button", { on: { click: () => go("edit", method, params) } }, "Edit and replay"),
    );
  }
  return copies;
}

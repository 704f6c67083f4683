// @ts-check
// One record of the wire: its message as a tree, its bytes, and what can be done with it.

import { editAgain, replay } from "./calls.js";
import { copyButtons } from "./copying.js";
import { el } from "./dom.js";
import { mayCall } from "./store.js";
import { sized } from "./text.js";
import { jsonTree } from "./tree.js";

/**
 * Return the elements that show a record. `row`: its row, if that is loaded; `goTo` shows another
 * record, `close` ends this one.
 */
export function recordParts(number, row, record, { goTo, close }) {
  const partner = row?.[7] ?? null;
  const message = messageIn(record);
  const about = [record.direction ?? "header", record.channel ?? "", sized(row?.[6] ?? 0)];
  return [
    el(
      "header",
      {},
      el("strong", {}, `#${number}`),
      el("span", { class: "quiet" }, about.join(" · ")),
      el("span", { class: "grow" }),
      partner !== null &&
        el("button", { class: "small", on: { click: () => goTo(partner) } }, "Its request"),
      el(
        "button",
        {
          class: "small",
          "aria-label": "Close the record",
          title: "Escape",
          on: { click: close },
        },
        "✕",
      ),
    ),
    isRequest(message) && record.direction === "sent" && requestButtons(message),
    message !== null && jsonTree(message, "Message", 3),
    jsonTree(readable(record, message), "Record", message === null || record.http ? 3 : 1),
  ];
}

function messageIn(record) {
  if (record.message !== undefined) return record.message;
  const data = record.event?.data;
  return data !== null && typeof data === "object" ? data : null;
}

/** Return the other fields of a record, its headers as lines. */
function readable(record, message) {
  const { message: _, ...others } = record;
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

function isRequest(message) {
  return message !== null && typeof message?.method === "string" && message.id !== undefined;
}

function requestButtons(message) {
  const { _meta, ...params } = message.params ?? {};
  const copies = copyButtons(() => [message.method, params]);
  if (mayCall() && !["initialize", "server/discover"].includes(message.method)) {
    copies.prepend(
      el("button", { on: { click: () => replay(message.method, params) } }, "Replay"),
      el("button", { on: { click: () => editAgain(message.method, params) } }, "Edit and replay"),
    );
  }
  return copies;
}

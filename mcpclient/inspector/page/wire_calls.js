// @ts-check
// Calls that were made by others than this page: those of a recording, or of the program that the
// page is attached to, as they stand on the wire.

import { get } from "./api.js";
import { callButton, replay } from "./calls.js";
import { copyButtons } from "./copying.js";
import { showDetail } from "./detail.js";
import { el, head, quiet } from "./dom.js";
import { changed, go } from "./events.js";
import { known, mayCall } from "./store.js";
import { lasted, textOf } from "./text.js";
import { jsonTree } from "./tree.js";
import { countedFaults, faultList } from "./verdict.js";
import { wireOf } from "./wire_rows.js";

// What a page asks by itself, or a client does around calls.
const BACKGROUND = new Set([
  ...["initialize", "server/discover", "ping", "completion/complete", "logging/setLevel"],
  ...["tools/list", "resources/list", "resources/templates/list", "prompts/list", "tasks/list"],
  ...["tasks/get", "tasks/result", "subscriptions/listen"],
]);
const MAX_WIRE_CALLS = 1000;

const fetched = /** @type {Map<string, WireCall[]>} */ (new Map()); // by server

/** Whether a call is one that the user wanted. */
export function isWanted(/** @type {{ method: string }} */ call) {
  return !BACKGROUND.has(call.method);
}

/** Fetch the calls on the wire of a server. */
export async function loadWireCalls(/** @type {string} */ name) {
  try {
    const { calls } = await get("/api/calls", { server: name });
    fetched.set(name, calls.filter(isWanted).slice(-MAX_WIRE_CALLS));
    changed("call");
  } catch {
    // no call has been recorded yet
  }
}

/** Return the calls on the wire of a server that this page has not made, the latest last. */
export function wireCalls(/** @type {string} */ name) {
  const { spans } = wireOf(name);
  return (fetched.get(name) ?? []).filter(({ number }) => !spans.get(number)?.call);
}

/** Show a call that is on the wire, and buttons to make it again. */
export function showWireCall(/** @type {string} */ key, /** @type {WireCall} */ call) {
  const { number, method, params, outcome, seconds } = call;
  const faults = wireOf(known.chosen).spans.get(number)?.faults ?? [];
  const { _meta, ...others } = params ?? {};
  const subjectName = textOf(others.name ?? others.uri);
  showDetail(
    ["wirecall", key],
    head(
      subjectName || method,
      mayCall() && callButton("Replay", () => replay(method, others)),
      mayCall() && el("button", { on: { click: () => go("edit", method, others) } }, "Edit"),
    ),
    el("p", { class: "subtitle" }, method, " · ", seconds === null ? "" : lasted(seconds * 1000)),
    faults.length > 0 && el("p", { class: "bad" }, countedFaults(faults.length)),
    faultList(faults),
    el("h3", {}, "Params"),
    jsonTree(others, "Params", 3),
    el("h3", {}, "Outcome"),
    outcome === null ? quiet("No answer.") : jsonTree(outcome, "Outcome", 3),
    copyButtons(() => [method, others]),
  );
}

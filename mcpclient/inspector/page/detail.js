// @ts-check
// The middle pane: one thing at a time, which the address names, so that Back and a reload find it.

import { byId, fill } from "./dom.js";
import { known } from "./store.js";
import { factsOf } from "./text.js";
import { errorBox } from "./tree.js";

let current = "";
let isRestoring = false;

/** Show something, under its kind and its key, such as `tools` and `echo`. */
/** @param {[kind: string, key: string]} place @param {Child[]} children */
export function showDetail(place, ...children) {
  const [kind, key] = place;
  const before = current;
  current = JSON.stringify([known.chosen, kind, key]);
  fill(byId("detail"), children);
  byId("subject").scrollTop = 0;
  if (!before || before === current || isRestoring || kind === "replay") return;
  const address = new URLSearchParams({ server: known.chosen });
  if (kind !== "server") address.set(kind, key);
  if (location.hash !== `#${address}`) history.pushState(null, "", `#${address}`);
}

/** Whether this is what the pane shows. */
/** @param {[kind: string, key: string]} place */
export function isShowing(place) {
  return current === JSON.stringify([known.chosen, ...place]);
}

const KINDS_WITH_ADDRESS = ["tools", "resources", "templates", "prompts", "call"];

/** Return what the address names: `{server, kind, key, record}`. */
export function addressed() {
  const place = new URLSearchParams(location.hash.slice(1));
  const kind = KINDS_WITH_ADDRESS.find((each) => place.has(each)) ?? "server";
  const server = place.get("server") ?? "";
  const record = place.get("record");
  const key = (kind !== "server" && place.get(kind)) || "";
  return { server, kind, key, record: record === null ? null : Number(record) };
}

/** Name a record in the address, or none. */
export function addressRecord(/** @type {number | null} */ number) {
  const place = new URLSearchParams(location.hash.slice(1));
  if (number === null) place.delete("record");
  else place.set("record", String(number));
  if (isRestoring || (number === null && !location.hash)) return;
  history.replaceState(null, "", `#${place}`);
}

/** Do something that the address names already. */
export function restoring(/** @type {Work} */ work) {
  isRestoring = true;
  try {
    work();
  } finally {
    isRestoring = false;
  }
}

/** Show a failure above what is shown. */
export function prependProblem(/** @type {unknown} */ error) {
  byId("detail").prepend(errorBox(factsOf(error)));
}

// @ts-check
// The middle pane: one thing at a time, which has an address.

import { byId, fill } from "./dom.js";
import { errorBox } from "./tree.js";

let current = "";

/** Show something; `what` says what it is, such as `tools echo` or `call 3`. */
export function showDetail(what, ...children) {
  current = what;
  fill(byId("detail"), children);
}

/** Whether this is what the pane shows. */
export function isShowing(what) {
  return current === what;
}

/** Show a failure above what is shown. */
export function prependProblem(error) {
  byId("detail").prepend(errorBox(error.facts ?? { text: error.message }));
}

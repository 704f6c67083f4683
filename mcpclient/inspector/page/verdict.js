// @ts-check
// The judgement of the server: the violations of the protocol, in the words of the program.

import { el } from "./dom.js";
import { cut } from "./text.js";

const MAX_FAULTS = 50;

/** Return the first of some faults as one line. */
export function faultsText(/** @type {Fault[]} */ faults) {
  const more = faults.length > 1 ? ` (and ${(faults.length - 1).toLocaleString()} more)` : "";
  return `${cut(faults[0][1], 300)}${more}`;
}

/** Return how many violations there are, in words. */
export function countedFaults(/** @type {number} */ count) {
  return count === 1 ? "1 violation" : `${count.toLocaleString()} violations`;
}

/** Return the list of the violations in a message or a list's entry, or null. */
export function faultList(/** @type {Fault[]} */ faults) {
  if (!faults.length) return null;
  return el(
    "ul",
    { class: "problem faults", "aria-label": countedFaults(faults.length) },
    faults
      .slice(0, MAX_FAULTS)
      .map(([code, text, clause]) =>
        el("li", { dir: "auto" }, cut(text, 600), " ", el("code", { title: clause }, code)),
      ),
  );
}

/** What the marks and the lanes mean. */
export function legend() {
  const words = [
    "Each record has a mark under the button of the side that it comes from.",
    "A square is a request, a ring a notification, a dot an answer; ⚠ is a violation.",
  ];
  return el(
    "details",
    { class: "recordsonly quiet" },
    el("summary", {}, "Legend"),
    words.join(" "),
  );
}

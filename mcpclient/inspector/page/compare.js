// @ts-check
// Two sessions side by side: the tools they offer, and the calls that were made in them.

import { get } from "./api.js";
import { showDetail } from "./detail.js";
import { comparedCalls, comparedTools } from "./differences.js";
import { el, fill, freshId, head, quiet } from "./dom.js";
import { known } from "./store.js";
import { cut, lasted } from "./text.js";
import { attempt } from "./tree.js";

export function showCompare() {
  const names = [...known.servers.keys()];
  const choose = (/** @type {string} */ label, /** @type {number} */ index) => {
    const select = el(
      "select",
      { id: freshId(), on: { change: compare } },
      names.map((name) => el("option", { value: name }, name)),
    );
    select.value = names[Math.min(index, names.length - 1)];
    return { select, field: [el("label", { for: select.id }, label), select] };
  };
  const [left, right] = [choose("Before", 0), choose("After", 1)];
  const place = el("div", { class: "comparison" });
  async function compare() {
    fill(place, quiet("Comparing…"));
    await attempt(place, async () => {
      const names = [left.select.value, right.select.value];
      const lists = await Promise.all(names.map((server) => get("/api/lists", { server })));
      const calls = await Promise.all(names.map((server) => get("/api/calls", { server })));
      fill(
        place,
        el("h3", {}, "Tools"),
        toolChanges(comparedTools(lists[0].tools, lists[1].tools)),
        el("h3", {}, "Calls"),
        callChanges(comparedCalls(calls[0].calls, calls[1].calls)),
      );
    });
  }
  showDetail(
    ["compare", ""],
    head("Compare"),
    el("div", { class: "choices" }, left.field, right.field),
    place,
  );
  compare();
}

/** @type {Record<string, string>} */
const SIGNS = { added: "+", removed: "−", changed: "~", same: "=" };

function sign(/** @type {string} */ change) {
  return el(
    "span",
    { class: `sign ${change}`, title: change },
    SIGNS[change],
    el("span", { class: "unseen" }, change),
  );
}

function toolChanges(/** @type {ReturnType<typeof comparedTools>} */ tools) {
  if (!tools.length) return quiet("Both offer the same tools.");
  return el(
    "ul",
    { class: "changes" },
    tools.slice(0, 1000).map((tool) => changeItem(tool.change, tool.name, "", tool.differences)),
  );
}

function callChanges(/** @type {ReturnType<typeof comparedCalls>} */ calls) {
  if (!calls.length) return quiet("No calls were made.");
  return el(
    "ul",
    { class: "changes" },
    calls.slice(0, 1000).map((call) => {
      const took = [call.left, call.right].map((side) =>
        side === null || side.seconds === null ? "–" : lasted(side.seconds * 1000),
      );
      return changeItem(
        call.change,
        `${call.method} ${call.name}`.trim(),
        took.join(" → "),
        call.differences,
      );
    }),
  );
}

/**
 * @param {string} change
 * @param {string} title
 * @param {string} note
 * @param {Difference[]} differences
 */
function changeItem(change, title, note, differences) {
  const heading = [
    sign(change),
    el("span", { class: "what" }, cut(title, 300)),
    el("span", { class: "quiet" }, note),
  ];
  if (!differences.length) return el("li", {}, heading);
  return el(
    "li",
    {},
    el(
      "details",
      { open: differences.length <= 4 },
      el("summary", {}, heading),
      differences.map(differenceView),
    ),
  );
}

function differenceView(/** @type {Difference} */ [path, before, after]) {
  const side = (/** @type {string} */ name, /** @type {unknown} */ value) =>
    value !== null &&
    el(
      "pre",
      { class: `side ${name}`, dir: "auto" },
      typeof value === "string" ? cut(value, 2000) : JSON.stringify(value),
    );
  return el(
    "div",
    { class: "difference" },
    el("code", {}, cut(path, 300)),
    side("removed", before),
    side("added", after),
  );
}

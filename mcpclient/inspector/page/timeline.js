// @ts-check
// The requests over time: a bar for each, in a table, so that every fact is text as well.

import { el, fill } from "./dom.js";
import { go } from "./events.js";
import { known } from "./store.js";
import { cut, lasted } from "./text.js";
import { countedFaults } from "./verdict.js";
import { wireOf } from "./wire_rows.js";

const MAX_BARS = 300;
const MAX_DOTS = 100;
/** @type {Record<string, string>} */
const STATES = {
  running: "running",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
  lost: "no answer",
};

/** The window that is shown, in seconds; null: all. */
const zoom = { from: /** @type {number | null} */ (null), to: /** @type {number | null} */ (null) };
/** @typedef {{ from: number, to: number, length: number }} Frame */

const axis = el("div", { class: "axis", title: "Drag to zoom, and to see these records only" });
const body = el("tbody");
const note = el("p", { class: "quiet" });
const latencies = el("div");

/** @param {string} label @param {string} title @param {Work} click */
function zoomButton(label, title, click) {
  return el("button", { class: "small", title, on: { click } }, label);
}

/** Return the element of the timeline, with the buttons for its window. */
export function buildTimeline() {
  axis.addEventListener("pointerdown", brush);
  return el(
    "div",
    { class: "timeline", hidden: true },
    el(
      "div",
      { class: "zoom", role: "group", "aria-label": "Zoom" },
      zoomButton("+", "Zoom in", () => scale(0.5)),
      zoomButton("−", "Zoom out", () => scale(2)),
      zoomButton("‹", "Earlier", () => move(-0.5)),
      zoomButton("›", "Later", () => move(0.5)),
      zoomButton("All", "Show all requests", () => show(null, null)),
      note,
    ),
    el(
      "div",
      { class: "bars", tabindex: "0", role: "region", "aria-label": "Requests over time" },
      el(
        "table",
        {},
        el("caption", { class: "unseen" }, "Requests over time"),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, "Request"),
            el("th", { scope: "col" }, el("span", { class: "unseen" }, "Time"), axis),
            el("th", { scope: "col" }, "Took"),
          ),
        ),
        body,
      ),
      latencies,
    ),
  );
}

const startOf = (/** @type {Span} */ span) => span.at ?? span.began;

function endOf(/** @type {Span} */ span) {
  if (span.ended !== null) return startOf(span) + span.ended - span.began;
  const isLive = span.at !== null && known.servers.get(known.chosen)?.status !== "recorded";
  return isLive ? Math.max(Date.now() / 1000, startOf(span)) : startOf(span);
}

function spansShown() {
  const all = [...wireOf(known.chosen).spans.values()].filter(({ state }) => state !== "resent");
  return all.sort((left, right) => left.number - right.number);
}

/** Return the window of time: the chosen one, or that of all requests. */
function windowOf(/** @type {Span[]} */ spans) {
  const from = zoom.from ?? Math.min(...spans.map(startOf));
  const to = zoom.to ?? Math.max(...spans.map(endOf));
  return { from, to, length: Math.max(to - from, 0.001) };
}

/** Draw the requests in the window, the latest of them if there are many. */
export function refreshTimeline() {
  const spans = spansShown();
  if (!spans.length) {
    fill(body);
    fill(axis);
    fill(latencies);
    return fill(note, "No requests yet.");
  }
  const frame = windowOf(spans);
  const inside = spans.filter((span) => endOf(span) >= frame.from && startOf(span) <= frame.to);
  const first = Math.min(...spans.map(startOf));
  fill(
    axis,
    [0, 0.25, 0.5, 0.75].map((part) => axisMark(frame, part, first)),
  );
  fill(
    body,
    inside.slice(-MAX_BARS).map((span) => barRow(span, frame, first)),
  );
  const count = (/** @type {number} */ number) => number.toLocaleString();
  const hidden = inside.length - MAX_BARS;
  fill(
    note,
    `${count(inside.length)} of ${count(spans.length)} requests`,
    hidden > 0 && `; the latest ${MAX_BARS} are drawn`,
  );
  fill(latencies, latencyTable(inside));
}

/** @param {Frame} frame @param {number} part @param {number} first */
function axisMark(frame, part, first) {
  const seconds = frame.from - first + part * frame.length;
  const mark = el("span", {}, seconds >= 100 ? seconds.toFixed(0) : seconds.toFixed(2), " s");
  mark.style.insetInlineStart = `${part * 100}%`;
  return mark;
}

/** Place an element between two times; all of it stays within the track. */
/** @param {HTMLElement} element @param {Frame} frame @param {number} from */
function placed(element, frame, from, to = from) {
  const at = (/** @type {number} */ time) =>
    Math.min(Math.max((time - frame.from) / frame.length, 0), 1);
  element.style.insetInlineStart = `min(${at(from) * 100}%, 100% - 3px)`;
  element.style.width = `${(at(to) - at(from)) * 100}%`;
  return element;
}

function barRow(/** @type {Span} */ span, /** @type {Frame} */ frame, /** @type {number} */ first) {
  const shift = startOf(span) - span.began;
  const said = [
    `${span.method}, ${STATES[span.state]}, began at ${(startOf(span) - first).toFixed(3)} s`,
    span.progress.length ? `reported progress ${span.progress.length} times` : "",
    ...span.questions.map(({ method }) => `the server asked ${method}`),
  ];
  const bar = placed(el("div", { class: "span" }), frame, startOf(span), endOf(span));
  const ticks = span.progress.map((time) => placed(el("i"), frame, time + shift));
  const asked = span.questions.map(({ began, ended }) =>
    placed(el("b"), frame, began + shift, (ended ?? span.ended ?? began) + shift),
  );
  return el(
    "tr",
    { class: `${span.state}${span.faults.length ? " fault" : ""}` },
    el(
      "th",
      { scope: "row" },
      el(
        "button",
        { class: "link", title: span.method, on: { click: () => go("record", span.number) } },
        cut(span.subject || span.method, 60),
      ),
    ),
    el(
      "td",
      { class: "track" },
      el("span", { class: "unseen" }, said.filter(Boolean).join("; ")),
      el("div", { "aria-hidden": "true" }, bar, asked, ticks),
    ),
    el(
      "td",
      { class: "took" },
      span.ended === null ? STATES[span.state] : lasted((span.ended - span.began) * 1000),
      span.faults.length > 0 &&
        el("span", { class: "bad", title: countedFaults(span.faults.length) }, " ⚠"),
    ),
  );
}

/** The times of requests by their name: how many, the middle, the longest, and a dot for each. */
function latencyTable(/** @type {Span[]} */ spans) {
  const groups = /** @type {Map<string, number[]>} */ (new Map());
  for (const span of spans) {
    if (span.ended === null || !["done", "failed"].includes(span.state)) continue;
    const name = span.method === "tools/call" ? span.subject : span.method;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name)?.push((span.ended - span.began) * 1000);
  }
  if (!groups.size) return null;
  const longest = Math.max(...[...groups.values()].flat(), 1);
  const head = ["Name", "Count", "Median", "Longest", "Distribution"];
  const rows = [...groups].sort(([, left], [, right]) => right.length - left.length);
  return el(
    "table",
    { class: "latencies" },
    el("caption", {}, "How long they took"),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        head.map((title) => el("th", { scope: "col" }, title)),
      ),
    ),
    el(
      "tbody",
      {},
      rows.slice(0, 50).map(([name, times]) => latencyRow(name, times, longest)),
    ),
  );
}

/** @param {string} name @param {number[]} times @param {number} longest */
function latencyRow(name, times, longest) {
  const sorted = [...times].sort((left, right) => left - right);
  const median = (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
  const dots = times.slice(-MAX_DOTS).map((time) => {
    const dot = el("i");
    dot.style.insetInlineStart = `calc(${time / longest} * (100% - 20px))`;
    return dot;
  });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, cut(name, 60)),
    [String(times.length), lasted(median), lasted(sorted[sorted.length - 1])].map((said) =>
      el("td", {}, said),
    ),
    el("td", { class: "dots", "aria-hidden": "true" }, dots),
  );
}

function show(/** @type {number | null} */ from, /** @type {number | null} */ to) {
  Object.assign(zoom, { from, to });
  refreshTimeline();
  if (from === null || to === null) return void go("range", null);
  const inside = spansShown().filter((span) => endOf(span) >= from && startOf(span) <= to);
  const numbers = inside.flatMap((span) => [span.number, span.end ?? span.number]);
  go("range", numbers.length ? [Math.min(...numbers), Math.max(...numbers)] : null);
}

function scale(/** @type {number} */ factor) {
  const spans = spansShown();
  if (!spans.length) return;
  const { from, to, length } = windowOf(spans);
  const half = (length * factor) / 2;
  const middle = (from + to) / 2;
  const isAll =
    middle - half <= Math.min(...spans.map(startOf)) &&
    middle + half >= Math.max(...spans.map(endOf));
  show(isAll ? null : middle - half, isAll ? null : middle + half);
}

function move(/** @type {number} */ part) {
  const spans = spansShown();
  if (!spans.length || zoom.from === null) return;
  const { from, to, length } = windowOf(spans);
  show(from + part * length, to + part * length);
}

/** Zoom to what is dragged over. */
function brush(/** @type {PointerEvent} */ event) {
  const spans = spansShown();
  if (!spans.length) return;
  const frame = windowOf(spans);
  const box = axis.getBoundingClientRect();
  const share = (/** @type {number} */ x) => Math.min(Math.max((x - box.left) / box.width, 0), 1);
  const timeAt = (/** @type {number} */ x) => frame.from + share(x) * frame.length;
  const began = timeAt(event.clientX);
  const mark = axis.appendChild(el("div", { class: "brush" }));
  axis.setPointerCapture(event.pointerId);
  const drag = (/** @type {PointerEvent} */ { clientX }) => {
    const [from, to] = [began, timeAt(clientX)].sort((left, right) => left - right);
    placed(mark, frame, from, to);
  };
  const end = (/** @type {PointerEvent} */ { clientX }) => {
    axis.removeEventListener("pointermove", drag);
    axis.removeEventListener("pointerup", end);
    mark.remove();
    const [from, to] = [began, timeAt(clientX)].sort((left, right) => left - right);
    if (to - from > frame.length / 200) show(from, to);
  };
  axis.addEventListener("pointermove", drag);
  axis.addEventListener("pointerup", end);
}

/** Forget the window: another server's requests are shown. */
export function resetTimeline() {
  Object.assign(zoom, { from: null, to: null });
}

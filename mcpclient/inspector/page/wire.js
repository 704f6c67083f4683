// @ts-check
// The right pane: everything that crossed the wire, in lanes, and the filters of it.

import { get } from "./api.js";
import { addressRecord } from "./detail.js";
import { announce, byId, calm, el, every, fill } from "./dom.js";
import { showView } from "./layout.js";
import { recordParts } from "./record.js";
import { on, view } from "./events.js";
import { known } from "./store.js";
import { cut, factsOf, lasted, timeOfDay } from "./text.js";
import { buildTimeline, refreshTimeline, resetTimeline } from "./timeline.js";
import { errorBox } from "./tree.js";
import { VirtualList } from "./virtual_list.js";
import { countedFaults, faultsText, legend } from "./verdict.js";
import { wireOf } from "./wire_rows.js";

const LANES = ["client", "server", "http", "stderr"];
/** @type {Record<string, string>} */
const LANE_NAMES = { client: "Client", server: "Server", http: "HTTP", stderr: "stderr" };
const ONLY = [
  ["", "Everything"],
  ["failure", "Errors"],
  ["fault", "Violations"],
  ["debug", "All log messages"],
  ...["info", "notice", "warning", "error", "critical"].map((level) => [
    level,
    `Logs from ${level}`,
  ]),
];

const wireView = {
  lanes: new Set(LANES),
  text: "",
  only: "",
  method: "",
  found: /** @type {number[] | null} */ (null),
  searched: -1,
  chosen: /** @type {number | null} */ (null),
  partner: /** @type {number | null} */ (null),
  // The first and the last number, of the records in the window of the timeline.
  range: /** @type {number[] | null} */ (null),
  isTimeline: false,
  isWallClock: sessionStorage.getItem("inspector-clock") === "wall",
};
// By server: the number before which records are hidden.
const clearedAt = /** @type {Map<string, number>} */ (new Map());

const laneButtons = /** @type {Map<string, HTMLElement>} */ (new Map());
const wireFilter = el("input", {
  type: "search",
  "aria-label": "Filter the wire",
  placeholder: "Filter",
  autocomplete: "off",
  spellcheck: "false",
});
const onlySelect = el(
  "select",
  { "aria-label": "Kind of records" },
  ONLY.map(([value, label]) => el("option", { value }, label)),
);
const methodSelect = el(
  "select",
  { "aria-label": "Method" },
  el("option", { value: "" }, "All methods"),
);
const methodsSeen = /** @type {Set<string>} */ (new Set());
const followBox = el("input", { type: "checkbox", id: "follow", checked: true });
const wireNote = el("p", { class: "quiet wirenote" });
const recordView = el("section", { class: "record", "aria-label": "Record", hidden: true });
const picture = buildTimeline();
const timeline = new VirtualList({
  label: "What crossed the wire",
  rowHeight: 24,
  count: countRows,
  draw: (index) => drawRow(rowAt(index), numberAt(index)),
  classes: (index) => {
    const row = rowAt(index);
    if (!row) return "wire";
    const isPartner = wireView.partner === row.number;
    const marks = [
      row.faults.length && "fault",
      isPartner && "partner",
      row.level && `logged at-${row.level}`,
    ];
    return ["wire", row.lane, row.kind, ...marks].filter(Boolean).join(" ");
  },
  choose: (index) => showRecord(numberAt(index)),
});

const modes = ["Records", "Timeline"].map((label, index) =>
  el("button", { on: { click: () => showMode(index === 1) } }, label),
);

function showMode(/** @type {boolean} */ isTimeline) {
  wireView.isTimeline = isTimeline;
  modes.forEach((mode, index) =>
    mode.setAttribute("aria-pressed", String((index === 1) === isTimeline)),
  );
  timeline.element.hidden = isTimeline;
  picture.hidden = !isTimeline;
  for (const element of every(".recordsonly")) element.hidden = isTimeline;
  refreshWire();
}

function laneButton(/** @type {string} */ lane) {
  const button = el(
    "button",
    { class: `lane ${lane}`, "aria-pressed": "true", on: { click: () => toggleLane(lane) } },
    LANE_NAMES[lane],
  );
  laneButtons.set(lane, button);
  return button;
}

function clockButton() {
  const clock = el("button", { class: "small", on: { click: toggle } }, "Clock");
  clock.setAttribute("aria-pressed", String(wireView.isWallClock));
  clock.title = "The time of day, or seconds since the connection began";
  function toggle() {
    wireView.isWallClock = !wireView.isWallClock;
    sessionStorage.setItem("inspector-clock", wireView.isWallClock ? "wall" : "");
    clock.setAttribute("aria-pressed", String(wireView.isWallClock));
    timeline.refresh();
  }
  return clock;
}

export function buildWire() {
  const clear = el("button", { class: "small", on: { click: clearWire } }, "Clear");
  clear.title = "Hide the records so far; the export still has them";
  const follow = el("label", { class: "check" }, followBox, "follow");
  byId("wire").append(
    el(
      "div",
      { class: "wirehead" },
      el("h2", { class: "unseen" }, "Wire"),
      el("div", { class: "modes", role: "group", "aria-label": "Show as" }, modes),
      el(
        "div",
        { class: "lanes recordsonly", role: "group", "aria-label": "Lanes" },
        LANES.map((lane) => laneButton(lane)),
      ),
      legend(),
      el("div", { class: "line recordsonly" }, wireFilter, methodSelect, onlySelect),
      el("div", { class: "line recordsonly" }, wireNote, follow, clockButton(), clear),
    ),
    timeline.element,
    picture,
    recordView,
  );
  showMode(false);
  wireFilter.addEventListener(
    "input",
    calm(150, () => filterAnew()),
  );
  methodSelect.addEventListener("change", filterAnew);
  onlySelect.addEventListener("change", filterAnew);
  followBox.addEventListener("change", () => timeline.refresh({ follow: followBox.checked }));
  timeline.element.addEventListener("wheel", leaveEnd, { passive: true });
  timeline.element.addEventListener("keydown", leaveEnd);
  byId("wire").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !recordView.hidden && event.target !== wireFilter) closeRecord();
  });
  byId("faults").addEventListener("click", () => (showMode(false), showFaults()));
  view("record", goTo);
  view("range", (range) => {
    wireView.range = range;
    filterAnew();
  });
  on("wire", refreshWire);
}

function leaveEnd() {
  requestAnimationFrame(() => {
    const { scrollTop, clientHeight, scrollHeight } = timeline.element;
    followBox.checked = scrollTop + clientHeight >= scrollHeight - 30;
  });
}

function isFiltered() {
  const { text, only, method, lanes, range } = wireView;
  return range !== null || text !== "" || only !== "" || method !== "" || lanes.size < LANES.length;
}

/** Return the number of the first record that is shown. */
function firstShown() {
  return Math.max(wireOf(known.chosen).first, clearedAt.get(known.chosen) ?? 0);
}

function countRows() {
  if (isFiltered()) return wireView.found?.length ?? 0;
  return wireOf(known.chosen).next - firstShown();
}

/** Return the number of the record in a row of the list. */
function numberAt(/** @type {number} */ index) {
  return isFiltered() ? (wireView.found?.[index] ?? -1) : firstShown() + index;
}

function rowAt(/** @type {number} */ index) {
  return wireOf(known.chosen).row(numberAt(index));
}

function drawRow(/** @type {Row | undefined} */ row, /** @type {number} */ number) {
  if (!row) {
    return [el("span", { class: "time" }, `#${number}`), el("span", { class: "quiet" }, "…")];
  }
  const said = [LANE_NAMES[row.lane], row.level ? `log ${row.level}` : row.kind];
  return [
    el(
      "span",
      { class: "time" },
      wireView.isWallClock && row.at !== null ? timeOfDay(row.at) : row.time.toFixed(3),
    ),
    el("span", { class: "marks", "aria-hidden": "true" }),
    el("span", { class: "unseen" }, `${said.join(", ")}: `),
    el(
      "span",
      { class: "about" },
      row.level && el("span", { class: "badge" }, cut(row.level, 10)),
      row.label,
    ),
    el("span", { class: "gist" }, row.faults.length ? `⚠ ${faultsText(row.faults)}` : row.detail),
    el("span", { class: "took" }, row.milliseconds === null ? "" : lasted(row.milliseconds)),
  ];
}

let isFinding = false;
export function refreshWire() {
  const wire = wireOf(known.chosen);
  for (const [lane, button] of laneButtons) {
    const count = wire.counts[lane] ?? 0;
    // Its place is kept, so that nothing moves when it comes.
    const isEmpty = count === 0 && lane !== "client" && lane !== "server";
    button.classList.toggle("empty", isEmpty);
    fill(button, LANE_NAMES[lane], el("span", { class: "number" }, count.toLocaleString()));
  }
  const faults = byId("faults");
  const count = wire.counts.fault ?? 0;
  faults.hidden = !count;
  faults.textContent = countedFaults(count);
  refreshMethods(wire.methods);
  refreshNote(wire.first, wire.next);
  if (isFiltered()) findMore();
  if (wireView.isTimeline) refreshTimeline();
  else timeline.refresh({ follow: followBox.checked });
}

/** Offer the methods that have been seen. */
function refreshMethods(/** @type {Set<string>} */ methods) {
  if (methodsSeen.size === methods.size) return;
  for (const method of methods) {
    if (methodsSeen.has(method)) continue;
    methodsSeen.add(method);
    methodSelect.append(el("option", { value: method }, cut(method, 60)));
  }
}

function refreshNote(/** @type {number} */ first, /** @type {number} */ next) {
  const said = [];
  const count = (/** @type {number} */ number) => number.toLocaleString();
  if (first > 0) said.push(`${count(first)} older records are no longer kept.`);
  if (isFiltered()) {
    said.push(`${count(wireView.found?.length ?? 0)} of ${count(next - firstShown())} records.`);
  }
  if (next === 0) said.push("No records yet.");
  const hidden = firstShown() - first;
  fill(
    wireNote,
    said.join(" "),
    hidden > 0 && [
      ` ${count(hidden)} records are hidden. `,
      el("button", { class: "link", on: { click: unclearWire } }, "Show them"),
    ],
  );
}

function toggleLane(/** @type {string} */ lane) {
  if (wireView.lanes.has(lane)) wireView.lanes.delete(lane);
  else wireView.lanes.add(lane);
  laneButtons.get(lane)?.setAttribute("aria-pressed", String(wireView.lanes.has(lane)));
  filterAnew();
}

function clearWire() {
  clearedAt.set(known.chosen, wireOf(known.chosen).next);
  if (!recordView.hidden) closeRecord();
  filterAnew();
  announce("The records so far are hidden");
}

function unclearWire() {
  clearedAt.delete(known.chosen);
  filterAnew();
}

/** Show what violates the protocol, and nothing else. */
function showFaults() {
  resetFilters();
  onlySelect.value = "fault";
  showView("wire");
  filterAnew();
  timeline.element.focus();
}

function resetFilters() {
  wireFilter.value = methodSelect.value = onlySelect.value = "";
  wireView.range = null;
  for (const lane of LANES) {
    wireView.lanes.add(lane);
    laneButtons.get(lane)?.setAttribute("aria-pressed", "true");
  }
}

function filterAnew() {
  wireView.text = wireFilter.value.trim();
  wireView.method = methodSelect.value;
  wireView.only = onlySelect.value;
  Object.assign(wireView, { found: [], searched: firstShown() - 1 });
  timeline.active = -1;
  refreshWire();
}

/** Query which of the new records match the filter. */
async function findMore() {
  const wire = wireOf(known.chosen);
  if (isFinding || wireView.searched >= wire.next - 1) return;
  isFinding = true;
  const { text, lanes, found, method, only, searched, range } = wireView;
  try {
    const [first, last] = range ?? [0, wire.next];
    const after = Math.max(searched, first - 1);
    const query = { server: wire.name, text, method, only, after, last };
    const answer = await get("/api/find", { ...query, lanes: [...lanes].join(",") });
    if (wireView.found === found && wire.name === known.chosen) {
      for (const number of answer.numbers) found?.push(number);
      wireView.searched = answer.searched;
    }
  } finally {
    isFinding = false;
  }
  refreshWire();
}

/** Forget what was found and chosen: another server's wire is shown. */
export function resetWire() {
  Object.assign(wireView, { found: [], searched: -1, partner: null, chosen: null, range: null });
  resetTimeline();
  recordView.hidden = true;
  timeline.active = -1;
}

/** Show a whole record and its actions. */
async function showRecord(/** @type {number} */ number) {
  const wire = wireOf(known.chosen);
  wireView.chosen = number;
  followBox.checked = false; // whoever reads a record wants it to stay
  const query = { server: wire.name, number };
  let parts = /** @type {Child[]} */ ([]);
  let row = /** @type {Row | undefined} */ (undefined);
  try {
    await wire.reload(number); // a request may have been answered meanwhile
    row = wire.row(number);
    const [record, block] = await Promise.all([
      get("/api/record", query),
      row?.lane === "stderr" ? get("/api/block", query) : null,
    ]);
    parts = recordParts(number, row, record, block, closeRecord);
  } catch (error) {
    parts = [errorBox(factsOf(error))];
  }
  if (wireView.chosen !== number || wire.name !== known.chosen) return;
  wireView.partner = row?.partner ?? null;
  addressRecord(number);
  timeline.refresh();
  recordView.hidden = false;
  recordView.scrollTop = 0;
  fill(recordView, parts);
}

function closeRecord() {
  recordView.hidden = true;
  Object.assign(wireView, { chosen: null, partner: null });
  addressRecord(null);
  timeline.refresh();
  timeline.element.focus();
}

/** Show a record, whatever the filters hide. */
export function goTo(/** @type {number} */ number) {
  if (isFiltered()) {
    resetFilters();
    filterAnew();
  }
  if (number < firstShown()) unclearWire();
  followBox.checked = false;
  timeline.activate(number - firstShown());
}

// @ts-check
// The right pane: everything that crossed the wire, in lanes.

import { get } from "./api.js";
import { byId, calm, el, fill } from "./dom.js";
import { recordParts } from "./record.js";
import { known, on } from "./store.js";
import { lasted } from "./text.js";
import { errorBox } from "./tree.js";
import { VirtualList } from "./virtual_list.js";
import { wireOf } from "./wire_rows.js";

const LANES = ["client", "server", "http", "stderr"];

const LANE_NAMES = { client: "Client", server: "Server", http: "HTTP", stderr: "stderr" };

const FIELDS = [
  "number",
  "time",
  "lane",
  "kind",
  "label",
  "detail",
  "size",
  "partner",
  "milliseconds",
  "channel",
];

const wireView = {
  lanes: new Set(LANES),
  text: "",
  found: null,
  searched: -1,
  follow: true,
  chosen: null,
};

const laneButtons = new Map();

const wireFilter = el("input", {
  type: "search",
  "aria-label": "Filter the wire",
  placeholder: "Filter",
  autocomplete: "off",
  spellcheck: "false",
});

const followBox = el("input", { type: "checkbox", id: "follow", checked: true });

const wireNote = el("p", { class: "quiet wirenote" });

const recordView = el("div", { class: "record", hidden: true });

const timeline = new VirtualList({
  label: "What crossed the wire",
  rowHeight: 24,
  count: countRows,
  draw: (index) => drawRow(rowAt(index), numberAt(index)),
  classes: (index) => {
    const row = rowAt(index);
    return row
      ? `wire ${row.lane} ${row.kind}${wireView.partner === row.number ? " partner" : ""}`
      : "wire";
  },
  choose: (index) => showRecord(numberAt(index)),
});

export function buildWire() {
  const lanes = el(
    "div",
    { class: "lanes", role: "group", "aria-label": "Lanes" },
    LANES.map((lane) => {
      const button = el(
        "button",
        { class: `lane ${lane}`, "aria-pressed": "true", on: { click: () => toggleLane(lane) } },
        LANE_NAMES[lane],
      );
      laneButtons.set(lane, button);
      return button;
    }),
  );
  const head = el(
    "div",
    { class: "wirehead" },
    el("h2", {}, "Wire"),
    lanes,
    wireFilter,
    el("label", { class: "check" }, followBox, "follow"),
  );
  byId("wire").append(head, wireNote, timeline.element, recordView);
  wireFilter.addEventListener(
    "input",
    calm(150, () => filterAnew()),
  );
  followBox.addEventListener("change", () => timeline.refresh({ follow: followBox.checked }));
  timeline.element.addEventListener("wheel", leaveEnd, { passive: true });
  timeline.element.addEventListener("keydown", leaveEnd);
  byId("wire").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !recordView.hidden && event.target !== wireFilter) closeRecord();
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
  return wireView.text !== "" || wireView.lanes.size < LANES.length;
}

function countRows() {
  if (isFiltered()) return wireView.found?.length ?? 0;
  const wire = wireOf(known.chosen);
  return wire.next - wire.first;
}

function numberAt(index) {
  return isFiltered() ? wireView.found[index] : wireOf(known.chosen).first + index;
}

function rowAt(index) {
  const row = wireOf(known.chosen).row(numberAt(index));
  return row && Object.fromEntries(FIELDS.map((name, place) => [name, row[place]]));
}

function drawRow(row, number) {
  if (!row)
    return [el("span", { class: "time" }, `#${number}`), el("span", { class: "quiet" }, "…")];
  return [
    el("span", { class: "time" }, row.time.toFixed(3)),
    el("span", { class: "marks", "aria-hidden": "true" }),
    el("span", { class: "unseen" }, `${LANE_NAMES[row.lane]}, ${row.kind}: `),
    el("span", { class: "about" }, row.label),
    el("span", { class: "more" }, row.detail),
    el("span", { class: "took" }, row.milliseconds === null ? "" : lasted(row.milliseconds)),
  ];
}

let isFinding = false;

export function refreshWire() {
  const wire = wireOf(known.chosen);
  for (const [lane, button] of laneButtons) {
    const count = wire.counts[lane] ?? 0;
    button.hidden = count === 0 && lane !== "client" && lane !== "server";
    fill(button, LANE_NAMES[lane], el("span", { class: "number" }, count.toLocaleString()));
  }
  const said = [];
  const count = (number) => number.toLocaleString();
  if (wire.first > 0) said.push(`${wire.first.toLocaleString()} older records are no longer kept.`);
  if (isFiltered())
    said.push(`${count(wireView.found?.length ?? 0)} of ${count(wire.next - wire.first)} records.`);
  if (wire.next === 0) said.push("Nothing has crossed the wire yet.");
  wireNote.hidden = !said.length;
  wireNote.textContent = said.join(" ");
  if (isFiltered()) findMore();
  timeline.refresh({ follow: followBox.checked });
}

function toggleLane(lane) {
  if (wireView.lanes.has(lane)) wireView.lanes.delete(lane);
  else wireView.lanes.add(lane);
  laneButtons.get(lane).setAttribute("aria-pressed", String(wireView.lanes.has(lane)));
  filterAnew();
}

function filterAnew() {
  Object.assign(wireView, { text: wireFilter.value.trim(), found: [], searched: -1 });
  timeline.active = -1;
  refreshWire();
}

/** Query which of the new records match the filter. */
async function findMore() {
  const wire = wireOf(known.chosen);
  if (isFinding || wireView.searched >= wire.next - 1) return;
  isFinding = true;
  const { text, lanes, found } = wireView;
  try {
    const query = {
      server: wire.name,
      text,
      lanes: [...lanes].join(","),
      after: wireView.searched,
    };
    const answer = await get("/api/find", query);
    if (wireView.found === found && wire.name === known.chosen) {
      for (const number of answer.numbers) found.push(number);
      wireView.searched = answer.searched;
    }
  } finally {
    isFinding = false;
  }
  refreshWire();
}

/** Forget what was found and chosen: another server's wire is shown. */
export function resetWire() {
  Object.assign(wireView, { found: [], searched: -1, partner: null, chosen: null });
  recordView.hidden = true;
  timeline.active = -1;
}

/** Show a whole record and its actions. */
async function showRecord(number) {
  const wire = wireOf(known.chosen);
  wireView.chosen = number;
  followBox.checked = false; // whoever reads a record wants it to stay
  let parts;
  let row;
  try {
    const record = await get("/api/record", { server: wire.name, number });
    row = wire.row(number);
    parts = recordParts(number, row, record, { goTo, close: closeRecord });
  } catch (error) {
    parts = errorBox(error.facts);
  }
  if (wireView.chosen !== number || wire.name !== known.chosen) return;
  wireView.partner = row?.[7] ?? null;
  timeline.refresh();
  recordView.hidden = false;
  fill(recordView, parts);
}

function closeRecord() {
  recordView.hidden = true;
  Object.assign(wireView, { chosen: null, partner: null });
  timeline.refresh();
  timeline.element.focus();
}

function goTo(number) {
  if (isFiltered()) {
    wireFilter.value = "";
    for (const lane of LANES) {
      wireView.lanes.add(lane);
      laneButtons.get(lane).setAttribute("aria-pressed", "true");
    }
    filterAnew();
  }
  followBox.checked = false;
  timeline.activate(number - wireOf(known.chosen).first);
}

// @ts-check
// The left pane: a searchable list of what the server offers, and of the calls made so far.

import { progressText, showCall, showRawRequest } from "./calls.js";
import { byId, el, fill, focusIn, quiet } from "./dom.js";
import { narrow, showView } from "./layout.js";
import { showOverview, statusText } from "./overview.js";
import { go, on, view } from "./events.js";
import { known, orderedServers, server, shownName } from "./store.js";
import { showOffer } from "./subject.js";
import { cut, lasted, textOf } from "./text.js";
import { errorBox } from "./tree.js";
import { faultsText } from "./verdict.js";
import { VirtualList } from "./virtual_list.js";
import { isWanted, loadWireCalls, showWireCall, wireCalls } from "./wire_calls.js";

const KIND_NAMES = {
  tools: "Tools",
  resources: "Resources",
  prompts: "Prompts",
  calls: "Calls",
  servers: "Servers",
};
const KINDS = Object.keys(KIND_NAMES);

/** @type {{ kind: string, entries: any[], search: string }} */
const shownNow = { kind: "tools", entries: [], search: "" };

const tabs = el("div", {
  role: "tablist",
  "aria-label": "Kind",
  class: "tabs",
  on: { keydown: moveTab },
});

const tabButtons = new Map(
  KINDS.map((kind) => [
    kind,
    tabs.appendChild(
      el(
        "button",
        {
          role: "tab",
          id: `tab-${kind}`,
          "aria-controls": "offers",
          "aria-selected": "false",
          tabindex: "-1",
          on: { click: () => showKind(kind) },
        },
        KIND_NAMES[kind],
      ),
    ),
  ]),
);

const search = el("input", {
  type: "search",
  id: "search",
  "aria-label": "Search",
  placeholder: "Search (Ctrl+K)",
  autocomplete: "off",
  spellcheck: "false",
  on: { input: () => refreshCatalog(), keydown: enterList },
});

const notes = el("div", { class: "notes" });

const catalog = new VirtualList({
  label: "Tools",
  rowHeight: 40,
  count: () => shownNow.entries.length,
  draw: (index) => drawEntry(shownNow.entries[index]),
  classes: (index) => (shownNow.entries[index].odd ? "odd" : ""),
  choose: (index) => chooseEntry(shownNow.entries[index]),
  open: () => (showView("subject"), focusIn("#detail")),
});

export function buildCatalog() {
  const panel = el(
    "div",
    { id: "offers", role: "tabpanel", class: "panel", "aria-labelledby": "tab-tools" },
    catalog.element,
  );
  byId("list").append(tabs, el("div", { class: "searching" }, search), notes, panel);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      showView("list");
      search.focus();
      search.select();
    }
  });
  view("offer", openSubject);
  view("edit", editAgain);
  view("calls", () => showKind("calls"));
  on("lists", refreshCatalog);
  on("call", () => refreshCatalog());
  on("server", () => refreshCatalog());
}

function moveTab(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const index = (KINDS.indexOf(shownNow.kind) + step + KINDS.length) % KINDS.length;
  showKind(KINDS[index]);
  tabButtons.get(KINDS[index]).focus();
}

/** Show the tools again where the calls of another server were shown. */
export function leaveCalls() {
  if (shownNow.kind === "calls") showKind("tools");
  else refreshCatalog();
}

/** Mark an entry in the list, as if the user had chosen it. */
export function selectEntry(kind, key) {
  search.value = "";
  showKind(kind);
  const index = shownNow.entries.findIndex((each) => each.key === key);
  catalog.activate(index, { quiet: true });
}

/** Show an offer, as if the user had chosen it; return whether it is in the lists. */
export function selectOffer(kind, key) {
  const list = kind === "templates" ? "resources" : kind;
  const entry = KINDS.includes(list)
    ? entriesOf(list).find((each) => each.kind === kind && each.key === key)
    : undefined;
  if (!entry) return false;
  selectEntry(list, key);
  showOffer(entry);
  return true;
}

function enterList(event) {
  if (event.key !== "ArrowDown" && event.key !== "Enter") return;
  event.preventDefault();
  catalog.element.focus();
  if (shownNow.entries.length) catalog.activate(Math.max(catalog.active, 0));
}

export function showKind(kind) {
  shownNow.kind = kind;
  catalog.active = -1;
  catalog.element.scrollTop = 0;
  catalog.element.setAttribute("aria-label", KIND_NAMES[kind]);
  byId("offers").setAttribute("aria-labelledby", `tab-${kind}`);
  refreshCatalog();
  if (kind === "servers") showOverview();
  if (kind === "calls") loadWireCalls(known.chosen);
}

/** Return the entries of a kind, each `{kind, key, title, text, entry, index, odd}`. */
export function entriesOf(kind) {
  const lists = known.lists.get(known.chosen);
  if (kind === "calls") return callEntries();
  if (kind === "servers") {
    return orderedServers().map(([name, state]) => ({
      kind,
      key: name,
      title: shownName(name),
      text: `${statusText(state)} · ${state.target ?? ""}`,
      entry: state,
    }));
  }
  if (!lists) return [];
  const found = lists[kind].map((entry, index) => entryOf(kind, entry, index, lists));
  if (kind !== "resources") return found;
  return [
    ...found,
    ...lists.templates.map((entry, index) => entryOf("templates", entry, index, lists)),
  ];
}

/** Return the calls of the chosen server: pinned ones first, then the page's, then the wire's. */
function callEntries() {
  const calls = [...known.calls].filter(
    ([, call]) => call.server === known.chosen && isWanted(call),
  );
  const pinned = calls.filter(([name]) => known.pinned.has(name));
  const others = calls.filter(([name]) => !known.pinned.has(name));
  const own = [...pinned.reverse(), ...others.reverse()].map(([name, call]) => ({
    kind: "calls",
    key: name,
    title: `${known.pinned.has(name) ? "★ " : ""}${call.subject || call.method}`,
    text: [
      call.method,
      call.state === "running" ? progressText(call) : call.state,
      lasted(call.milliseconds),
    ].join(" · "),
    entry: call,
    odd: null,
  }));
  const onWire = wireCalls(known.chosen).map((call, index) => ({
    kind: "wirecalls",
    key: `wire ${index}`,
    title: textOf(call.params?.name ?? call.params?.uri) || call.method,
    text: [call.method, "on the wire", call.seconds === null ? "" : lasted(call.seconds * 1000)]
      .filter(Boolean)
      .join(" · "),
    entry: call,
    odd: null,
  }));
  return [...own, ...onWire.reverse()];
}

function entryOf(kind, entry, index, lists) {
  const about = entry !== null && typeof entry === "object" ? entry : {};
  const key = about[{ resources: "uri", templates: "uriTemplate" }[kind] ?? "name"];
  const title = typeof key === "string" && key ? key : `(entry ${index + 1} has no name)`;
  const text = [about.description, about.title].find((each) => typeof each === "string") ?? "";
  return { kind, key: title, title, text, entry: about, index, odd: oddOf(lists, kind, index) };
}

const oddMaps = new WeakMap();

/** Return the faults of one entry, each `[code, text, clause]`; null if it has none. */
function oddOf(lists, kind, index) {
  if (!oddMaps.has(lists)) {
    const map = new Map();
    for (const [list, faults] of Object.entries(lists.odd ?? {})) {
      for (const [entry, fault] of faults) {
        const key = `${list} ${entry}`;
        if (!map.has(key)) map.set(key, []);
        map.get(key).push(fault);
      }
    }
    oddMaps.set(lists, map);
  }
  return oddMaps.get(lists).get(`${kind} ${index}`) ?? null;
}

const MAX_SEARCHED_LENGTH = 4000;

/** Whether an entry has every word that was searched for, in whatever order. */
function matches(entry, words) {
  if (!words.length) return true;
  const text = [entry.title, textOf(entry.entry.title), entry.text]
    .map((each) => cut(each, MAX_SEARCHED_LENGTH))
    .join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

export function refreshCatalog() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const active = shownNow.entries[catalog.active]?.key;
  const all = entriesOf(shownNow.kind);
  shownNow.entries = all.filter((entry) => matches(entry, words));
  if (active !== undefined)
    catalog.active = shownNow.entries.findIndex((entry) => entry.key === active);
  for (const [kind, button] of tabButtons) {
    const isShown = kind === shownNow.kind;
    button.setAttribute("aria-selected", String(isShown));
    button.tabIndex = isShown ? 0 : -1;
    const count = countOf(kind);
    fill(button, KIND_NAMES[kind], el("span", { class: "number" }, String(count)));
  }
  refreshNotes(all.length, words.length);
  catalog.refresh();
}

function countOf(kind) {
  if (kind === "calls") return callEntries().length || "";
  if (kind === "servers") return known.servers.size > 1 ? known.servers.size : "";
  const lists = known.lists.get(known.chosen);
  if (!lists || lists.loading || !wasAskedFor(kind)) return "";
  return (
    kind === "resources" ? lists.resources.length + lists.templates.length : lists[kind].length
  ).toLocaleString();
}

/** Whether the server was asked for a list: only for those that it declares. */
function wasAskedFor(kind) {
  return kind in (server()?.capabilities ?? {}) || server()?.status === "recorded";
}

function refreshNotes(total, isSearching) {
  const lists = known.lists.get(known.chosen);
  const kind = shownNow.kind;
  const said = [];
  const odd = new Set((lists?.odd?.[kind] ?? []).map(([entry]) => entry)).size;
  if (kind === "servers") {
    if (!total) said.push(quiet("There is no server."));
  } else if (lists?.errors?.[kind]) said.push(errorBox(lists.errors[kind]));
  else if (kind === "calls" && !total) said.push(quiet("No calls have been made."));
  else if (lists?.loading) said.push(quiet("Asking the server…"));
  else if (isSearching && !shownNow.entries.length)
    said.push(quiet("No entry has all of these words."));
  else if (lists && !total) {
    const text = wasAskedFor(kind)
      ? `The server offers no ${kind}.`
      : `The server does not declare ${kind}, so it was not asked for any.`;
    said.push(quiet(text));
  } else if (!lists && kind !== "calls") said.push(quiet("There is no connection."));
  if (odd) {
    const rest = odd === 1 ? "violates the protocol; it is" : "violate the protocol; they are";
    said.push(el("p", { class: "warning" }, `${odd} of the ${kind} ${rest} marked.`));
  }
  fill(notes, said);
}

function drawEntry(entry) {
  return [
    el(
      "span",
      { class: "title" },
      entry.kind === "templates" && el("span", { class: "tag" }, "template"),
      cut(entry.title, 120),
    ),
    el(
      "span",
      { class: "text" },
      entry.odd ? faultsText(entry.odd) : cut(entry.text, 160).replaceAll("\n", " "),
    ),
  ];
}

function chooseEntry(entry) {
  if (entry.kind === "servers") {
    go("choose", entry.key);
    showOverview();
  } else if (entry.kind === "calls") showCall(entry.key);
  else if (entry.kind === "wirecalls") showWireCall(entry.key, entry.entry);
  else showOffer(entry);
  if (narrow.matches) showView("subject");
}

/** Open the form of a request, filled in as it was; raw JSON if there is no form. */
function editAgain(method, params) {
  const kinds = new Map([
    ["tools/call", ["tools", params?.name]],
    ["resources/read", ["resources", params?.uri]],
    ["prompts/get", ["prompts", params?.name]],
  ]);
  const [kind, key] = kinds.get(method) ?? [];
  const entry = kind && entriesOf(kind).find((each) => each.key === key);
  if (entry) {
    selectEntry(kind, key);
    showOffer(entry, { params });
  } else showRawRequest(method, params);
  showView("subject");
  focusIn("#detail", "input, textarea");
}

/** Go to an offer by its key, such as a resource that a result links to. */
function openSubject(kind, key) {
  search.value = "";
  showKind(kind);
  const index = shownNow.entries.findIndex((entry) => entry.key === key);
  if (index >= 0) catalog.activate(index);
  else if (kind === "resources")
    showOffer({
      kind,
      key,
      title: key,
      text: "",
      entry: { uri: key, name: key },
      index: -1,
      odd: null,
    });
}

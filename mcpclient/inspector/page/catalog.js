// @ts-check
// The left pane: a searchable list of what the server offers, and of the calls made so far.

import { progressText, showCall, showRawRequest } from "./calls.js";
import { byId, el, fill, focusIn, quiet } from "./dom.js";
import { narrow, showView } from "./layout.js";
import { showOverview, statusText } from "./overview.js";
import { go, on, view } from "./events.js";
import { known, orderedServers, server, shownName } from "./store.js";
import { showOffer } from "./subject.js";
import { cut, isObject, lasted, textOf } from "./text.js";
import { errorBox } from "./tree.js";
import { faultsText } from "./verdict.js";
import { VirtualList } from "./virtual_list.js";
import { isWanted, loadWireCalls, showWireCall, wireCalls } from "./wire_calls.js";

/** @type {Record<Kind, string>} */
const KIND_NAMES = {
  tools: "Tools",
  resources: "Resources",
  prompts: "Prompts",
  calls: "Calls",
  servers: "Servers",
};
const KINDS = /** @type {Kind[]} */ (Object.keys(KIND_NAMES));

/** @type {{ kind: Kind, entries: Entry[] }} */
const shownNow = { kind: "tools", entries: [] };

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

function moveTab(/** @type {KeyboardEvent} */ event) {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (!step) return;
  event.preventDefault();
  const index = (KINDS.indexOf(shownNow.kind) + step + KINDS.length) % KINDS.length;
  showKind(KINDS[index]);
  tabButtons.get(KINDS[index])?.focus();
}

/** Show the tools again where the calls of another server were shown. */
export function leaveCalls() {
  if (shownNow.kind === "calls") showKind("tools");
  else refreshCatalog();
}

/** Mark an entry in the list, as if the user had chosen it. */
export function selectEntry(/** @type {Kind} */ kind, /** @type {string} */ key) {
  search.value = "";
  showKind(kind);
  const index = shownNow.entries.findIndex((each) => each.key === key);
  catalog.activate(index, { quiet: true });
}

/** Show an offer, as if the user had chosen it; return whether it is in the lists. */
export function selectOffer(/** @type {string} */ kind, /** @type {string} */ key) {
  const isWanted = (/** @type {Offer} */ each) => each.kind === kind && each.key === key;
  const entry = OFFER_LISTS.flatMap(offersOf).find(isWanted);
  if (!entry) return false;
  selectEntry(listOf(entry.kind), key);
  showOffer(entry);
  return true;
}

function enterList(/** @type {KeyboardEvent} */ event) {
  if (event.key !== "ArrowDown" && event.key !== "Enter") return;
  event.preventDefault();
  catalog.element.focus();
  if (shownNow.entries.length) catalog.activate(Math.max(catalog.active, 0));
}

export function showKind(/** @type {Kind} */ kind) {
  shownNow.kind = kind;
  catalog.active = -1;
  catalog.element.scrollTop = 0;
  catalog.element.setAttribute("aria-label", KIND_NAMES[kind]);
  byId("offers").setAttribute("aria-labelledby", `tab-${kind}`);
  refreshCatalog();
  if (kind === "servers") showOverview();
  if (kind === "calls") loadWireCalls(known.chosen);
}

/** Return the entries of a kind. */
/** @returns {Entry[]} */
function entriesOf(/** @type {Kind} */ kind) {
  if (kind === "calls") return callEntries();
  if (kind === "servers") {
    return orderedServers().map(([name, state]) => ({
      kind: "servers",
      key: name,
      title: shownName(name),
      text: `${statusText(state)} · ${state.target ?? ""}`,
      entry: state,
    }));
  }
  return offersOf(kind);
}

const OFFER_LISTS = /** @type {const} */ (["tools", "resources", "prompts"]);
/** Those of the server that each of them shows. @type {Record<string, OfferKind[]>} */
const SHOWN_LISTS = {
  tools: ["tools"],
  resources: ["resources", "templates"],
  prompts: ["prompts"],
};

/** Return the list of the page in which offers of a kind are. */
function listOf(/** @type {OfferKind} */ kind) {
  return kind === "templates" ? "resources" : kind;
}

/** The entries of lists by kind, made once. @type {WeakMap<Lists, Record<string, Offer[]>>} */
const entriesMade = new WeakMap();

/** Return what the server offers; templates are among the resources. */
function offersOf(/** @type {"tools" | "resources" | "prompts"} */ kind) {
  const lists = known.lists.get(known.chosen);
  if (!lists) return [];
  const made = entriesMade.get(lists) ?? {};
  entriesMade.set(lists, made);
  made[kind] ??= SHOWN_LISTS[kind].flatMap((each) => entriesIn(lists, each));
  return made[kind];
}

/** Return the entries of a list, each with its faults. */
function entriesIn(/** @type {Lists} */ lists, /** @type {OfferKind} */ kind) {
  const found = lists[kind].map((entry, index) => entryOf(kind, entry, index));
  for (const [index, fault] of lists.odd[kind] ?? []) {
    if (index in found) found[index].odd = [...(found[index].odd ?? []), fault];
  }
  return found;
}

/** Return the calls of the chosen server: pinned ones first, then the page's, then the wire's. */
/** @returns {Entry[]} */
function callEntries() {
  const calls = [...known.calls].filter(
    ([, call]) => call.server === known.chosen && isWanted(call),
  );
  const pinned = calls.filter(([name]) => known.pinned.has(name));
  const others = calls.filter(([name]) => !known.pinned.has(name));
  const own = [...pinned.reverse(), ...others.reverse()].map(([name, call]) => ({
    kind: /** @type {const} */ ("calls"),
    key: name,
    title: `${known.pinned.has(name) ? "★ " : ""}${call.subject || call.method}`,
    text: [
      call.method,
      call.state === "running" ? progressText(call) : call.state,
      lasted(call.milliseconds),
    ].join(" · "),
    entry: call,
  }));
  const onWire = wireCalls(known.chosen).map((call, index) => ({
    kind: /** @type {const} */ ("wirecalls"),
    key: `wire ${index}`,
    title: textOf(call.params?.name ?? call.params?.uri) || call.method,
    text: [call.method, "on the wire", call.seconds === null ? "" : lasted(call.seconds * 1000)]
      .filter(Boolean)
      .join(" · "),
    entry: call,
  }));
  return [...own, ...onWire.reverse()];
}

/** @param {OfferKind} kind @param {unknown} entry @param {number} index @returns {Offer} */
function entryOf(kind, entry, index) {
  /** @type {Definition} */
  const about = isObject(entry) ? entry : {};
  const key = about[KEYS[kind]];
  const title = typeof key === "string" && key ? key : `(entry ${index + 1} has no name)`;
  const text = [about.description, about.title].find((each) => typeof each === "string");
  return { kind, key: title, title, text: textOf(text), entry: about };
}

const KEYS = { tools: "name", resources: "uri", templates: "uriTemplate", prompts: "name" };

const MAX_SEARCHED_LENGTH = 4000;

/** Whether an entry has every word that was searched for, in whatever order. */
function matches(/** @type {Entry} */ entry, /** @type {string[]} */ words) {
  if (!words.length) return true;
  const title = "title" in entry.entry ? entry.entry.title : "";
  const text = [entry.title, textOf(title), entry.text]
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
  refreshNotes(all.length, words.length > 0);
  catalog.refresh();
}

function countOf(/** @type {Kind} */ kind) {
  if (kind === "calls") return callEntries().length || "";
  if (kind === "servers") return known.servers.size > 1 ? known.servers.size : "";
  const lists = known.lists.get(known.chosen);
  if (!lists || lists.loading || !wasAskedFor(kind)) return "";
  return (
    kind === "resources" ? lists.resources.length + lists.templates.length : lists[kind].length
  ).toLocaleString();
}

/** Whether the server was asked for a list: only for those that it declares. */
function wasAskedFor(/** @type {Kind} */ kind) {
  return kind in (server()?.capabilities ?? {}) || server()?.status === "recorded";
}

function refreshNotes(/** @type {number} */ total, /** @type {boolean} */ isSearching) {
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

function drawEntry(/** @type {Entry} */ entry) {
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

function chooseEntry(/** @type {Entry} */ entry) {
  if (entry.kind === "servers") {
    go("choose", entry.key);
    showOverview();
  } else if (entry.kind === "calls") showCall(entry.key);
  else if (entry.kind === "wirecalls") showWireCall(entry.key, entry.entry);
  else showOffer(entry);
  if (narrow.matches) showView("subject");
}

/** @type {Record<string, "tools" | "resources" | "prompts">} */
const METHODS = { "tools/call": "tools", "resources/read": "resources", "prompts/get": "prompts" };

/** Open the form of a request, filled in as it was; raw JSON if there is no form. */
function editAgain(/** @type {string} */ method, /** @type {Loose} */ params) {
  const kind = Object.hasOwn(METHODS, method) && METHODS[method];
  const key = params.name ?? params.uri;
  const entry = kind && offersOf(kind).find((each) => each.key === key);
  if (entry) {
    selectEntry(kind, entry.key);
    showOffer(entry, { params });
  } else showRawRequest(method, params);
  showView("subject");
  focusIn("#detail", "input, textarea");
}

/** Go to an offer by its key, such as a resource that a result links to. */
function openSubject(/** @type {OfferKind} */ kind, /** @type {string} */ key) {
  search.value = "";
  showKind(listOf(kind));
  const index = shownNow.entries.findIndex((entry) => entry.key === key);
  if (index >= 0) catalog.activate(index);
  else if (kind === "resources")
    showOffer({ kind, key, title: key, text: "", entry: { uri: key, name: key } });
}

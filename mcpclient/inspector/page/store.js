// @ts-check
// The state of the page: servers, calls, questions, and what has been fetched of them.

import { get } from "./api.js";
import { changed } from "./events.js";
import { cut, factsOf, textOf } from "./text.js";
import { wireOf } from "./wire_rows.js";

export const known = {
  allow: "look",
  isGone: false, // the program of the page does not respond
  servers: /** @type {Map<string, ServerState>} */ (new Map()),
  since: /** @type {Map<string, number>} */ (new Map()), // the last change of a server's status
  calls: /** @type {Map<string, Call>} */ (new Map()),
  asked: /** @type {Map<string, { params: Loose }>} */ (new Map()),
  questions: /** @type {Map<string, AskedQuestion>} */ (new Map()),
  logins: /** @type {Map<string, Login>} */ (new Map()),
  notice: /** @type {Facts | null} */ (null),
  lists: /** @type {Map<string, Lists>} */ (new Map()),
  chosen: "", // the server that is shown, if there is one
  pinned: /** @type {Set<string>} */ (
    new Set(JSON.parse(sessionStorage.getItem("inspector-pinned") ?? "[]"))
  ),
};

/** @type {Record<string, Map<string, unknown>>} */
const PLACES = {
  server: known.servers,
  call: known.calls,
  asked: known.asked,
  question: known.questions,
  login: known.logins,
};

const MAX_CALLS = 1000;

const changedKinds = /** @type {Set<string>} */ (new Set());

/** Handle an update from the stream. Of several at once, only the last is drawn. */
export function takeNews(/** @type {News} */ news) {
  if (!changedKinds.size) queueMicrotask(tellChanges);
  for (const [kind, name, value] of news.items) {
    if (kind === "server" && value?.status !== known.servers.get(name)?.status) {
      known.since.set(name, Date.now());
    }
    if (kind === "notice") known.notice = value;
    else if (value === null) PLACES[kind].delete(name);
    else PLACES[kind].set(name, value);
    changedKinds.add(kind);
  }
  for (const name of known.calls.keys()) {
    if (known.calls.size <= MAX_CALLS) break;
    known.calls.delete(name);
    known.asked.delete(name);
  }
  for (const [name, wire] of Object.entries(news.wire)) {
    wireOf(name).take(wire);
    changedKinds.add("wire");
  }
}

export function tellChanges() {
  const kinds = [...changedKinds];
  changedKinds.clear();
  for (const kind of kinds) changed(kind);
}

/** Return the servers as `[name, state]`, in the order of their file. */
export function orderedServers() {
  return [...known.servers].sort(([, left], [, right]) => left.order - right.order);
}

/** Return how a server is called: as it calls itself, after the name it is configured under. */
export function shownName(/** @type {string} */ name) {
  const state = known.servers.get(name);
  const own = textOf(state?.server?.title) || textOf(state?.server?.name);
  if (!own || own === name) return cut(name, 200);
  return name === state?.target ? cut(own, 200) : `${cut(name, 100)} · ${cut(own, 100)}`;
}

export function server() {
  return known.servers.get(known.chosen);
}

export function mayCall() {
  return known.allow !== "look" && server()?.status !== "recorded";
}

export function setPinned(/** @type {string} */ name, /** @type {boolean} */ pinned) {
  if (pinned) known.pinned.add(name);
  else known.pinned.delete(name);
  sessionStorage.setItem("inspector-pinned", JSON.stringify([...known.pinned]));
  changed("call");
}

/** Choose the server whose offers and wire are shown; empty: there is none. */
export function chooseServer(/** @type {string} */ name) {
  known.chosen = name;
}

/** Say what the page may do: `look`, `call` or `add`. */
export function allow(/** @type {string} */ grant) {
  known.allow = grant;
}

/** Say whether the program of the page responds. */
export function setGone(/** @type {boolean} */ isGone) {
  if (known.isGone === isGone) return;
  known.isGone = isGone;
  changed("gone");
}

/** Forget the lists of a server, which have changed; they are fetched when it is chosen. */
export function forgetLists(/** @type {string} */ name) {
  known.lists.delete(name);
}

/** The lists of a server, fetched once, and again when they have changed. */
export async function loadLists(/** @type {string} */ name, fresh = false) {
  const state = known.servers.get(name);
  if (!state || !["connected", "recorded"].includes(state.status)) return;
  const nothing = { tools: [], resources: [], templates: [], prompts: [], odd: {} };
  const lists = { ...nothing, errors: {}, loading: true };
  if (!known.lists.has(name)) known.lists.set(name, lists);
  changed("lists");
  try {
    const found = await get("/api/lists", { server: name, ...(fresh ? { fresh: 1 } : {}) });
    known.lists.set(name, { ...found, odd: {} });
    get("/api/faults", { server: name }).then(
      (odd) => {
        known.lists.set(name, { ...found, odd });
        changed("lists");
      },
      () => {},
    );
  } catch (error) {
    known.lists.set(name, { ...lists, loading: false, errors: { tools: factsOf(error) } });
  }
  changed("lists");
}

// Milliseconds between two fetches of lists that the server announces as changed.
const LISTS_PAUSE = 1000;

/** By server: whether they are wanted once more. @type {Map<string, boolean>} */
const listsAskedFor = new Map();

/** Load the lists of a server, at a limited rate if it announces changes all the time. */
export async function loadListsSoon(/** @type {string} */ name) {
  if (listsAskedFor.has(name)) return void listsAskedFor.set(name, true);
  listsAskedFor.set(name, false);
  await loadLists(name);
  setTimeout(() => {
    const isWanted = listsAskedFor.get(name);
    listsAskedFor.delete(name);
    if (isWanted) loadListsSoon(name);
  }, LISTS_PAUSE);
}

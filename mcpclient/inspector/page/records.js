// The state of the page: servers, calls, questions, and the loaded rows of each server's wire.

const CHUNK = 200;
const MAX_CHUNKS = 100;

const known = {
  allow: "look",
  servers: new Map(),
  calls: new Map(),
  asked: new Map(),
  questions: new Map(),
  logins: new Map(),
  notice: null,
  lists: new Map(),
  wires: new Map(),
  chosen: null,
  pinned: new Set(JSON.parse(sessionStorage.getItem("inspector-pinned") ?? "[]")),
};

const listeners = new Map();
/** Call `work` whenever something of a kind has changed. */
function on(kind, work) {
  if (!listeners.has(kind)) listeners.set(kind, []);
  listeners.get(kind).push(work);
}

function changed(kind, name) {
  for (const work of listeners.get(kind) ?? []) work(name);
}

const PLACES = { server: "servers", call: "calls", asked: "asked", question: "questions", login: "logins" };
const MAX_CALLS = 1000;

const changedKinds = new Set();
/** Handle an update from the stream. Of several at once, only the last is drawn. */
function takeNews(news) {
  if (!changedKinds.size) queueMicrotask(tellChanges);
  for (const [kind, name, value] of news.items) {
    if (kind === "notice") known.notice = value;
    else if (kind in PLACES) {
      const place = known[PLACES[kind]];
      if (value === null) place.delete(name);
      else place.set(name, value);
    }
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

function tellChanges() {
  const kinds = [...changedKinds];
  changedKinds.clear();
  for (const kind of kinds) changed(kind);
}

function server() {
  return known.servers.get(known.chosen);
}

function mayCall() {
  return known.allow !== "look" && server()?.status !== "recorded";
}

function setPinned(name, pinned) {
  if (pinned) known.pinned.add(name);
  else known.pinned.delete(name);
  sessionStorage.setItem("inspector-pinned", JSON.stringify([...known.pinned]));
  changed("call");
}

/** The lists of a server, fetched once, and again when they have changed. */
async function loadLists(name, fresh = false) {
  const state = known.servers.get(name);
  if (!state || !["connected", "recorded"].includes(state.status)) return;
  const lists = { tools: [], resources: [], templates: [], prompts: [], odd: {}, errors: {}, loading: true };
  if (!known.lists.has(name)) known.lists.set(name, lists);
  changed("lists");
  try {
    const query = fresh ? { server: name, fresh: "1" } : { server: name };
    const found = await get("/api/lists", query);
    known.lists.set(name, found);
    get("/api/schemas", { server: name }).then(({ odd }) => {
      if (!odd.length || known.lists.get(name) !== found) return;
      known.lists.set(name, { ...found, odd: { ...found.odd, tools: [...(found.odd.tools ?? []), ...odd] } });
      changed("lists");
    }, () => {});
  } catch (error) {
    known.lists.set(name, { ...lists, loading: false, errors: { tools: error.facts } });
  }
  changed("lists");
}

// Milliseconds between two fetches of lists that the server announces as changed.
const LISTS_PAUSE = 1000;
const listsAskedFor = new Map(); // by server: whether they are wanted once more
/** Load the lists of a server, at a limited rate if it announces changes all the time. */
async function loadListsSoon(name) {
  if (listsAskedFor.has(name)) return void listsAskedFor.set(name, true);
  listsAskedFor.set(name, false);
  await loadLists(name);
  setTimeout(() => {
    const isWanted = listsAskedFor.get(name);
    listsAskedFor.delete(name);
    if (isWanted) loadListsSoon(name);
  }, LISTS_PAUSE);
}

/** One server's wire: its length, and the loaded rows, in chunks. */
class Wire {
  constructor(name) {
    this.name = name;
    this.first = 0;
    this.next = 0;
    this.counts = {};
    this.chunks = new Map();
    this.asked = new Set();
    this.wanted = [];
  }

  take(news) {
    this.first = news.first;
    this.next = news.next;
    this.counts = news.counts;
    for (const row of news.rows) this.keep(row);
    this.forget();
  }

  keep(row) {
    const chunk = Math.floor(row[0] / CHUNK);
    if (!this.chunks.has(chunk)) this.chunks.set(chunk, new Map());
    this.chunks.get(chunk).set(row[0], row);
  }

  /** Forget the oldest chunks; they are requested again when they come into view. */
  forget() {
    for (const chunk of this.chunks.keys()) {
      if (this.chunks.size <= MAX_CHUNKS) break;
      this.chunks.delete(chunk);
    }
  }

  /** Return a row; undefined while it is being loaded. */
  row(number) {
    const chunk = Math.floor(number / CHUNK);
    const row = this.chunks.get(chunk)?.get(number);
    if (row === undefined && number >= this.first && number < this.next) this.want(chunk);
    return row;
  }

  /** Load a chunk soon. Of those that a quick scroll passes by, only the last are loaded. */
  want(chunk) {
    if (!this.wanted.length) {
      setTimeout(() => {
        for (const each of new Set(this.wanted.slice(-2))) this.load(each);
        this.wanted = [];
      }, 40);
    }
    if (this.wanted[this.wanted.length - 1] !== chunk) this.wanted.push(chunk);
  }

  async load(chunk) {
    if (this.asked.has(chunk)) return;
    this.asked.add(chunk);
    try {
      const query = { server: this.name, first: chunk * CHUNK, count: CHUNK };
      for (const row of (await get("/api/rows", query)).rows) this.keep(row);
      this.forget();
    } finally {
      this.asked.delete(chunk);
    }
    changed("wire");
  }
}

function wireOf(name) {
  if (!known.wires.has(name)) known.wires.set(name, new Wire(name));
  return known.wires.get(name);
}

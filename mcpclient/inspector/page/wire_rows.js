// @ts-check
// The rows of each server's wire: those in view are loaded, in chunks, and forgotten again.

import { get } from "./api.js";
import { changed } from "./events.js";
import { rowOf } from "./saved.js";

const CHUNK = 200;

const MAX_CHUNKS = 100;

const MAX_METHODS = 100;

const MAX_SPANS = 5000;

let fields = /** @type {string[]} */ ([]);
/** Take the names of a row's fields, in the order of its values. */
export function setRowFields(/** @type {string[]} */ names) {
  fields = names;
}

/** One server's wire: its length, and the loaded rows, in chunks. */
class Wire {
  constructor(/** @type {string} */ name) {
    this.name = name;
    this.first = 0;
    this.next = 0;
    this.counts = /** @type {Record<string, number>} */ ({});
    this.methods = /** @type {Set<string>} */ (new Set());
    // By the number of their request.
    this.spans = /** @type {Map<number, Span>} */ (new Map());
    this.chunks = /** @type {Map<number, Map<number, Row>>} */ (new Map());
    this.asked = /** @type {Set<number>} */ (new Set());
    this.wanted = /** @type {number[]} */ ([]);
  }

  take(/** @type {WireNews} */ news) {
    this.first = news.first;
    this.next = news.next;
    this.counts = news.counts;
    for (const row of news.rows) this.keep(row);
    for (const span of news.spans) this.spans.set(span.number, span);
    this.forget();
  }

  /** Return the faults of all messages that belong to a call of this page. */
  faultsOf(/** @type {string} */ call) {
    return [...this.spans.values()].filter((span) => span.call === call).flatMap((s) => s.faults);
  }

  keep(/** @type {unknown[]} */ values) {
    const row = rowOf(values, fields);
    const chunk = Math.floor(row.number / CHUNK);
    if (!this.chunks.has(chunk)) this.chunks.set(chunk, new Map());
    this.chunks.get(chunk)?.set(row.number, row);
    if (row.kind === "request" && this.methods.size < MAX_METHODS) this.methods.add(row.label);
  }

  /** Forget the oldest chunks; they are requested again when they come into view. */
  forget() {
    for (const chunk of this.chunks.keys()) {
      if (this.chunks.size <= MAX_CHUNKS) break;
      this.chunks.delete(chunk);
    }
    for (const number of this.spans.keys()) {
      if (this.spans.size <= MAX_SPANS) break;
      this.spans.delete(number);
    }
  }

  /** Return a row; undefined while it is being loaded. */
  row(/** @type {number} */ number) {
    const chunk = Math.floor(number / CHUNK);
    const row = this.chunks.get(chunk)?.get(number);
    if (row === undefined && number >= this.first && number < this.next) this.want(chunk);
    return row;
  }

  /** Load a chunk soon. Of those that a quick scroll passes by, only the last are loaded. */
  want(/** @type {number} */ chunk) {
    if (!this.wanted.length) {
      setTimeout(() => {
        for (const each of new Set(this.wanted.slice(-2))) this.load(each);
        this.wanted = [];
      }, 40);
    }
    if (this.wanted[this.wanted.length - 1] !== chunk) this.wanted.push(chunk);
  }

  /** Fetch one row as it is now. */
  async reload(/** @type {number} */ number) {
    const query = { server: this.name, first: number, count: 1 };
    for (const row of (await get("/api/rows", query)).rows) this.keep(row);
  }

  async load(/** @type {number} */ chunk) {
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

const wires = /** @type {Map<string, Wire>} */ (new Map());
/** Return the rows of one server's wire. */
export function wireOf(/** @type {string} */ name) {
  const wire = wires.get(name) ?? new Wire(name);
  wires.set(name, wire);
  return wire;
}

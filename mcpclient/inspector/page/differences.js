// @ts-check
// The differences between two lists of tools, between the calls of two sessions, between values.

import { cut, isObject, jsonText, textOf } from "./text.js";

const MAX_DIFFERENCES = 200;
const MAX_SHOWN_LENGTH = 2000;

// Aligning takes time proportional to the product of both lengths.
const MAX_COMPARED_CALLS = 2000;

/**
 * Return the tools that differ or that only one side has, sorted by name, each as `{name, change,
 * differences}` with `added`, `removed` or `changed`.
 */
export function comparedTools(/** @type {unknown[]} */ left, /** @type {unknown[]} */ right) {
  const [before, after] = [left, right].map(byName);
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  const compared = names.map((name) => {
    if (!before.has(name)) return { name, change: "added", differences: [] };
    if (!after.has(name)) return { name, change: "removed", differences: [] };
    const found = differences(before.get(name), after.get(name));
    return { name, change: found.length ? "changed" : "same", differences: found };
  });
  return compared.filter(({ change }) => change !== "same");
}

function byName(/** @type {unknown[]} */ tools) {
  return new Map(tools.filter(isObject).map((tool) => [textOf(tool.name), tool]));
}

/**
 * Return the calls of two sessions in one order, aligned by method and subject: each as `{method,
 * name, left, right, change, differences}`. A side that has no such call is null.
 */
export function comparedCalls(/** @type {WireCall[]} */ left, /** @type {WireCall[]} */ right) {
  const sides = [left, right].map((calls) => calls.slice(0, MAX_COMPARED_CALLS));
  return aligned(sides[0], sides[1]).map(([before, after]) => {
    const one = before ?? after;
    const found = { method: one?.method, name: subjectOf(one), left: before, right: after };
    if (!before || !after) {
      return { ...found, change: before ? "removed" : "added", differences: [] };
    }
    const changes = [
      ...differences(withoutMeta(before.params), withoutMeta(after.params), "params"),
      ...differences(before.outcome, after.outcome, "outcome"),
    ];
    return { ...found, change: changes.length ? "changed" : "same", differences: changes };
  });
}

function subjectOf(/** @type {WireCall | null} */ call) {
  return textOf(call?.params?.name ?? call?.params?.uri);
}

function withoutMeta(/** @type {unknown} */ params) {
  if (!isObject(params) || Array.isArray(params)) return params;
  const { _meta, ...others } = params;
  return others;
}

/** Return pairs of calls, by their longest common subsequence; null where one side has none. */
function aligned(/** @type {WireCall[]} */ left, /** @type {WireCall[]} */ right) {
  const keys = [left, right].map((calls) =>
    calls.map((call) => `${call.method} ${subjectOf(call)}`),
  );
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        keys[0][i] === keys[1][j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const pairs = /** @type {[WireCall | null, WireCall | null][]} */ ([]);
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && keys[0][i] === keys[1][j]) {
      pairs.push([left[i++], right[j++]]);
    } else if (
      j === right.length ||
      (i < left.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])
    ) {
      pairs.push([left[i++], null]);
    } else pairs.push([null, right[j++]]);
  }
  return pairs;
}

/**
 * Return the differences of two JSON values, at most 200: each as `[path, left, right]`. A value
 * that one side lacks is null there.
 */
/** @param {unknown} left @param {unknown} right */
function differences(left, right, path = "") {
  const found = /** @type {Difference[]} */ ([]);
  // No recursion: values may be nested deeply.
  const waiting = /** @type {Difference[]} */ ([[path, left, right]]);
  while (waiting.length && found.length < MAX_DIFFERENCES) {
    const [place = "", before, after] = waiting.pop() ?? [];
    const kind = kindOf(before);
    if (kind === kindOf(after) && isObject(before) && isObject(after)) {
      const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
      for (const name of (kind === "array" ? names : names.sort()).reverse()) {
        waiting.push([`${place}/${name}`, own(before, name), own(after, name)]);
      }
    } else if (kind !== kindOf(after) || !Object.is(before, after)) {
      found.push([place, short(before), short(after)]);
    }
  }
  return found;
}

function kindOf(/** @type {unknown} */ value) {
  if (value === null || value === undefined) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function own(/** @type {Loose} */ value, /** @type {string} */ name) {
  return Object.hasOwn(value, name) ? value[name] : null;
}

function short(/** @type {unknown} */ value) {
  const text = value !== null && typeof value === "object" ? jsonText(value) : value;
  return typeof text === "string" ? cut(text, MAX_SHOWN_LENGTH) : (text ?? null);
}

// @ts-check
// What a value lacks of its JSON Schema, as far as a form can say it. The server has the last word:
// what is not known here passes.

import { MAX_VARIANTS, resolved } from "./schema_values.js";
import { cut, jsonText } from "./text.js";

const MAX_PROBLEMS = 50;
const MAX_CHECKS = 20000; // of one value: a schema may refer to itself in several places
const MAX_DEPTH = 100;
const MAX_STEPS_OF_PATTERN = 1e6;

const FORMATS = {
  date: [/^\d{4}-\d\d-\d\d$/, "a date such as 2026-07-28"],
  time: [/^\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/i, "a time such as 12:30:00Z"],
  "date-time": [
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i,
    "a time such as 2026-07-28T12:30:00Z",
  ],
  email: [/^[^\s@]+@[^\s@]+$/, "an email address"],
  uri: [/^[A-Za-z][A-Za-z0-9+.-]*:[^\s]*$/, "a URI such as https://example.com/"],
  uuid: [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, "a UUID"],
  ipv4: [/^(\d{1,3}\.){3}\d{1,3}$/, "an IPv4 address"],
};

/** Return the problems of a value, each `{path, text}`; the path has names and indices. */
export function problemsOf(schema, value, root = schema) {
  const budget = { left: MAX_CHECKS, depth: 0 };
  return check(schema, value, root, [], budget).slice(0, MAX_PROBLEMS);
}

function check(given, value, root, path, budget) {
  budget.left -= 1;
  if (budget.left < 0 || given === true || given === undefined) return [];
  if (given === false) return [{ path, text: "is not allowed here" }];
  if (budget.depth >= MAX_DEPTH) return [];
  budget.depth += 1;
  const found = problemsHere(given, value, root, path, budget);
  budget.depth -= 1;
  return found;
}

function problemsHere(given, value, root, path, budget) {
  const schema = resolved(given, root);
  const say = (text) => [{ path, text }];
  const types = typesOf(schema.type);
  if (types.length && !types.some((type) => isOfType(value, type))) {
    return say(`must be ${types.map(withArticle).join(" or ")}`);
  }
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => isSame(each, value))) {
    return say(`must be one of ${cut(schema.enum.map(shownValue).join(", "), 200)}`);
  }
  if ("const" in schema && !isSame(schema.const, value)) {
    return say(`must be ${shownValue(schema.const)}`);
  }
  const found = [];
  if (typeof value === "string") found.push(...textProblems(schema, value));
  if (typeof value === "number") found.push(...numberProblems(schema, value));
  const own = found.map((text) => ({ path, text }));
  if (Array.isArray(value)) own.push(...listProblems(schema, value, root, path, budget));
  else if (value !== null && typeof value === "object") {
    own.push(...memberProblems(schema, value, root, path, budget));
  }
  return [...own, ...choiceProblems(schema, value, root, path, budget)];
}

function typesOf(type) {
  const types = Array.isArray(type) ? type : [type];
  return types.filter((each) => typeof each === "string" && each in ARTICLES);
}

const ARTICLES = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null",
};

function withArticle(type) {
  return ARTICLES[type];
}

function isOfType(value, type) {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") {
    return value !== null && typeof value === "object" && !Array.isArray(value);
  }
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function isSame(left, right) {
  return JSON.stringify(left) === JSON.stringify(right);
}

function shownValue(value) {
  return typeof value === "string" ? value : jsonText(value);
}

function* textProblems(schema, text) {
  const length = [...text].length; // characters, as JSON Schema counts them
  if (length < schema.minLength) {
    yield schema.minLength === 1
      ? "must not be empty"
      : `must have at least ${schema.minLength} characters, not ${length}`;
  }
  if (length > schema.maxLength) {
    yield `must have at most ${schema.maxLength} characters, not ${length}`;
  }
  if (typeof schema.pattern === "string" && !mayMatch(schema.pattern, text)) {
    yield `must match ${cut(schema.pattern, 100)}`;
  }
  const format = Object.hasOwn(FORMATS, schema.format ?? "") ? FORMATS[schema.format] : null;
  if (format && text.length < 1000 && !format[0].test(text)) yield `must be ${format[1]}`;
}

/** Whether a text may match a pattern. One that could take for ever is left to the server. */
function mayMatch(pattern, text) {
  const repeats = (pattern.match(/[*+]|\{\d+,\d*\}/g) ?? []).length;
  const choices = (pattern.match(/\||[^(]\?/g) ?? []).length;
  const isNested = /\)\s*[*+{]/.test(pattern) || /\\[1-9k]/.test(pattern);
  const steps = (text.length + 1) ** (repeats + 1) * 2 ** choices;
  if (isNested || pattern.length > 500 || steps > MAX_STEPS_OF_PATTERN) return true;
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true; // not a pattern of this dialect
  }
}

function* numberProblems(schema, number) {
  if (number < schema.minimum) yield `must be at least ${schema.minimum}`;
  if (number > schema.maximum) yield `must be at most ${schema.maximum}`;
  if (number <= schema.exclusiveMinimum) yield `must be more than ${schema.exclusiveMinimum}`;
  if (number >= schema.exclusiveMaximum) yield `must be less than ${schema.exclusiveMaximum}`;
  const times = number / schema.multipleOf;
  if (schema.multipleOf > 0 && Math.abs(times - Math.round(times)) > 1e-9) {
    yield `must be a multiple of ${schema.multipleOf}`;
  }
}

function listProblems(schema, list, root, path, budget) {
  const found = [];
  const say = (text) => found.push({ path, text });
  if (list.length < schema.minItems) say(`must have at least ${schema.minItems} items`);
  if (list.length > schema.maxItems) say(`must have at most ${schema.maxItems} items`);
  if (
    schema.uniqueItems === true &&
    new Set(list.map((each) => jsonText(each))).size < list.length
  ) {
    say("must not have an item twice");
  }
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const rest = Array.isArray(schema.items) ? undefined : schema.items;
  for (const [index, item] of list.entries()) {
    if (found.length >= MAX_PROBLEMS) break;
    found.push(...check(prefix[index] ?? rest, item, root, [...path, index], budget));
  }
  return found;
}

function memberProblems(schema, value, root, path, budget) {
  const found = [];
  const isObject = schema.properties !== null && typeof schema.properties === "object";
  const properties = isObject ? schema.properties : {};
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (typeof name === "string" && !Object.hasOwn(value, name)) {
      found.push({ path: [...path, name], text: "is required" });
    }
  }
  for (const [name, item] of Object.entries(value)) {
    if (found.length >= MAX_PROBLEMS) break;
    const place = [...path, name];
    if (Object.hasOwn(properties, name)) {
      found.push(...check(properties[name], item, root, place, budget));
    } else if (!schema.patternProperties) {
      found.push(...check(schema.additionalProperties, item, root, place, budget));
    }
  }
  return found;
}

/** The problems with `oneOf` and `anyOf`: those of the alternative that fits best. */
function choiceProblems(schema, value, root, path, budget) {
  const choices = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(choices) || !choices.length) return [];
  /** @type {any[] | null} */
  let least = null;
  for (const choice of choices.slice(0, MAX_VARIANTS)) {
    const found = check(choice, value, root, path, budget);
    if (!found.length) return [];
    if (!least || found.length < least.length) least = found;
  }
  return least ?? [];
}

/** Return a path as people write it: `author.name`, `labels[2]`. */
export function pathText(path) {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`))
    .join("")
    .replace(/^\./, "");
}

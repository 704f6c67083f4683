// @ts-check
// The meaning of a JSON Schema for one value: references followed, alternatives found.

import { isObject, textOf } from "./text.js";

export const MAX_FORM_DEPTH = 6;

export const MAX_VARIANTS = 100;

// How many references and parts of one schema are followed: each may have several more in it.
const MAX_STEPS = 100;

/** Return a schema with its references into the same document followed, and `allOf` merged. */
/** @returns {Schema} */
export function resolved(
  /** @type {Schema | undefined} */ schema,
  /** @type {Schema} */ root,
  budget = { steps: MAX_STEPS },
) {
  if (!isObject(schema) || Array.isArray(schema)) return {};
  budget.steps -= 1;
  if (typeof schema.$ref === "string" && budget.steps > 0) {
    const { $ref, ...others } = schema;
    return { ...resolved(pointed(root, $ref), root, budget), ...others };
  }
  if (Array.isArray(schema.allOf) && budget.steps > 0) {
    const { allOf, ...own } = schema;
    const parts = [...allOf.slice(0, MAX_STEPS).map((part) => resolved(part, root, budget)), own];
    /** @type {Schema} */
    const merged = joined(parts);
    merged.properties = joined(parts.map((part) => part.properties ?? {}));
    merged.required = [
      ...new Set(parts.flatMap((part) => (Array.isArray(part.required) ? part.required : []))),
    ];
    if (!Object.keys(merged.properties).length) delete merged.properties;
    return merged;
  }
  return schema;
}

/** Return one object of several, whatever their members are called. */
/** @template T @param {Record<string, T>[]} objects @returns {Record<string, T>} */
function joined(objects) {
  return Object.fromEntries(objects.flatMap((each) => Object.entries(each)));
}

/** @returns {Schema} */
function pointed(/** @type {Schema} */ root, /** @type {string} */ reference) {
  if (!reference.startsWith("#")) return {};
  let found = /** @type {unknown} */ (root);
  for (const part of reference.slice(1).split("/").slice(1)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return isObject(found) ? found : {};
}

/** Return the alternatives of a schema, each a schema with a `title`; null if there is only one. */
export function alternatives(/** @type {Schema} */ schema, /** @type {Schema} */ root) {
  const choices = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(choices) && choices.length) {
    const found = choices.slice(0, MAX_VARIANTS).map((choice) => resolved(choice, root));
    const constants = found.every((choice) => "const" in choice);
    if (constants) return null; // an enumeration with titles
    const { oneOf, anyOf, ...shared } = schema;
    return found.map((choice) => ({
      ...shared,
      ...choice,
      title: choice.title ?? typeName(choice),
    }));
  }
  if (Array.isArray(schema.type) && schema.type.length > 1 && !schema.enum) {
    return schema.type.slice(0, MAX_VARIANTS).map((type) => ({ ...schema, type, title: type }));
  }
  return null;
}

/** Return the values of an enumeration as `[value, label]`; null for any other schema. */
/** @returns {Choice[] | null} */
export function choicesOf(/** @type {Schema} */ schema) {
  if (Array.isArray(schema.enum)) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.map((value, index) => [value, textOf(names[index]) || shown(value)]);
  }
  if ("const" in schema) return [[schema.const, schema.title ?? shown(schema.const)]];
  const choices = schema.oneOf ?? schema.anyOf;
  if (
    Array.isArray(choices) &&
    choices.length &&
    choices.every((choice) => choice && "const" in choice)
  ) {
    return choices.map((choice) => [choice.const, choice.title ?? shown(choice.const)]);
  }
  return null;
}

function shown(/** @type {unknown} */ value) {
  return typeof value === "string" && value ? value : JSON.stringify(value);
}

/** @returns {string} */
export function typeName(/** @type {Schema} */ schema) {
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : schema.type;
  if (type === "array") return schema.items?.type ? `list of ${schema.items.type}` : "list";
  if (type) return schema.format ? `${type}, ${schema.format}` : type;
  if (choicesOf(schema)) return "choice";
  if (schema.oneOf ?? schema.anyOf) return "one of several kinds";
  return schema.properties ? "object" : "any JSON";
}

/** Whether a value is a secret: it is not kept anywhere. */
export function isSecret(/** @type {Schema} */ schema) {
  return schema.format === "password" || schema.writeOnly === true;
}

/** Return a value without the members that its schema marks as secret. */
/** @param {Schema} schema @param {unknown} value @returns {unknown} */
export function withoutSecrets(schema, value, root = schema, depth = 0) {
  const { properties } = resolved(schema, root);
  if (!isObject(value) || Array.isArray(value) || !properties || depth > MAX_FORM_DEPTH)
    return value;
  const kept = Object.entries(value).filter(
    ([name]) => !isSecret(resolved(Object.hasOwn(properties, name) ? properties[name] : {}, root)),
  );
  return Object.fromEntries(
    kept.map(([name, item]) => [name, withoutSecrets(properties[name], item, root, depth + 1)]),
  );
}

/** Whether a string encodes bytes, which the user can take from a file. */
export function isBytes(/** @type {Schema} */ { contentEncoding, format = "" }) {
  return contentEncoding === "base64" || ["byte", "binary", "base64"].includes(format);
}

/** Return the limits of a value in words, for the line below its field. */
export function limitsOf(/** @type {Schema} */ schema) {
  const said = /** @type {string[]} */ ([]);
  const say = (/** @type {string} */ name, /** @type {string} */ words) =>
    schema[name] !== undefined && said.push(`${words} ${shown(schema[name])}`);
  say("minimum", "at least");
  say("exclusiveMinimum", "more than");
  say("maximum", "at most");
  say("exclusiveMaximum", "less than");
  say("multipleOf", "a multiple of");
  say("minLength", "characters: at least");
  say("maxLength", "characters: at most");
  say("minItems", "items: at least");
  say("maxItems", "items: at most");
  say("pattern", "like");
  return said.join("; ");
}

// @ts-check
// The meaning of a JSON Schema for one value: references followed, alternatives found.

import { textOf } from "./text.js";

export const MAX_FORM_DEPTH = 6;

export const MAX_VARIANTS = 100;

// How many references and parts of one schema are followed: each may have several more in it.
const MAX_STEPS = 100;

/** Return a schema with its references into the same document followed, and `allOf` merged. */
export function resolved(schema, root, budget = { steps: MAX_STEPS }) {
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return {};
  budget.steps -= 1;
  if (typeof schema.$ref === "string" && budget.steps > 0) {
    const { $ref, ...others } = schema;
    return { ...resolved(pointed(root, $ref), root, budget), ...others };
  }
  if (Array.isArray(schema.allOf) && budget.steps > 0) {
    const { allOf, ...own } = schema;
    const parts = [...allOf.slice(0, MAX_STEPS).map((part) => resolved(part, root, budget)), own];
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
function joined(objects) {
  return Object.fromEntries(objects.flatMap((each) => Object.entries(each)));
}

function pointed(root, reference) {
  if (!reference.startsWith("#")) return {};
  let found = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found =
      found !== null && typeof found === "object" && Object.hasOwn(found, name)
        ? found[name]
        : undefined;
  }
  return found ?? {};
}

/** Return the alternatives of a schema, each a schema with a `title`; null if there is only one. */
export function alternatives(schema, root) {
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
export function choicesOf(schema) {
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

function shown(value) {
  return typeof value === "string" && value ? value : JSON.stringify(value);
}

export function typeName(schema) {
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : schema.type;
  if (type === "array") return schema.items?.type ? `list of ${schema.items.type}` : "list";
  if (type) return schema.format ? `${type}, ${schema.format}` : type;
  if (choicesOf(schema)) return "choice";
  if (schema.oneOf ?? schema.anyOf) return "one of several kinds";
  return schema.properties ? "object" : "any JSON";
}

/** Whether a value is a secret: it is not kept anywhere. */
export function isSecret(schema) {
  return schema.format === "password" || schema.writeOnly === true;
}

/** Return a value without the members that its schema marks as secret, and whether it had some. */
export function withoutSecrets(schema, value, root = schema, depth = 0) {
  const { properties } = resolved(schema, root);
  const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isObject || !properties || depth > MAX_FORM_DEPTH) return value;
  const kept = Object.entries(value).filter(
    ([name]) => !isSecret(resolved(Object.hasOwn(properties, name) ? properties[name] : {}, root)),
  );
  return Object.fromEntries(
    kept.map(([name, item]) => [name, withoutSecrets(properties[name], item, root, depth + 1)]),
  );
}

/** Whether a string encodes bytes, which the user can take from a file. */
export function isBytes(schema) {
  return (
    schema.contentEncoding === "base64" || ["byte", "binary", "base64"].includes(schema.format)
  );
}

/** Return the limits of a value in words, for the line below its field. */
export function limitsOf(schema) {
  const said = [];
  const say = (name, words) =>
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

// @ts-check
// The defects of what a server lists. Those of schemas are found by the program of the page.

// The required fields of each list's entries; the first one identifies an entry.
const REQUIRED_FIELDS = {
  tools: ["name", "inputSchema"],
  resources: ["uri", "name"],
  templates: ["uriTemplate", "name"],
  prompts: ["name"],
};
const STRINGS = ["name", "title", "description", "uri", "uriTemplate", "mimeType"];
const OBJECTS = ["inputSchema", "outputSchema", "annotations", "_meta"];

/** Return the defects of a list's entries, each `[index, name, field, reason]`. */
export function listingIssues(kind, entries) {
  const found = [];
  const seen = new Map();
  const [key] = REQUIRED_FIELDS[kind];
  entries.forEach((entry, index) => {
    if (!isObject(entry)) {
      found.push([index, "", "", `is ${kindName(entry)} and not an object`]);
      return;
    }
    const name = typeof entry[key] === "string" ? entry[key] : "";
    for (const [field, reason] of entryIssues(kind, entry))
      found.push([index, name, field, reason]);
    if (!name) return;
    if (seen.has(name)) {
      found.push([index, name, key, `is the same as in entry ${seen.get(name) + 1}`]);
    } else seen.set(name, index);
  });
  return found;
}

function* entryIssues(kind, entry) {
  const has = (field) => Object.hasOwn(entry, field);
  for (const field of REQUIRED_FIELDS[kind]) if (!has(field)) yield [field, "is missing"];
  for (const field of STRINGS) {
    if (has(field) && typeof entry[field] !== "string") {
      yield [field, `is ${kindName(entry[field])} and not a string`];
    }
  }
  if (entry.name === "") yield ["name", "is empty"];
  for (const field of OBJECTS) {
    if (has(field) && !isObject(entry[field])) {
      yield [field, `is ${kindName(entry[field])} and not an object`];
    }
  }
  const schema = entry.inputSchema;
  if (kind === "tools" && isObject(schema) && schema.type !== "object") {
    yield ["inputSchema", 'has a type other than "object"'];
  }
  const list = has("arguments") ? entry.arguments : [];
  if (kind === "prompts" && !(Array.isArray(list) && list.every(isObject))) {
    yield ["arguments", "is not a list of objects"];
  }
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function kindName(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

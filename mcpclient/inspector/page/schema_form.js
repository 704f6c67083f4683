// @ts-check
// A form for a value by its JSON Schema. Each field knows its value; `NOTHING` leaves it out.

import { el, fill, freshId, quiet } from "./dom.js";
import {
  NOTHING,
  booleanField,
  choiceField,
  fileField,
  jsonField,
  numberField,
  problemPlace,
  severalField,
  stringField,
} from "./schema_fields.js";
import {
  MAX_FORM_DEPTH,
  alternatives,
  choicesOf,
  isBytes,
  limitsOf,
  resolved,
  typeName,
} from "./schema_values.js";
import { cut, isObject, textOf } from "./text.js";

// A schema may refer to itself in several places: then each level of a form multiplies its fields.
export const MAX_FIELDS = 300;

const MAX_CHOICES = 500;

let fieldsLeft = MAX_FIELDS;

// References that are being followed: a recursive part of a schema is drawn on demand.
const openReferences = ["#"];

/** @typedef {(schema: Schema, root: Schema, depth: number, about: FieldAbout) => Field} Part */

/** Return the form for an object schema, as tools and elicitations have. */
/** @returns {Required<Field>} */
/** @param {Schema | undefined} schema @param {unknown} initial */
export function schemaForm(schema, initial) {
  fieldsLeft = MAX_FIELDS;
  const root = isObject(schema) ? schema : {};
  const field = objectField(resolved(root, root), root, 0);
  if (initial !== undefined) field.set(initial);
  return { ...field, isControl: false };
}

/** Make some more fields, at the user's request. */
function wantFields() {
  fieldsLeft = Math.max(fieldsLeft, 20);
}

/** Make the field for one value; as JSON where a form would contain itself. */
/** @type {Part} */
function fieldFor(schema, root, depth, about) {
  const reference = schema?.$ref;
  if (typeof reference !== "string") return plainField(schema, root, depth, about);
  if (openReferences.includes(reference)) return jsonField(about);
  openReferences.push(reference);
  try {
    return plainField(schema, root, depth, about);
  } finally {
    openReferences.pop();
  }
}

/** @type {Part} */
function plainField(schema, root, depth, about) {
  const plainSchema = resolved(schema, root);
  fieldsLeft -= 1;
  if (depth >= MAX_FORM_DEPTH || fieldsLeft < 0) return jsonField(about);
  const variants = alternatives(plainSchema, root);
  if (variants) return variantField(variants, root, depth, about);
  const choices = choicesOf(plainSchema);
  if (choices)
    return choices.length > MAX_CHOICES
      ? jsonField(about)
      : choiceField(plainSchema, choices, about);
  const type = Array.isArray(plainSchema.type) ? plainSchema.type[0] : plainSchema.type;
  if (type === "boolean") return booleanField(plainSchema, about);
  if (type === "number" || type === "integer") return numberField(plainSchema, about);
  if (type === "string")
    return isBytes(plainSchema) ? fileField(plainSchema, about) : stringField(plainSchema, about);
  if (type === "null")
    return { element: el("span", { class: "quiet" }, "null"), value: () => null, set: () => {} };
  if (type === "array") return arrayField(plainSchema, root, depth, about);
  if (type === "object" || plainSchema.properties) {
    const field = objectField(plainSchema, root, depth);
    return {
      ...field,
      element: el("fieldset", {}, el("legend", { class: "unseen" }, about.label), field.element),
    };
  }
  return jsonField(about);
}

/** @param {Schema} schema @param {Schema} root @param {number} depth */
function objectField(schema, root, depth) {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = /** @type {Map<string, Field>} */ (new Map());
  const marks = /** @type {[string, Mark][]} */ ([]);
  const element = el("div", { class: "fields" });
  const entries = Object.entries(properties);
  for (const [name, property] of entries) {
    if (fieldsLeft < 0) break;
    const { row, field, mark } = labelled(name, property, root, depth, required.has(name));
    fields.set(name, field);
    marks.push([name, mark]);
    element.append(row);
  }
  let others = /** @type {Field | null} */ (null);
  const more = schema.additionalProperties;
  const isOpen =
    fields.size < entries.length ||
    more === true ||
    (more && typeof more === "object") ||
    (more === undefined && !fields.size && depth > 0);
  if (isOpen && depth < MAX_FORM_DEPTH) {
    others = jsonField({ label: "other members", describedby: undefined, required: false });
    element.append(
      el(
        "label",
        { class: "field" },
        el("span", { class: "name" }, "other members"),
        others.element,
      ),
    );
  }
  if (!fields.size && !others) element.append(quiet("No arguments."));
  return {
    element,
    value() {
      const extra = others?.value();
      const value = isObject(extra) ? { ...extra } : {};
      for (const [name, field] of fields) {
        const item = field.value();
        if (item === NOTHING) continue;
        const isEmpty = isObject(item) && !Array.isArray(item) && !Object.keys(item).length;
        if (isEmpty && !required.has(name)) continue;
        Object.defineProperty(value, name, {
          value: item,
          enumerable: true,
          configurable: true,
          writable: true,
        });
      }
      return value;
    },
    set(/** @type {unknown} */ value) {
      if (!isObject(value)) return;
      for (const [name, field] of fields) if (Object.hasOwn(value, name)) field.set(value[name]);
      const left = Object.entries(value).filter(([name]) => !fields.has(name));
      if (left.length) others?.set(Object.fromEntries(left));
    },
    mark: (/** @type {Problem[]} */ problems) => markEach(marks, problems),
  };
}

/** Give each part the problems of its own. */
/** @param {[part: string | number, mark: Mark][]} marks @param {Problem[]} problems */
function markEach(marks, problems) {
  for (const [name, mark] of marks) {
    const own = problems.filter(({ path }) => path[0] === name);
    mark(own.map(({ path, text }) => ({ path: path.slice(1), text })));
  }
}

/**
 * @param {string} name
 * @param {Schema} property
 * @param {Schema} root
 * @param {number} depth
 * @param {boolean} required
 */
function labelled(name, property, root, depth, required) {
  const schema = resolved(property, root);
  const noteId = freshId();
  const limits = limitsOf(schema);
  const note = [textOf(schema.description), limits].filter(Boolean).join(" · ");
  const title = cut(textOf(schema.title), 200);
  const about = {
    label: cut(name, 200),
    required,
    id: freshId(),
    describedby: note ? noteId : undefined,
  };
  const field = fieldFor(property, root, depth + 1, about);
  if ("default" in schema) field.set(schema.default);
  const heading = [
    el("span", { class: "name" }, title && title !== name ? `${title} ` : cut(name, 200)),
    title !== "" && title !== name && el("span", { class: "quiet" }, cut(name, 200)),
    required && el("span", { class: "required", title: "required" }, "required"),
    el("span", { class: "type" }, cut(typeName(schema), 60)),
  ];
  const place = problemPlace(field);
  const row = el(
    "div",
    { class: "field" },
    field.isControl
      ? el("label", { for: about.id }, heading)
      : el("div", { class: "label" }, heading),
    field.element,
    place.element,
    note !== "" && el("p", { id: noteId, class: "note", dir: "auto" }, cut(note, 1000)),
  );
  return { row, field, mark: place.mark };
}

/** @type {Part} */
function arrayField(schema, root, depth, about) {
  const items = Array.isArray(schema.prefixItems) ? {} : (schema.items ?? {});
  const enumerated = choicesOf(resolved(items, root));
  if (enumerated && enumerated.length <= (schema.uniqueItems ? 100 : 12))
    return severalField(enumerated, about);
  const rows = /** @type {ReturnType<typeof itemRow>[]} */ ([]);
  let whole = /** @type {Field | null} */ (null); // a list that is too long for rows, as JSON
  const list = el("div", { class: "items" });
  const add = el(
    "button",
    { type: "button", class: "small", on: { click: () => (wantFields(), addRow().focus()) } },
    `Add to ${about.label}`,
  );
  let isSet = false;

  /** @returns {HTMLElement} */
  function addRow(/** @type {unknown} */ value = undefined) {
    isSet = true;
    const field = fieldFor(items, root, depth + 1, {
      label: `${about.label}, item ${rows.length + 1}`,
      required: true,
    });
    if (value !== undefined) field.set(value);
    const made = itemRow(field, about, () => {
      rows.splice(rows.indexOf(made), 1);
      add.focus();
    });
    rows.push(made);
    list.append(made.row);
    const control = made.row.querySelector("input, textarea, select, button");
    return control instanceof HTMLElement ? control : add;
  }

  return {
    element: el("div", {}, list, add),
    value() {
      if (whole) return whole.value();
      if (!rows.length && !isSet && !about.required) return NOTHING;
      return rows
        .map(({ field }) => field.value())
        .map((value) => (value === NOTHING ? null : value));
    },
    set(value) {
      rows.splice(0);
      list.replaceChildren();
      if (!Array.isArray(value)) return;
      whole =
        value.length > Math.min(Math.max(fieldsLeft, 20), 100)
          ? jsonField({ label: about.label })
          : null;
      add.hidden = whole !== null;
      if (whole) {
        whole.set(value);
        list.append(whole.element);
      } else for (const item of value) addRow(item);
    },
    mark: (problems) =>
      markEach(
        rows.map(({ mark }, index) => [index, mark]),
        problems,
      ),
  };
}

/** One item of a list, with a button that removes it. */
/** @param {Field} field @param {FieldAbout} about @param {Work} removed */
function itemRow(field, about, removed) {
  const remove = el(
    "button",
    {
      type: "button",
      class: "small",
      "aria-label": `Remove item from ${about.label}`,
      on: { click: () => void (row.remove(), removed()) },
    },
    "✕",
  );
  const place = problemPlace(field);
  const row = el("div", { class: "item" }, field.element, remove, place.element);
  return { row, field, mark: place.mark };
}

/**
 * @param {Schema[]} variants
 * @param {Schema} root
 * @param {number} depth
 * @param {FieldAbout} about
 * @returns {Field}
 */
function variantField(variants, root, depth, about) {
  const holder = el("div", { class: "variant" });
  const select = el(
    "select",
    {
      "aria-label": `Kind of ${about.label}`,
      on: { change: () => void (wantFields(), show(Number(select.value))) },
    },
    variants.map((variant, index) =>
      el("option", { value: String(index) }, cut(textOf(variant.title), 100)),
    ),
  );
  const unnamed = { ...about, id: undefined };
  function show(/** @type {number} */ index) {
    select.value = String(index);
    field = fieldFor({ ...variants[index], title: undefined }, root, depth + 1, unnamed);
    fill(holder, field.element);
  }
  const startsAt = Math.max(
    variants.findIndex((variant) => variant.type !== "null"),
    0,
  );
  let field = jsonField(unnamed);
  show(startsAt);
  return {
    element: el("div", {}, select, holder),
    value: () => field.value(),
    set(value) {
      const fits = variants.findIndex((variant) => fitsRoughly(value, variant));
      show(fits < 0 ? startsAt : fits);
      field.set(value);
    },
    mark: (problems) => field.mark?.(problems),
  };
}

function fitsRoughly(/** @type {unknown} */ value, /** @type {Schema} */ schema) {
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const named = schema.type === "integer" ? "number" : schema.type;
  if (named !== undefined && named !== type) return false;
  if (type !== "object" || !isObject(value)) return true;
  const constants = Object.entries(schema.properties ?? {}).filter(
    ([, each]) => each && "const" in each,
  );
  if (!constants.every(([name, each]) => Object.hasOwn(value, name) && value[name] === each.const))
    return false;
  return (
    !Array.isArray(schema.required) || schema.required.every((name) => Object.hasOwn(value, name))
  );
}

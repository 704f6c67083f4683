// @ts-check
// Fields for single values. Each is `{element, value(), set(value)}`; `NOTHING` leaves it out.

import { el, freshId } from "./dom.js";
import { isSecret } from "./schema_values.js";
import { cut, jsonText, plain, sized, textOf } from "./text.js";

export const NOTHING = Symbol("left out");

/** @typedef {(schema: Schema, about: FieldAbout) => Field} FieldOf */

function attributesOf(/** @type {FieldAbout} */ about) {
  return {
    id: about.id,
    "aria-label": about.id ? undefined : about.label,
    "aria-describedby": about.describedby,
    "aria-required": about.required ? "true" : undefined,
    autocomplete: "off",
    spellcheck: "false",
  };
}

const KINDS_OF_STRINGS = new Map([
  ["date", "date"],
  ["email", "email"],
  ["uri", "url"],
  ["time", "time"],
]);

/** @type {FieldOf} */
export function stringField(schema, about) {
  const isLong = !isSecret(schema) && ((schema.maxLength ?? 0) > 200 || !schema.format);
  const element = isLong
    ? el("textarea", { rows: 1, class: "growing", ...attributesOf(about) })
    : el("input", {
        type: isSecret(schema) ? "password" : (KINDS_OF_STRINGS.get(schema.format ?? "") ?? "text"),
        ...attributesOf(about),
      });
  let isSet = /** @type {boolean | undefined} */ (false);
  // Whoever empties a field that is required wants the empty string.
  element.addEventListener("input", () => (isSet = element.value !== "" || about.required));
  return {
    element,
    isControl: true,
    value: () => (element.value === "" && !isSet ? NOTHING : element.value),
    set(value) {
      element.value = textOf(value);
      isSet = true;
    },
  };
}

/** Return a problem with its place as people write it: `author.name`, `labels[2]`. */
export function problemText(/** @type {Problem} */ { path, text }) {
  const place = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
  return plain(place ? `${place.replace(/^\./, "")}: ${text}` : text);
}

/** A place below a field that says what its value lacks; `mark` takes problems of it. */
export function problemPlace(/** @type {Pick<Field, "element" | "isControl" | "mark">} */ field) {
  const element = el("p", { class: "lacks", id: freshId(), hidden: true });
  const controls = "input, textarea, select";
  const inside = field.isControl ? field.element.querySelector(controls) : null;
  const control = field.element.matches(controls) ? field.element : inside;
  const note = control?.getAttribute("aria-describedby") ?? "";
  return {
    element,
    mark(/** @type {Problem[]} */ problems) {
      const own = problems.filter(({ path }) => !path.length || !field.mark);
      field.mark?.(problems.filter(({ path }) => path.length));
      element.hidden = !own.length;
      element.textContent = own.map((problem) => `${problemText(problem)}.`).join(" ");
      if (!control) return;
      control.setAttribute("aria-invalid", String(own.length > 0));
      control.setAttribute("aria-describedby", own.length ? `${note} ${element.id}` : note);
    },
  };
}

/** @type {FieldOf} */
export function numberField(schema, about) {
  const element = el("input", {
    inputmode: schema.type === "integer" ? "numeric" : "decimal",
    ...attributesOf(about),
  });
  return {
    element,
    isControl: true,
    value() {
      const text = element.value.trim();
      if (text === "") return NOTHING;
      const number = Number(text);
      return Number.isFinite(number) ? number : text; // sent as it is: the server reports the error
    },
    set: (value) => (element.value = textOf(value)),
  };
}

/** @type {FieldOf} */
export function booleanField(schema, about) {
  /** @type {Choice[]} */
  const choices = [
    [true, "true"],
    [false, "false"],
  ];
  return choiceField(schema, choices, about);
}

/** @param {Schema} schema @param {Choice[]} choices @param {FieldAbout} about @returns {Field} */
export function choiceField(schema, choices, about) {
  const blank =
    about.required && "default" in schema
      ? []
      : [el("option", { value: "" }, about.required ? "choose…" : "(left out)")];
  const options = choices.map(([, label], index) =>
    el("option", { value: String(index) }, cut(textOf(label), 200)),
  );
  const element = el("select", attributesOf(about), blank, options);
  return {
    element,
    isControl: true,
    value: () => (element.value === "" ? NOTHING : choices[Number(element.value)][0]),
    set(value) {
      const index = choices.findIndex(
        ([choice]) => JSON.stringify(choice) === JSON.stringify(value),
      );
      element.value = index < 0 ? "" : String(index);
    },
  };
}

/** @type {FieldOf} */
export function fileField(_, about) {
  let data = /** @type {unknown} */ (NOTHING);
  const says = el("span", { class: "quiet" });
  const element = el("input", { type: "file", ...attributesOf(about) });
  element.addEventListener("change", async () => {
    const file = element.files?.[0];
    data = file ? await base64Of(file) : NOTHING;
    says.textContent = file ? ` ${sized(file.size)}, sent as base64` : "";
  });
  return {
    element: el("div", {}, element, says),
    isControl: true,
    value: () => data,
    set(value) {
      data = value;
      says.textContent = ` ${sized(textOf(value).length)} of base64 are set`;
    },
  };
}

async function base64Of(/** @type {Blob} */ file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768)
    text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}

/** @returns {Field} */
export function severalField(/** @type {Choice[]} */ choices, /** @type {FieldAbout} */ about) {
  const boxes = choices.map(([value, label]) => ({
    value,
    box: el("input", { type: "checkbox" }),
    label,
  }));
  return {
    element: el(
      "div",
      { class: "several", role: "group", "aria-label": about.label },
      boxes.map(({ box, label }) => el("label", {}, box, cut(textOf(label), 200))),
    ),
    value() {
      const chosen = boxes.filter(({ box }) => box.checked).map(({ value }) => value);
      return chosen.length || about.required ? chosen : NOTHING;
    },
    set(value) {
      const wanted = new Set(
        (Array.isArray(value) ? value : []).map((each) => JSON.stringify(each)),
      );
      for (const { box, value: each } of boxes) box.checked = wanted.has(JSON.stringify(each));
    },
  };
}

/** A field for any JSON, for a schema that no form can show. */
/** @returns {Field} */
export function jsonField(/** @type {FieldAbout} */ about) {
  const element = el("textarea", {
    rows: 2,
    class: "mono growing",
    placeholder: "JSON",
    ...attributesOf(about),
  });
  return {
    element,
    isControl: true,
    value() {
      const text = element.value.trim();
      if (text === "") return NOTHING;
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    },
    set: (value) => (element.value = jsonText(value, 2)),
  };
}

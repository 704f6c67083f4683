// @ts-check
// Fields for single values. Each is `{element, value(), set(value)}`; `NOTHING` leaves it out.

import { el } from "./dom.js";
import { cut, sized, textOf } from "./text.js";

export const NOTHING = Symbol("left out");

function attributesOf(about) {
  return {
    id: about.id,
    "aria-label": about.id ? undefined : about.label,
    "aria-describedby": about.describedby,
    "aria-required": about.required ? "true" : undefined,
    autocomplete: "off",
    spellcheck: "false",
  };
}

export function stringField(schema, about) {
  const kinds = { date: "date", email: "email", uri: "url", time: "time" };
  const isLong = (schema.maxLength ?? 0) > 200 || !schema.format;
  const element = isLong
    ? el("textarea", { rows: 1, class: "growing", ...attributesOf(about) })
    : el("input", { type: kinds[schema.format] ?? "text", ...attributesOf(about) });
  let isSet = false;
  element.addEventListener("input", () => {
    isSet = element.value !== "";
    element.setCustomValidity(lengthProblem(schema, element.value));
  });
  return {
    element,
    isControl: true,
    value: () => (element.value === "" && !isSet && !about.required ? NOTHING : element.value),
    set(value) {
      element.value = textOf(value);
      isSet = true;
    },
  };
}

/** Report at the field, while typing, that a string is too short or too long. */
function lengthProblem(schema, text) {
  const length = [...text].length; // characters, as JSON Schema counts them
  if (text && length < schema.minLength) return `It needs at least ${schema.minLength} characters.`;
  return length > schema.maxLength ? `It takes at most ${schema.maxLength} characters.` : "";
}

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

export function booleanField(schema, about) {
  const choices = [
    [true, "true"],
    [false, "false"],
  ];
  return choiceField(schema, choices, about);
}

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

export function fileField(schema, about) {
  let data = /** @type {string | symbol} */ (NOTHING);
  const says = el("span", { class: "quiet" });
  const element = el("input", { type: "file", ...attributesOf(about) });
  element.addEventListener("change", async () => {
    const file = element.files[0];
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

async function base64Of(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768)
    text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}

export function severalField(choices, about) {
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
export function jsonField(schema, about) {
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
        element.setCustomValidity("");
        return JSON.parse(text);
      } catch {
        return text;
      }
    },
    set: (value) => (element.value = JSON.stringify(value, null, 2)),
  };
}

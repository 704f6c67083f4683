// @ts-check
// The arguments of a call or an answer: a form by the schema and, on demand, JSON.

import { el, fill } from "./dom.js";
import { schemaForm } from "./schema_form.js";

/** A form by the schema and, in its place on demand, the same as raw JSON. */
export function argumentsEditor(schema, initial, label = "Arguments") {
  let form;
  let canDraw = true;
  try {
    form = schemaForm(schema, initial);
  } catch (error) {
    canDraw = false; // a schema that no form can be made of
    form = {
      element: el(
        "p",
        { class: "warning" },
        `No form can be drawn for this schema (${error.message}).`,
      ),
      value: () => initial ?? {},
      set: () => {},
    };
  }
  const raw = el("textarea", {
    class: "mono growing",
    rows: 6,
    "aria-label": `${label} as JSON`,
    spellcheck: "false",
  });
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  let isRaw = false;
  const modes = el("div", { class: "modes", role: "group", "aria-label": label });
  const formButton = el(
    "button",
    {
      type: "button",
      "aria-pressed": "true",
      disabled: !canDraw,
      on: { click: () => change(false) },
    },
    "Form",
  );
  const rawButton = el(
    "button",
    { type: "button", "aria-pressed": "false", on: { click: () => change(true) } },
    "JSON",
  );
  modes.append(formButton, rawButton);
  const holder = el("div", {}, form.element);

  function parsed() {
    const value = JSON.parse(raw.value || "{}");
    if (value === null || typeof value !== "object" || Array.isArray(value))
      throw new Error("it must be an object");
    return value;
  }
  function change(toRaw) {
    if (toRaw === isRaw) return;
    problem.hidden = true;
    if (toRaw) raw.value = JSON.stringify(form.value(), null, 2);
    else {
      try {
        form = schemaForm(schema, parsed());
      } catch (error) {
        problem.textContent = `This is not a JSON object: ${error.message}`;
        problem.hidden = false;
        return;
      }
    }
    isRaw = toRaw;
    formButton.setAttribute("aria-pressed", String(!isRaw));
    rawButton.setAttribute("aria-pressed", String(isRaw));
    fill(holder, isRaw ? raw : form.element);
  }
  if (!canDraw) change(true);
  return {
    element: el("div", {}, modes, holder, problem),
    value() {
      problem.hidden = true;
      if (!isRaw) return form.value();
      try {
        return parsed();
      } catch (error) {
        problem.textContent = `This is not a JSON object: ${error.message}`;
        problem.hidden = false;
        throw error;
      }
    },
  };
}

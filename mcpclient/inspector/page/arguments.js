// @ts-check
// The arguments of a call or an answer: a form by the schema and, on demand, JSON.

import { post } from "./api.js";
import { el, fill } from "./dom.js";
import { problemText } from "./schema_fields.js";
import { schemaForm } from "./schema_form.js";
import { withoutSecrets } from "./schema_values.js";
import { factsOf, jsonText } from "./text.js";

/** Return a form, or a warning in its place for a schema that none can be made of. */
function formOrWarning(/** @type {Schema | undefined} */ schema, /** @type {Draft} */ draft) {
  try {
    return { ...schemaForm(schema, draft.value), canDraw: true };
  } catch (error) {
    const text = `No form can be drawn for this schema (${factsOf(error).text}).`;
    const element = el("p", { class: "warning" }, text);
    return { element, value: () => draft.value ?? {}, mark: () => {}, canDraw: false };
  }
}

/** @returns {Loose} */
function parsedObject(/** @type {string} */ text) {
  const value = JSON.parse(text);
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new Error("it must be an object");
  return value;
}

/**
 * A form by the schema and, in its place on demand, the same as raw JSON. `draft`: what `draft()`
 * returned earlier, `{value}` or `{raw}`.
 */
/** @param {Schema | undefined} schema @param {Draft} draft */
export function argumentsEditor(schema, draft = {}, label = "Arguments") {
  let form = formOrWarning(schema, draft);
  const { canDraw } = form;
  const raw = el("textarea", { class: "mono growing", rows: 6, spellcheck: "false" });
  raw.setAttribute("aria-label", `${label} as JSON`);
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  let isRaw = false;
  const modes = el("div", { class: "modes", role: "group", "aria-label": label });
  const mode = (/** @type {string} */ name, /** @type {boolean} */ toRaw) =>
    el("button", { type: "button", on: { click: () => change(toRaw) } }, name);
  const buttons = [mode("Form", false), mode("JSON", true)];
  buttons[0].disabled = !canDraw;
  modes.append(...buttons);
  const holder = el("div", {});

  const parsedText = () => parsedObject(raw.value || "{}");
  function tell(/** @type {unknown} */ error) {
    problem.textContent = `This is not a JSON object: ${factsOf(error).text}`;
    problem.hidden = false;
  }
  function change(/** @type {boolean} */ toRaw) {
    if (toRaw === isRaw) return;
    problem.hidden = true;
    if (toRaw) raw.value = jsonText(form.value(), 2);
    else {
      try {
        form = { ...schemaForm(schema, parsedText()), canDraw };
      } catch (error) {
        return tell(error);
      }
    }
    show(toRaw);
  }
  function show(/** @type {boolean} */ toRaw) {
    isRaw = toRaw;
    buttons[0].setAttribute("aria-pressed", String(!isRaw));
    buttons[1].setAttribute("aria-pressed", String(isRaw));
    fill(holder, isRaw ? raw : form.element);
  }
  if (draft.raw !== undefined) raw.value = draft.raw;
  else if (!canDraw) raw.value = jsonText(form.value(), 2);
  show(draft.raw !== undefined || !canDraw);
  return {
    element: el("div", {}, modes, holder, problem),
    /** Return the value; throws, and says why, if it is not an object. */
    value() {
      problem.hidden = true;
      if (!isRaw) return form.value();
      try {
        return parsedText();
      } catch (error) {
        tell(error);
        throw error;
      }
    },
    /** Return what is worth keeping; no secret is. */
    draft() {
      if (isRaw && /"(password|writeOnly)"/.test(jsonText(schema ?? {}))) return {};
      return isRaw ? { raw: raw.value } : { value: withoutSecrets(schema ?? {}, form.value()) };
    },
    /** Mark the fields that have problems, and return all problems. */
    async check() {
      const asked = post("/api/check", { schema, value: this.value() });
      const found = await asked.catch(() => []); // the call itself says what is wrong
      if (!isRaw) form.mark(found);
      return found;
    },
  };
}

/** Return what is said above a form whose value does not fit; `sendAnyway` may be left out. */
export function problemSummary(
  /** @type {Problem[]} */ problems,
  /** @type {Work?} */ sendAnyway = null,
) {
  const shown = problems.slice(0, 10).map((problem) => el("li", {}, problemText(problem)));
  return el(
    "div",
    { class: "problem lacking", role: "alert" },
    el("p", {}, "Not sent, because it does not fit the schema:"),
    el("ul", {}, shown),
    problems.length > shown.length && el("p", {}, `and ${problems.length - shown.length} more`),
    sendAnyway && el("button", { type: "button", on: { click: sendAnyway } }, "Send anyway"),
  );
}

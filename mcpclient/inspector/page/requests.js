// @ts-check
// The request that an offer makes: `{verb, method, element, params()}`.

import { argumentsEditor } from "./arguments.js";
import { callQuietly, runCall } from "./calls.js";
import { calm, el, fill, freshId, quiet } from "./dom.js";
import { problemPlace } from "./schema_fields.js";
import { MAX_FIELDS } from "./schema_form.js";
import { mayCall, server } from "./store.js";
import { cut, isObject, textOf } from "./text.js";

/** @typedef {{ name?: unknown, description?: unknown, required?: unknown }} Declared */
/** @typedef {(name: string, input: HTMLInputElement, offers: Element) => Promise<void>} Complete */

/** @typedef {(entry: Offer, draft: Draft) => OfferRequest} RequestOf */

/** @type {RequestOf} */
export function toolRequest(entry, draft) {
  const given = draft.params ? { value: draft.params.arguments } : draft;
  const body = argumentsEditor(entry.entry.inputSchema, given);
  const taskSupport = takesTasks(entry.entry);
  const asTask = el("input", { type: "checkbox" });
  return {
    verb: "Call",
    method: "tools/call",
    element: body.element,
    params: () => ({
      name: entry.entry.name,
      arguments: body.value(),
      ...(asTask.checked ? { task: {} } : {}),
    }),
    options: taskSupport ? [el("label", { class: "check" }, asTask, "as a task")] : [],
    draft: body.draft,
    check: () => body.check(),
  };
}

/** Whether a call of a tool may ask to become a task. */
function takesTasks(/** @type {Definition} */ tool) {
  const requests = server()?.capabilities?.tasks?.requests;
  const support = textOf(tool.execution?.taskSupport);
  return requests?.tools?.call !== undefined && ["optional", "required"].includes(support);
}

/** @type {RequestOf} */
export function resourceRequest(entry) {
  const canSubscribe = server()?.capabilities?.resources?.subscribe === true;
  const params = () => ({ uri: entry.key });
  return {
    verb: "Read",
    method: "resources/read",
    element: el("div"),
    params,
    draft: () => ({}),
    check: () => [],
    more: (outcome) =>
      (canSubscribe ? ["Subscribe", "Unsubscribe"] : []).map((label) => {
        const method = `resources/${label.toLowerCase()}`;
        return el("button", { on: { click: () => runCall(method, params(), outcome) } }, label);
      }),
  };
}

/** @type {RequestOf} */
export function templateRequest(entry, draft) {
  const names = [
    ...new Set(
      [...entry.key.slice(0, 4000).matchAll(/\{[+#./;?&]?([^}]+)\}/g)].flatMap((found) =>
        variablesIn(found[1]),
      ),
    ),
  ];
  const reference = { type: "ref/resource", uri: entry.key };
  const fields = completedFields(
    names.map((name) => ({ name })),
    reference,
    draft.fields ?? {},
  );
  const given = draft.params?.uri;
  const expanded = () =>
    given && !Object.keys(fields.value()).length
      ? given
      : expandTemplate(entry.key, fields.value());
  return {
    verb: "Read",
    method: "resources/read",
    element: fields.element,
    params: () => ({ uri: expanded() }),
    draft: () => ({ fields: fields.value() }),
    check: () => [],
  };
}

function variablesIn(/** @type {string} */ list) {
  return list.split(",").map((name) => name.replace(/[*:].*$/, "").trim());
}

/** Expand a URI template as far as the page needs it: values percent-encoded, lists not split. */
/** @param {string} template @param {Record<string, string>} values */
function expandTemplate(template, values) {
  /** @type {Record<string, [first: string, between: string, isNamed: boolean]>} */
  const operators = {
    "": ["", ",", false],
    "+": ["", ",", false],
    "#": ["#", ",", false],
    ".": [".", ".", false],
    "/": ["/", "/", false],
    ";": [";", ";", true],
    "?": ["?", "&", true],
    "&": ["&", "&", true],
  };
  return template.replace(/\{([+#./;?&]?)([^}]+)\}/g, (_, operator, list) => {
    const [first, between, named] = operators[operator];
    const encode = "+#".includes(operator) && operator ? encodeURI : encodeURIComponent;
    const parts = variablesIn(list)
      .filter((name) => Object.hasOwn(values, name))
      .map((name) => (named ? `${name}=${encode(values[name])}` : encode(values[name])));
    return parts.length ? first + parts.join(between) : "";
  });
}

/** @type {RequestOf} */
export function promptRequest(entry, draft) {
  const { arguments: given } = entry.entry;
  const declared = (Array.isArray(given) ? given : []).filter(isObject).slice(0, MAX_FIELDS);
  const reference = { type: "ref/prompt", name: entry.entry.name };
  const fields = completedFields(declared, reference, draft.params?.arguments ?? {});
  return {
    verb: "Get",
    method: "prompts/get",
    element: fields.element,
    params: () => ({ name: entry.entry.name, arguments: fields.value() }),
    draft: () => ({ params: { arguments: fields.value() } }),
    check: fields.check,
  };
}

/** A field of plain text; `complete` asks the server, if that can help. */
/** @param {Declared} declared @param {string} value @param {Complete | null} complete */
function completedField({ name: declaredName, description, required }, value, complete) {
  const name = textOf(declaredName);
  const id = freshId();
  const offers = el("datalist", { id: `${id}-offers` });
  const input = el("input", {
    id,
    list: complete ? `${id}-offers` : undefined,
    autocomplete: "off",
    "aria-required": required ? "true" : undefined,
    value,
  });
  if (complete)
    input.addEventListener(
      "input",
      calm(200, () => complete(name, input, offers)),
    );
  const label = el(
    "label",
    { for: id },
    el("span", { class: "name" }, cut(name, 200)),
    required === true && el("span", { class: "required" }, "required"),
  );
  const place = problemPlace({ element: input, isControl: true });
  const row = el(
    "div",
    { class: "field" },
    label,
    input,
    place.element,
    offers,
    textOf(description) !== "" &&
      el("p", { class: "note", dir: "auto" }, cut(textOf(description), 1000)),
  );
  return { name, input, row, required: required === true, mark: place.mark };
}

/** Fields of plain text that the server helps to complete. */
/** @param {Declared[]} declared @param {Loose} reference @param {Loose} values */
function completedFields(declared, reference, values) {
  const completes = server()?.capabilities?.completions !== undefined && mayCall();
  const fields = declared.map((about) => {
    const name = textOf(about.name);
    const value = Object.hasOwn(values, name) ? textOf(values[name]) : "";
    return completedField(about, value, completes ? complete : null);
  });
  /** @type {Complete} */
  async function complete(name, input, offers) {
    const others = fields.filter((field) => field.name !== name && field.input.value);
    const context = Object.fromEntries(others.map((field) => [field.name, field.input.value]));
    const params = {
      ref: reference,
      argument: { name, value: input.value },
      context: { arguments: context },
    };
    const outcome = await callQuietly("completion/complete", params);
    const found = outcome.result?.completion?.values;
    if (Array.isArray(found))
      fill(
        offers,
        found.slice(0, 100).map((value) => el("option", { value: cut(textOf(value), 500) })),
      );
  }
  return {
    element: el(
      "div",
      { class: "fields" },
      fields.map(({ row }) => row),
      fields.length === 0 && quiet("No arguments."),
    ),
    /** Mark the fields that are required and empty, and return these problems. */
    check() {
      const lacking = fields.filter(({ required, input }) => required && input.value === "");
      const found = lacking.map(({ name }) => ({ path: [name], text: "is required" }));
      for (const { mark, name } of fields) {
        const own = found.filter(({ path }) => path[0] === name);
        mark(own.map(({ text }) => ({ path: [], text })));
      }
      return found;
    },
    value: () =>
      Object.fromEntries(
        fields
          .filter(({ input }) => input.value !== "")
          .map(({ name, input }) => [name, input.value]),
      ),
  };
}

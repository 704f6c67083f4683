// @ts-check
// The request that an offer makes: `{verb, method, element, params()}`.

import { argumentsEditor } from "./arguments.js";
import { callQuietly, runCall } from "./calls.js";
import { calm, el, fill, freshId, quiet } from "./dom.js";
import { problemPlace } from "./schema_fields.js";
import { MAX_FIELDS } from "./schema_form.js";
import { mayCall, server } from "./store.js";
import { cut, textOf } from "./text.js";

export function toolRequest(entry, draft) {
  const given = draft?.params ? { value: draft.params.arguments } : draft;
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
function takesTasks(tool) {
  const requests = server()?.capabilities?.tasks?.requests;
  const support = tool.execution?.taskSupport;
  return requests?.tools?.call !== undefined && ["optional", "required"].includes(support);
}

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
    draft?.fields ?? {},
  );
  const given = draft?.params?.uri;
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

function variablesIn(list) {
  return list.split(",").map((name) => name.replace(/[*:].*$/, "").trim());
}

/** Expand a URI template as far as the page needs it: values percent-encoded, lists not split. */
function expandTemplate(template, values) {
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

export function promptRequest(entry, draft) {
  const declared = Array.isArray(entry.entry.arguments)
    ? entry.entry.arguments.filter((each) => each && typeof each === "object").slice(0, MAX_FIELDS)
    : [];
  const reference = { type: "ref/prompt", name: entry.entry.name };
  const fields = completedFields(declared, reference, draft?.params?.arguments ?? {});
  return {
    verb: "Get",
    method: "prompts/get",
    element: fields.element,
    params: () => ({ name: entry.entry.name, arguments: fields.value() }),
    draft: () => ({ params: { arguments: fields.value() } }),
    check: fields.check,
  };
}

/** A field of plain text; `complete(name, input, offers)` asks the server, if that can help. */
function completedField({ name, description, required }, value, complete) {
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
    el("span", { class: "name" }, cut(textOf(name), 200)),
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
    description && el("p", { class: "note", dir: "auto" }, cut(textOf(description), 1000)),
  );
  return { name, input, row, required: required === true, mark: place.mark };
}

/** Fields of plain text that the server helps to complete. */
function completedFields(declared, reference, values) {
  const completes = server()?.capabilities?.completions !== undefined && mayCall();
  const fields = declared.map((about) => {
    const value = Object.hasOwn(values, about.name) ? textOf(values[about.name]) : "";
    return completedField(about, value, completes && complete);
  });
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
      !fields.length && quiet("No arguments."),
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

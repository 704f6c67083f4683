// The middle pane: one tool, resource or prompt with its form, or one call with its result.

const detail = () => document.getElementById("detail");
const drafts = new Map();
const subject = { key: null, callName: null };

/** Show an offer. `draft`: params to fill the form with. */
function showOffer(entry, draft) {
  const key = `${known.chosen} ${entry.kind} ${entry.key}`;
  if (draft === undefined && subject.key === key && !subject.callName) return;
  Object.assign(subject, { key, callName: null });
  const make = { tools: toolRequest, resources: resourceRequest, templates: templateRequest, prompts: promptRequest }[entry.kind];
  const request = make(entry, draft ?? drafts.get(key));
  const outcome = el("div", { class: "outcomes" });
  const call = () => {
    drafts.set(key, request.params());
    runCall(request.method, request.params(), outcome, timeoutOf(request));
  };
  const buttons = mayCall() && !entry.odd?.some(([field]) => field === "name" || field === "uri")
    ? [el("button", { class: "primary", id: "call", title: "Ctrl+Enter", on: { click: call } }, request.verb), ...(request.more?.(outcome) ?? [])]
    : [];
  fill(
    detail(),
    el("header", { class: "subject" }, el("h2", { dir: "auto" }, cut(entry.title, 300)), ...buttons),
    entry.entry.title && entry.entry.title !== entry.title && el("p", { class: "subtitle", dir: "auto" }, cut(textOf(entry.entry.title), 300)),
    hintsOf(entry.entry),
    entry.odd && el("ul", { class: "warning" }, entry.odd.map(([field, reason]) => el("li", {}, `${field || "The entry"} ${reason}.`))),
    descriptionOf(entry.entry),
    el("form", { on: { submit: (event) => (event.preventDefault(), buttons.length && call()), keydown: (event) => submitKeys(event, call) } }, request.element, buttons.length ? optionsOf(request) : []),
    outcome,
    copyButtons(() => [request.method, request.params()]),
    el("details", { class: "raw" }, el("summary", {}, "As the server describes it"), jsonTree(entry.entry, "Definition", 1)),
  );
  showLatestCall(request.method, entry.key, outcome);
}

function submitKeys(event, call) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (mayCall()) call();
  }
}

function optionsOf(request) {
  request.timeout = el("input", { inputmode: "decimal", class: "short", placeholder: "30", id: freshId() });
  return el("p", { class: "options" }, el("label", { for: request.timeout.id }, "Timeout in seconds"), request.timeout);
}

function timeoutOf(request) {
  const text = request.timeout?.value.trim();
  return text && Number.isFinite(Number(text)) ? Number(text) : null;
}

function descriptionOf(entry) {
  if (typeof entry.description !== "string" || !entry.description) return null;
  return entry.description.length > 20000 ? longText(entry.description) : el("p", { class: "description", dir: "auto" }, entry.description);
}

const HINTS = {
  readOnlyHint: ["says it only reads", null],
  destructiveHint: ["may destroy", "says it destroys nothing"],
  idempotentHint: ["says repeating it changes nothing", null],
  openWorldHint: ["reaches outside", "says it stays inside"],
};

function hintsOf(entry) {
  const annotations = entry.annotations !== null && typeof entry.annotations === "object" ? entry.annotations : {};
  const said = Object.entries(HINTS)
    .map(([name, [yes, no]]) => (annotations[name] === true ? yes : annotations[name] === false ? no : null))
    .filter(Boolean);
  if (typeof entry.mimeType === "string") said.push(entry.mimeType);
  if (entry._meta?.["ui/resourceUri"] ?? entry._meta?.ui?.resourceUri) said.push("has a user interface of its own, which is not shown here");
  return said.length > 0 && el("p", { class: "hints" }, said.map((hint) => el("span", { class: "tag" }, cut(hint, 80))));
}

// The request, by kind of offer: `{verb, method, element, params()}`

function toolRequest(entry, draft) {
  const body = argumentsEditor(entry.entry.inputSchema, draft?.arguments);
  return {
    verb: "Call",
    method: "tools/call",
    element: body.element,
    params: () => ({ name: entry.entry.name, arguments: body.value() }),
  };
}

function resourceRequest(entry) {
  const canSubscribe = server()?.capabilities?.resources?.subscribe === true;
  const params = () => ({ uri: entry.key });
  return {
    verb: "Read",
    method: "resources/read",
    element: el("div"),
    params,
    more: (outcome) => canSubscribe ? [
      el("button", { on: { click: () => runCall("resources/subscribe", params(), outcome) } }, "Subscribe"),
      el("button", { on: { click: () => runCall("resources/unsubscribe", params(), outcome) } }, "Unsubscribe"),
    ] : [],
  };
}

function templateRequest(entry, draft) {
  const names = [...new Set([...entry.key.slice(0, 4000).matchAll(/\{[+#./;?&]?([^}]+)\}/g)].flatMap((found) => found[1].split(",").map((name) => name.replace(/[*:].*$/, "").trim())))];
  const reference = { type: "ref/resource", uri: entry.key };
  const fields = completedFields(names.map((name) => ({ name })), reference, {});
  const expanded = () => draft?.uri && !Object.keys(fields.value()).length ? draft.uri : expandTemplate(entry.key, fields.value());
  return { verb: "Read", method: "resources/read", element: fields.element, params: () => ({ uri: expanded() }) };
}

/** Expand a URI template as far as the page needs it: values percent-encoded, lists not split. */
function expandTemplate(template, values) {
  const operators = { "": ["", ",", false], "+": ["", ",", false], "#": ["#", ",", false], ".": [".", ".", false], "/": ["/", "/", false], ";": [";", ";", true], "?": ["?", "&", true], "&": ["&", "&", true] };
  return template.replace(/\{([+#./;?&]?)([^}]+)\}/g, (_, operator, list) => {
    const [first, between, named] = operators[operator];
    const encode = "+#".includes(operator) && operator ? encodeURI : encodeURIComponent;
    const parts = list.split(",").map((name) => name.replace(/[*:].*$/, "").trim()).filter((name) => Object.hasOwn(values, name))
      .map((name) => (named ? `${name}=${encode(values[name])}` : encode(values[name])));
    return parts.length ? first + parts.join(between) : "";
  });
}

function promptRequest(entry, draft) {
  const declared = Array.isArray(entry.entry.arguments) ? entry.entry.arguments.filter((each) => each && typeof each === "object").slice(0, MAX_FIELDS) : [];
  const reference = { type: "ref/prompt", name: entry.entry.name };
  const fields = completedFields(declared, reference, draft?.arguments ?? {});
  return { verb: "Get", method: "prompts/get", element: fields.element, params: () => ({ name: entry.entry.name, arguments: fields.value() }) };
}

/** Fields of plain text that the server helps to complete. */
function completedFields(declared, reference, values) {
  const completes = server()?.capabilities?.completions !== undefined && mayCall();
  const fields = declared.map(({ name, description, required }) => {
    const id = freshId();
    const offers = el("datalist", { id: `${id}-offers` });
    const input = el("input", { id, list: completes ? `${id}-offers` : undefined, autocomplete: "off", "aria-required": required ? "true" : undefined, value: Object.hasOwn(values, name) ? textOf(values[name]) : "" });
    if (completes) input.addEventListener("input", calm(200, () => complete(name, input, offers)));
    const label = el("label", { for: id }, el("span", { class: "name" }, cut(textOf(name), 200)), required === true && el("span", { class: "required" }, "required"));
    const row = el("div", { class: "field" }, label, input, offers, description && el("p", { class: "note", dir: "auto" }, cut(textOf(description), 1000)));
    return { name, input, row };
  });
  async function complete(name, input, offers) {
    const context = Object.fromEntries(fields.filter((field) => field.name !== name && field.input.value).map((field) => [field.name, field.input.value]));
    const params = { ref: reference, argument: { name, value: input.value }, context: { arguments: context } };
    const outcome = await callQuietly("completion/complete", params);
    const found = outcome.result?.completion?.values;
    if (Array.isArray(found)) fill(offers, found.slice(0, 100).map((value) => el("option", { value: cut(textOf(value), 500) })));
  }
  return {
    element: el("div", { class: "fields" }, fields.map(({ row }) => row), !fields.length && el("p", { class: "quiet" }, "It takes nothing.")),
    value: () => Object.fromEntries(fields.filter(({ input }) => input.value !== "").map(({ name, input }) => [name, input.value])),
  };
}

/** A form by the schema and, in its place on demand, the same as raw JSON. */
function argumentsEditor(schema, initial, label = "Arguments") {
  let form;
  let canDraw = true;
  try {
    form = schemaForm(schema, initial);
  } catch (error) {
    canDraw = false; // a schema that no form can be made of
    form = { element: el("p", { class: "warning" }, `No form can be drawn for this schema (${error.message}).`), value: () => initial ?? {}, set: () => {} };
  }
  const raw = el("textarea", { class: "mono growing", rows: 6, "aria-label": `${label} as JSON`, spellcheck: "false" });
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  let isRaw = false;
  const modes = el("div", { class: "modes", role: "group", "aria-label": label });
  const formButton = el("button", { type: "button", "aria-pressed": "true", disabled: !canDraw, on: { click: () => change(false) } }, "Form");
  const rawButton = el("button", { type: "button", "aria-pressed": "false", on: { click: () => change(true) } }, "JSON");
  modes.append(formButton, rawButton);
  const holder = el("div", {}, form.element);

  function parsed() {
    const value = JSON.parse(raw.value || "{}");
    if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("it must be an object");
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

// Calls

/** Make a request and show its progress in `place`. */
async function runCall(method, params, place, timeout = null) {
  fill(place, el("p", { class: "quiet" }, "Sending…"));
  try {
    const { id } = await post("/api/request", { server: known.chosen, method, params, timeout });
    followCall(id, place);
  } catch (error) {
    fill(place, errorBox(error.facts ?? { type: "Not sent", text: error.message }));
  }
}

/** Make a request whose outcome is used and not shown. */
async function callQuietly(method, params) {
  try {
    const { id } = await post("/api/request", { server: known.chosen, method, params });
    await new Promise((resolve) => {
      const look = () => {
        if (known.calls.get(id)?.state === "running" || !known.calls.has(id)) return setTimeout(look, 50);
        return resolve();
      };
      look();
    });
    return await get("/api/call", { id });
  } catch {
    return {};
  }
}

const followed = new Map();
on("call", () => {
  for (const [place, name] of followed) if (!place.isConnected) followed.delete(place);
    else drawCall(place, name);
});

function followCall(name, place) {
  followed.set(place, name);
  drawCall(place, name);
}

function drawCall(place, name) {
  const call = known.calls.get(name);
  if (!call || place.shown === `${name} ${call.state} ${call.milliseconds}`) return;
  place.shown = `${name} ${call.state} ${call.milliseconds}`;
  if (call.state === "running") {
    const { progress, total } = call.progress ?? {};
    const bar = el("progress", { max: total ?? undefined, value: total ? progress : undefined, "aria-label": "Progress" });
    if (place.cancel?.isConnected) return void fill(place.bar, bar, ` ${progressText(call)}`);
    place.bar = el("span", {}, bar, ` ${progressText(call)}`);
    place.cancel = el("button", { on: { click: () => post("/api/cancel", { id: name }) } }, "Cancel");
    return void fill(place, el("div", { class: "running" }, place.bar, place.cancel));
  }
  followed.delete(place);
  announce(`${call.subject || call.method}: ${call.state}`);
  fill(place, stateLine(name, call), el("p", { class: "quiet" }, "Loading…"));
  get("/api/call", { id: name }).then(
    (outcome) => fill(place, stateLine(name, call), outcomeView(outcome)),
    (error) => fill(place, stateLine(name, call), errorBox(error.facts)),
  );
}

function stateLine(name, call) {
  const pin = el("button", { class: "small", "aria-pressed": String(known.pinned.has(name)), on: { click: () => (setPinned(name, !known.pinned.has(name)), pin.setAttribute("aria-pressed", String(known.pinned.has(name)))) } }, "Pin");
  return el("p", { class: `state ${call.state}` }, el("strong", {}, call.state === "done" ? "Done" : "Failed"), ` in ${lasted(call.milliseconds)}`, pin);
}

function showLatestCall(method, key, place) {
  const found = [...known.calls].filter(([, call]) => call.server === known.chosen && call.method === method && call.subject === key).pop();
  if (found) followCall(found[0], place);
}

/** Show a past call: its request, its result, and a button to repeat it. */
function showCall(name) {
  const call = known.calls.get(name);
  if (!call) return;
  const { params } = known.asked.get(name) ?? { params: {} };
  Object.assign(subject, { key: null, callName: name });
  const outcome = el("div", { class: "outcomes" });
  fill(
    detail(),
    el(
      "header",
      { class: "subject" },
      el("h2", { dir: "auto" }, cut(call.subject || call.method, 300)),
      mayCall() && el("button", { class: "primary", id: "call", on: { click: () => runCall(call.method, params, outcome) } }, "Replay"),
      el("button", { on: { click: () => editAgain(call.method, params) } }, "Edit"),
    ),
    el("p", { class: "subtitle" }, call.method),
    jsonTree(params, "Params", 3),
    outcome,
    copyButtons(() => [call.method, params]),
  );
  followCall(name, outcome);
}

/** Open the form of a request, filled in as it was; raw JSON if there is no form. */
function editAgain(method, params) {
  const kinds = new Map([["tools/call", ["tools", params?.name]], ["resources/read", ["resources", params?.uri]], ["prompts/get", ["prompts", params?.name]]]);
  const [kind, key] = kinds.get(method) ?? [];
  const entry = kind && entriesOf(kind).find((each) => each.key === key);
  if (entry) {
    search.value = "";
    showKind(kind);
    catalog.activate(shownNow.entries.findIndex((each) => each.key === key), { quiet: true });
    showOffer(entry, params);
  } else showRawRequest(method, params);
  showView("subject");
  document.querySelector("#detail input, #detail textarea")?.focus();
}

/** A request of any method, with its params as JSON. */
function showRawRequest(method = "ping", params = {}) {
  Object.assign(subject, { key: null, callName: "raw" });
  const name = el("input", { id: freshId(), value: method });
  const raw = el("textarea", { class: "mono growing", rows: 6, "aria-label": "Params as JSON", value: JSON.stringify(params ?? {}, null, 2) });
  const outcome = el("div", { class: "outcomes" });
  const call = () => {
    try {
      runCall(name.value.trim(), JSON.parse(raw.value || "{}"), outcome);
    } catch (error) {
      fill(outcome, errorBox({ type: "Not sent", text: `The params are not JSON: ${error.message}` }));
    }
  };
  fill(
    detail(),
    el("header", { class: "subject" }, el("h2", {}, "Any request"), mayCall() && el("button", { class: "primary", id: "call", on: { click: call } }, "Send")),
    el("form", { on: { submit: (event) => (event.preventDefault(), call()), keydown: (event) => submitKeys(event, call) } },
      el("div", { class: "field" }, el("label", { for: name.id }, "Method"), name), raw),
    outcome,
  );
}

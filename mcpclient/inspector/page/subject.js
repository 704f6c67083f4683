// @ts-check
// The middle pane: one tool, resource or prompt with its form.

import { runCall, showLatestCall } from "./calls.js";
import { copyButtons } from "./copying.js";
import { isShowing, showDetail } from "./detail.js";
import { el, freshId, longText } from "./dom.js";
import { promptRequest, resourceRequest, templateRequest, toolRequest } from "./requests.js";
import { known, mayCall } from "./store.js";
import { cut, textOf } from "./text.js";
import { jsonTree } from "./tree.js";

const drafts = new Map();

/** Show an offer. `draft`: params to fill the form with. */
export function showOffer(entry, draft) {
  const key = `${known.chosen} ${entry.kind} ${entry.key}`;
  if (draft === undefined && isShowing(key)) return;
  const make = {
    tools: toolRequest,
    resources: resourceRequest,
    templates: templateRequest,
    prompts: promptRequest,
  }[entry.kind];
  const request = make(entry, draft ?? drafts.get(key));
  const outcome = el("div", { class: "outcomes" });
  const call = () => {
    drafts.set(key, request.params());
    runCall(request.method, request.params(), outcome, timeoutOf(request));
  };
  const buttons =
    mayCall() && !entry.odd?.some(([field]) => field === "name" || field === "uri")
      ? [
          el(
            "button",
            { class: "primary", id: "call", title: "Ctrl+Enter", on: { click: call } },
            request.verb,
          ),
          ...(request.more?.(outcome) ?? []),
        ]
      : [];
  showDetail(
    key,
    el(
      "header",
      { class: "subject" },
      el("h2", { dir: "auto" }, cut(entry.title, 300)),
      ...buttons,
    ),
    entry.entry.title &&
      entry.entry.title !== entry.title &&
      el("p", { class: "subtitle", dir: "auto" }, cut(textOf(entry.entry.title), 300)),
    hintsOf(entry.entry),
    entry.odd &&
      el(
        "ul",
        { class: "warning" },
        entry.odd.map(([field, reason]) => el("li", {}, `${field || "The entry"} ${reason}.`)),
      ),
    descriptionOf(entry.entry),
    el(
      "form",
      {
        on: {
          submit: (event) => (event.preventDefault(), buttons.length && call()),
          keydown: (event) => submitKeys(event, call),
        },
      },
      request.element,
      buttons.length ? optionsOf(request) : [],
    ),
    outcome,
    copyButtons(() => [request.method, request.params()]),
    el(
      "details",
      { class: "raw" },
      el("summary", {}, "As the server describes it"),
      jsonTree(entry.entry, "Definition", 1),
    ),
  );
  showLatestCall(request.method, entry.key, outcome);
}

export function submitKeys(event, call) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (mayCall()) call();
  }
}

function optionsOf(request) {
  request.timeout = el("input", {
    inputmode: "decimal",
    class: "short",
    placeholder: "30",
    id: freshId(),
  });
  return el(
    "p",
    { class: "options" },
    el("label", { for: request.timeout.id }, "Timeout in seconds"),
    request.timeout,
  );
}

function timeoutOf(request) {
  const text = request.timeout?.value.trim();
  return text && Number.isFinite(Number(text)) ? Number(text) : null;
}

function descriptionOf(entry) {
  if (typeof entry.description !== "string" || !entry.description) return null;
  return entry.description.length > 20000
    ? longText(entry.description)
    : el("p", { class: "description", dir: "auto" }, entry.description);
}

const HINTS = {
  readOnlyHint: ["says it only reads", null],
  destructiveHint: ["may destroy", "says it destroys nothing"],
  idempotentHint: ["says repeating it changes nothing", null],
  openWorldHint: ["reaches outside", "says it stays inside"],
};

function hintsOf(entry) {
  const annotations =
    entry.annotations !== null && typeof entry.annotations === "object" ? entry.annotations : {};
  const said = Object.entries(HINTS)
    .map(([name, [yes, no]]) =>
      annotations[name] === true ? yes : annotations[name] === false ? no : null,
    )
    .filter(Boolean);
  if (typeof entry.mimeType === "string") said.push(entry.mimeType);
  if (entry._meta?.["ui/resourceUri"] ?? entry._meta?.ui?.resourceUri)
    said.push("has a user interface of its own, which is not shown here");
  return (
    said.length > 0 &&
    el(
      "p",
      { class: "hints" },
      said.map((hint) => el("span", { class: "tag" }, cut(hint, 80))),
    )
  );
}

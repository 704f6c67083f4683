// @ts-check
// The middle pane: one tool, resource or prompt with its form.

import { problemSummary } from "./arguments.js";
import { callButton, outcomePlace, runCall, showLatestCall } from "./calls.js";
import { copyButtons } from "./copying.js";
import { isShowing, showDetail } from "./detail.js";
import { calm, copyButton, el, fill, focusIn, formOf, freshId, head, longText } from "./dom.js";
import { draftOf, keepDraft } from "./drafts.js";
import { promptRequest, resourceRequest, templateRequest, toolRequest } from "./requests.js";
import { known, mayCall } from "./store.js";
import { cut, factsOf, jsonText, textOf } from "./text.js";
import { errorBox, jsonTree } from "./tree.js";
import { faultList } from "./verdict.js";

/** Show an offer. `draft`: what to fill the form with; by default what was typed there before. */
export function showOffer(/** @type {Offer} */ entry, /** @type {Draft?} */ draft = null) {
  const place = /** @type {[string, string]} */ ([entry.kind, entry.key]);
  if (draft === null && isShowing(place)) return;
  try {
    drawOffer(entry, draft);
  } catch (error) {
    // Whatever the server says of it, the rest of the page goes on.
    const text = `This cannot be drawn: ${factsOf(error).text}`;
    showDetail(
      place,
      head(entry.title),
      errorBox({ type: "Not shown", text }),
      jsonTree(entry.entry, "Definition", 2),
    );
  }
}

const REQUESTS = {
  tools: toolRequest,
  resources: resourceRequest,
  templates: templateRequest,
  prompts: promptRequest,
};

function drawOffer(/** @type {Offer} */ entry, /** @type {Draft?} */ draft) {
  const key = `${known.chosen} ${entry.kind} ${entry.key}`;
  const given = draft ?? draftOf(key) ?? {};
  const request = REQUESTS[entry.kind](entry, given);
  const outcome = outcomePlace();
  const lacking = el("div");
  const options = el("div");
  async function call(isAnyway = false) {
    let params;
    let problems;
    try {
      params = request.params();
      problems = await request.check();
    } catch {
      return; // the editor says what is wrong
    }
    fill(lacking, problems.length > 0 && !isAnyway && problemSummary(problems, () => call(true)));
    if (problems.length && !isAnyway) {
      lacking.scrollIntoView({ block: "nearest" });
      focusIn("#detail form", '[aria-invalid="true"]');
      return;
    }
    runCall(request.method, params, outcome, timeoutOf(request));
  }
  const again = calm(200, async () => {
    if (!lacking.childNodes.length) return;
    const problems = await request.check();
    fill(lacking, problems.length > 0 && problemSummary(problems, () => call(true)));
  });
  const isNamed = [entry.entry.name, entry.entry.uri, entry.entry.uriTemplate].includes(entry.key);
  const buttons =
    mayCall() && isNamed
      ? [callButton(request.verb, () => call()), ...(request.more?.(outcome) ?? [])]
      : [];
  if (buttons.length) fill(options, optionsOf(request, given.timeout));
  const send = () => buttons.length > 0 && call();
  const form = formOf(send, lacking, request.element, options);
  form.addEventListener("input", () => (outcome.classList.add("stale"), again()));
  keepDraft(form, key, () => ({ ...request.draft(), timeout: request.timeout?.value }));
  showDetail([entry.kind, entry.key], offerParts(entry, request, buttons, outcome, form));
  showLatestCall(request.method, entry.key, outcome);
}

/**
 * Return the elements that show an offer, around its form.
 * @param {Offer} entry
 * @param {OfferRequest} request
 * @param {Child[]} buttons
 * @param {Element} outcome
 * @param {Element} form
 */
function offerParts(entry, request, buttons, outcome, form) {
  const { title } = entry.entry;
  return [
    head(entry.title, ...buttons),
    textOf(title) !== "" &&
      title !== entry.title &&
      el("p", { class: "subtitle", dir: "auto" }, cut(textOf(title), 300)),
    outcome,
    hintsOf(entry.entry),
    faultList(entry.odd ?? []),
    descriptionOf(entry.entry),
    form,
    copyButtons(
      () => [request.method, request.params()],
      copyButton("Copy arguments", () => {
        const { arguments: values, ...others } = request.params();
        return jsonText(values ?? others, 2);
      }),
    ),
    el(
      "details",
      {},
      el("summary", {}, "As the server describes it"),
      jsonTree(entry.entry, "Definition", 1),
      copyButton("Copy definition", () => jsonText(entry.entry, 2), "small"),
    ),
  ];
}

function optionsOf(/** @type {OfferRequest} */ request, timeout = "") {
  request.timeout = el("input", {
    value: timeout,
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
    request.options,
  );
}

function timeoutOf(/** @type {OfferRequest} */ request) {
  const text = request.timeout?.value.trim();
  return text && Number.isFinite(Number(text)) ? Number(text) : null;
}

function descriptionOf(/** @type {Definition} */ entry) {
  if (typeof entry.description !== "string" || !entry.description) return null;
  return entry.description.length > 20000
    ? longText(entry.description)
    : el("p", { class: "description", dir: "auto" }, entry.description);
}

const HINTS = {
  readOnlyHint: ["read-only (claimed)", ""],
  destructiveHint: ["may destroy", "destroys nothing (claimed)"],
  idempotentHint: ["idempotent (claimed)", ""],
  openWorldHint: ["reaches outside", "stays inside (claimed)"],
};

function hintsOf(/** @type {Definition} */ entry) {
  const { annotations } = entry;
  const said = Object.entries(HINTS)
    .map(([name, [yes, no]]) =>
      annotations?.[name] === true ? yes : annotations?.[name] === false ? no : "",
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

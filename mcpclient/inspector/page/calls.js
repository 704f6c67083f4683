// @ts-check
// Calls made from this page: their progress, their results, and making them again.

import { get, post } from "./api.js";
import { copyButtons } from "./copying.js";
import { isShowing, showDetail } from "./detail.js";
import {
  announce,
  byId,
  copyButton,
  el,
  fill,
  first,
  formOf,
  head,
  withLabel,
  quiet,
} from "./dom.js";
import { draftOf, keepDraft } from "./drafts.js";
import { showView } from "./layout.js";
import { outcomeView } from "./results.js";
import { go, on, until } from "./events.js";
import { known, mayCall, server, setPinned } from "./store.js";
import { cut, factsOf, jsonText, lasted, plain, textOf } from "./text.js";
import { errorBox, jsonTree } from "./tree.js";
import { countedFaults, faultList } from "./verdict.js";
import { wireOf } from "./wire_rows.js";

/** The place for the outcome of a request: above its form, so that it is seen. */
export function outcomePlace() {
  return el("section", { class: "outcomes", "aria-label": "Outcome" });
}

/** The button that makes a request; it shows while one is under way. */
export function callButton(/** @type {string} */ verb, /** @type {Work} */ call) {
  const button = el("button", { class: "primary", id: "call", title: "Ctrl+Enter" }, verb);
  button.addEventListener("click", call);
  return button;
}

/** Mark the button of the request at hand as busy, or not. */
function showBusy(/** @type {boolean} */ isBusy) {
  const button = first("#call");
  button?.setAttribute("aria-busy", String(isBusy));
}

/**
 * Make a request and show its progress in `place`.
 * @param {string} method
 * @param {Loose} params
 * @param {Element} place
 * @param {number | null} [timeout]
 */
export async function runCall(method, params, place, timeout = null) {
  fill(place, quiet("Sending…"));
  place.classList.remove("stale");
  showBusy(true);
  byId("subject").scrollTop = 0;
  try {
    const { id } = await post("/api/request", { server: known.chosen, method, params, timeout });
    followCall(id, place);
  } catch (error) {
    showBusy(false);
    fill(place, errorBox(factsOf(error)));
  }
}

/** Make a request whose outcome is used and not shown. */
/** @param {string} method @param {Loose} params @returns {Promise<Outcome>} */
export async function callQuietly(method, params) {
  try {
    const { id } = await post("/api/request", { server: known.chosen, method, params });
    await until("call", () => (known.calls.get(id)?.state ?? "running") !== "running");
    return await get("/api/call", { id });
  } catch {
    return {};
  }
}

/** Each place of an outcome that is on the page, with the name of its call and what it shows. */
const followed = /** @type {Map<Element, Following>} */ (new Map());
/** @typedef {{ name: string, shown: string, parts: Element[] }} Following */

on("call", () => {
  for (const [place, following] of followed) {
    if (place.isConnected) drawCall(place, following);
    else followed.delete(place);
  }
});

export function progressText(/** @type {Call} */ call) {
  const { progress, total, message } = call.progress ?? {};
  if (progress === undefined) return "running";
  const said = [
    total ? `${textOf(progress)} of ${textOf(total)}` : textOf(progress),
    textOf(message),
  ];
  return cut(said.filter(Boolean).join(" "), 300);
}

function followCall(/** @type {string} */ name, /** @type {Element} */ place) {
  const following = { name, shown: "", parts: [] };
  followed.set(place, following);
  drawCall(place, following);
}

function drawCall(/** @type {Element} */ place, /** @type {Following} */ following) {
  const { name } = following;
  const call = known.calls.get(name);
  const shown = `${call?.state} ${call?.milliseconds}`;
  if (!call || following.shown === shown) return;
  following.shown = shown;
  if (call.state === "running") return drawRunning(place, following, call);
  followed.delete(place);
  if (place.isConnected) showBusy(false);
  announce(`${call.subject || call.method}: ${call.state}`);
  fill(place, verdict(name, call), quiet("Loading…"));
  get("/api/call", { id: name }).then(
    (outcome) =>
      fill(place, verdict(name, call), outcomeView(outcome), restartButton(name, call, place)),
    (error) => fill(place, verdict(name, call), errorBox(factsOf(error))),
  );
}

/** A button that starts a server that has crashed, and makes the call again. */
/** @param {string} name @param {Call} call @param {Element} place */
function restartButton(name, call, place) {
  if (!mayCall() || call.server !== known.chosen || server()?.status !== "lost") return null;
  const restart = async () => {
    await post("/api/connect", { server: call.server });
    await until("server", () => known.servers.get(call.server)?.status === "connected");
    runCall(call.method, known.asked.get(name)?.params ?? {}, place);
  };
  return el("button", { on: { click: restart } }, "Restart and call again");
}

/** @param {Element} place @param {Following} following @param {Call} call */
function drawRunning(place, following, call) {
  const { progress, total } = call.progress ?? {};
  const bar = el("progress", {
    max: total ?? undefined,
    value: total ? progress : undefined,
    "aria-label": "Progress",
  });
  if (!following.parts.length) {
    const cancel = () => post("/api/cancel", { id: following.name });
    following.parts = [el("span"), el("span", { class: "tag", hidden: true })];
    const button = el("button", { on: { click: cancel } }, "Cancel");
    fill(place, el("div", { class: "underway" }, following.parts, button));
  }
  const [shown, task] = following.parts;
  fill(shown, bar, ` ${progressText(call)}`);
  showTask(task, call.task);
}

/** Show the state of the task that a call has become. */
function showTask(/** @type {Element} */ place, /** @type {Call["task"]} */ task) {
  if (!task) return;
  place.removeAttribute("hidden");
  const said = [`task ${textOf(task.taskId)}: ${textOf(task.status)}`, textOf(task.statusMessage)];
  place.textContent = plain(cut(said.filter(Boolean).join(", "), 300));
}

/** Return the verdict over a result: how the call ended, and what violates the protocol in it. */
function verdict(/** @type {string} */ name, /** @type {Call} */ call) {
  const faults = wireOf(call.server).faultsOf(name);
  return [stateLine(name, call, faults), faultList(faults)];
}

/** @param {string} name @param {Call} call @param {Fault[]} faults */
function stateLine(name, call, faults) {
  const pin = el(
    "button",
    {
      class: "small",
      "aria-pressed": String(known.pinned.has(name)),
      on: {
        click() {
          setPinned(name, !known.pinned.has(name));
          pin.setAttribute("aria-pressed", String(known.pinned.has(name)));
        },
      },
    },
    "Pin",
  );
  return el(
    "p",
    { class: `state ${call.state}` },
    el(
      "span",
      {},
      el("strong", {}, call.state === "done" ? "Done" : "Failed"),
      ` in ${lasted(call.milliseconds)}`,
      faults.length > 0 && el("strong", { class: "bad" }, `, ${countedFaults(faults.length)}`),
    ),
    pin,
  );
}

/** Show the latest call of what is shown, if there was one. */
/** @param {string} method @param {string} key @param {Element} place */
export function showLatestCall(method, key, place) {
  const found = [...known.calls]
    .filter(
      ([, call]) => call.server === known.chosen && call.method === method && call.subject === key,
    )
    .pop();
  if (found) followCall(found[0], place);
}

/** Show a past call: its request, its result, and a button to repeat it. */
export function showCall(/** @type {string} */ name) {
  const call = known.calls.get(name);
  if (!call) return;
  const { params } = known.asked.get(name) ?? { params: {} };
  const outcome = outcomePlace();
  showDetail(
    ["call", name],
    head(
      call.subject || call.method,
      mayCall() && callButton("Replay", () => runCall(call.method, params, outcome)),
      el("button", { on: { click: () => go("edit", call.method, params) } }, "Edit"),
    ),
    el("p", { class: "subtitle" }, call.method),
    outcome,
    jsonTree(params, "Params", 3),
    copyButtons(
      () => [call.method, params],
      copyButton("Copy arguments", () => jsonText(params?.arguments ?? params, 2)),
    ),
  );
  followCall(name, outcome);
}

/** A request of any method, with its params as JSON. */
export function showRawRequest(
  /** @type {string | undefined} */ method = undefined,
  /** @type {Loose} */ params = {},
) {
  const draft = method === undefined ? draftOf("raw") : undefined;
  const name = el("input", { value: draft?.method ?? method ?? "ping" });
  const raw = el("textarea", {
    class: "mono growing",
    rows: 6,
    "aria-label": "Params as JSON",
    value: draft?.raw ?? jsonText(params, 2),
  });
  const outcome = outcomePlace();
  const call = () => {
    try {
      runCall(name.value.trim(), JSON.parse(raw.value || "{}"), outcome);
    } catch (error) {
      fill(
        outcome,
        errorBox({ type: "Not sent", text: `The params are not JSON: ${factsOf(error).text}` }),
      );
    }
  };
  const form = formOf(() => mayCall() && call(), withLabel("Method", name), raw);
  keepDraft(form, "raw", () => ({ method: name.value, raw: raw.value }));
  showDetail(
    ["raw", ""],
    head("Any request", mayCall() && callButton("Send", call)),
    outcome,
    form,
  );
}

let replays = 0;
/** Repeat a request and show the call, unless the user has chosen something else meanwhile. */
export async function replay(/** @type {string} */ method, /** @type {Loose} */ params) {
  replays += 1;
  const what = /** @type {[string, string]} */ (["replay", String(replays)]);
  showDetail(what, quiet("Sending…"));
  go("calls");
  showView("subject");
  const isWanted = () => isShowing(what);
  try {
    const { id } = await post("/api/request", { server: known.chosen, method, params });
    await until("call", () => known.calls.has(id));
    if (isWanted()) showCall(id);
  } catch (error) {
    if (isWanted()) showDetail(what, errorBox(factsOf(error)));
  }
}

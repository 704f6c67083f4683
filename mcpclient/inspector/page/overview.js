// @ts-check
// The server: its description, its state, and the actions on its connection.

import { post } from "./api.js";
import { approvalView } from "./approval.js";
import { callQuietly, showRawRequest } from "./calls.js";
import { showCompare } from "./compare.js";
import { prependProblem, showDetail } from "./detail.js";
import {
  buttonRow,
  copyButton,
  el,
  fill,
  formOf,
  freshId,
  head,
  withLabel,
  longText,
  quiet,
} from "./dom.js";
import { exchangesView } from "./http_view.js";
import { loginView } from "./login.js";
import { configurationOf } from "./snippets.js";
import { known, loadLists, mayCall, server, shownName } from "./store.js";
import { cut, jsonText, textOf } from "./text.js";
import { attempt, errorBox, factList, jsonTree } from "./tree.js";

/** @type {Record<string, string>} */
const STATUS_WORDS = {
  connected: "connected",
  connecting: "connecting…",
  reconnecting: "connecting again…",
  failed: "failed",
  needs_auth: "needs a login",
  needs_client_registration: "needs a client id",
  needs_approval: "needs approval",
  closed: "not connected",
  lost: "the connection was lost",
  recorded: "recorded",
  disabled: "disabled",
  denied: "denied by policy",
  deferred: "connects when used",
};

export function statusText(/** @type {ServerState | undefined} */ state) {
  if (known.isGone) return "the program of this page has ended";
  const { exit_code: code, type } = state?.error ?? {};
  if (state?.status === "lost" && type === "ProcessExited") {
    return typeof code === "number" ? `ended with exit code ${code}` : "the server has ended";
  }
  const words = state ? (STATUS_WORDS[state.status] ?? state.status) : "";
  const began = known.since.get(known.chosen);
  if (!state?.status.endsWith("connecting") || began === undefined) return words;
  const limit = state.timeout ? ` of ${state.timeout} s` : "";
  return `${words} ${Math.round((Date.now() - began) / 1000)} s${limit}`;
}

export function showOverview() {
  const state = server();
  if (!state) return void showDetail(["server", ""], quiet("There is no server."));
  const info = state.server ?? {};
  /** @type {[string, unknown][]} */
  const rows = [
    ["Name", info.title ? info.name : undefined],
    ["Version", info.version],
    ["Status", statusText(state)],
    ["Since", state.since && new Date(state.since * 1000).toLocaleString()],
    ["Transport", state.transport],
    ["Revision", state.version && `${state.version} (${state.era ?? "unknown"} era)`],
    ["Recorded", state.recorded],
    ["Authorization", authText(state)],
    [
      "Headers sent",
      state.headers_are_computed ? "computed for each request" : state.headers?.join(", "),
    ],
    [
      "Environment",
      state.env?.length ? `${state.env.join(", ")} (values are not shown)` : undefined,
    ],
    ["Handled by this client", state.answers?.join(", ")],
  ];
  showDetail(
    ["server", ""],
    head(shownName(known.chosen), buttonRow(serverButtons(state))),
    el("p", { class: "quiet path", dir: "auto" }, cut(state.target ?? "", 400)),
    state.status === "connected" &&
      el("p", { class: "hints" }, "Choose a tool, a resource or a prompt to call, read or get it."),
    state.status === "needs_approval"
      ? approvalView(known.chosen)
      : state.error && errorBox(state.error),
    factList(rows.filter(([, value]) => textOf(value) !== "")),
    state.has_login && loginView(),
    state.instructions ? [el("h3", {}, "Instructions"), longText(state.instructions)] : null,
    Object.keys(state.capabilities ?? {}).length > 0 && [
      el("h3", {}, "Capabilities"),
      jsonTree(state.capabilities, "Capabilities", 2),
    ],
    mayCall() &&
      state.status === "connected" &&
      state.capabilities?.logging !== undefined &&
      levelChoice(),
    exchangesView(known.chosen),
    mayCall() && state.answers?.includes("roots") && rootsEditor(),
    known.allow === "add" && addForm(),
  );
}

function authText(/** @type {ServerState} */ state) {
  if (!state.auth) return undefined;
  return state.status === "needs_auth" ? `${state.auth}, not logged in` : state.auth;
}

function serverButtons(/** @type {ServerState} */ state) {
  const buttons = /** @type {Child[]} */ ([]);
  const button = (/** @type {string} */ label, /** @type {Work} */ work, kind = "") =>
    buttons.push(el("button", { class: kind, on: { click: work } }, label));
  const tell = (/** @type {"/api/connect" | "/api/disconnect"} */ path) => () =>
    post(path, { server: known.chosen }).catch(prependProblem);
  if (mayCall()) {
    if (state.status === "connected") {
      button("Reload the lists", () => loadLists(known.chosen, true));
      button("Any request", () => showRawRequest());
      button("Disconnect", tell("/api/disconnect"));
    } else if (state.status === "needs_approval") {
      // the sheet has the buttons
    } else if (["connecting", "reconnecting"].includes(state.status)) {
      button("Stop connecting", tell("/api/disconnect"));
    } else {
      button(
        state.status === "needs_auth" || state.has_login ? "Log in" : "Connect",
        tell("/api/connect"),
        "primary",
      );
    }
  }
  if (known.servers.size > 1) button("Compare", showCompare);
  const configuration = configurationOf(known.chosen, state);
  if (configuration) {
    buttons.push(copyButton("Copy configuration", () => `${jsonText(configuration, 2)}\n`));
  }
  return buttons;
}

function rootsEditor() {
  const text = el("textarea", {
    rows: 2,
    class: "mono growing",
    id: freshId(),
    placeholder: "file:///home/me/project",
  });
  const says = el("p", { class: "quiet", role: "status" });
  const set = async () => {
    const roots = text.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean)
      .map((uri) => ({ uri }));
    await attempt(says, async () => {
      await post("/api/roots", { server: known.chosen, roots });
      says.textContent = "The server has been notified.";
    });
  };
  return [
    el("h3", {}, "Roots"),
    el("label", { for: text.id, class: "quiet" }, "One file:// URI to a line"),
    text,
    buttonRow(el("button", { on: { click: set } }, "Set")),
    says,
  ];
}

function addForm() {
  const name = el("input");
  const target = el("input", { placeholder: "https://… or a command" });
  const says = el("div");
  const add = async () => {
    fill(says, quiet("Connecting…"));
    await attempt(says, async () => {
      await post("/api/add", { name: name.value.trim(), target: target.value.trim() });
      fill(says);
    });
  };
  return [
    el("h3", {}, "Add a server"),
    formOf(
      add,
      withLabel("Name", name),
      withLabel("URL or command", target),
      buttonRow(el("button", {}, "Add")),
      says,
    ),
  ];
}

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** The choice of the least severe messages that the server is to log. */
function levelChoice() {
  const says = el("span", { class: "quiet", role: "status" });
  const select = el(
    "select",
    { id: freshId(), class: "auto" },
    el("option", { value: "" }, "the server's choice"),
    LEVELS.map((level) => el("option", { value: level }, level)),
  );
  select.addEventListener("change", async () => {
    if (!select.value) return;
    const { error } = await callQuietly("logging/setLevel", { level: select.value });
    says.textContent = error ? textOf(error.text) : `The server logs from ${select.value} on.`;
  });
  return [
    el("h3", {}, "Log messages"),
    el("p", { class: "options" }, el("label", { for: select.id }, "Level"), select, says),
  ];
}

// @ts-check
// The start: build the panes, fetch the state, and follow the updates.

import { ask, get, listen, post } from "./api.js";
import { showCall } from "./calls.js";
import { buildCatalog, leaveCalls, refreshCatalog, selectEntry, selectOffer } from "./catalog.js";
import { addressed, isShowing, prependProblem, restoring } from "./detail.js";
import { byId, el, every, fill, first } from "./dom.js";
import { buildLayout, showView } from "./layout.js";
import { isSaved } from "./saved.js";
import { showOverview, statusText } from "./overview.js";
import { buildQuestions } from "./questions.js";
import { on, view } from "./events.js";
import {
  allow,
  chooseServer,
  forgetLists,
  known,
  loadLists,
  loadListsSoon,
  mayCall,
  orderedServers,
  server,
  setGone,
  shownName,
  takeNews,
  tellChanges,
} from "./store.js";
import { Refusal, cut, factsOf, plain, textOf } from "./text.js";
import { buildWire, goTo, refreshWire, resetWire } from "./wire.js";
import { setRowFields } from "./wire_rows.js";

const serverSelect = /** @type {HTMLSelectElement} */ (byId("servers"));

function choose(/** @type {string} */ name) {
  if (known.chosen === name) return;
  chooseServer(name);
  serverSelect.value = name;
  resetWire();
  if (!known.lists.has(name)) loadLists(name);
  leaveCalls();
  refreshHead();
  refreshWire();
  showOverview();
}

function refreshHead() {
  const state = server();
  const status = byId("status");
  status.className = `status ${known.isGone ? "failed" : (state?.status ?? "")}`;
  fill(
    status,
    el("span", { class: "dot", "aria-hidden": "true" }),
    statusText(state),
    state?.version && el("span", { class: "quiet" }, ` ${state.version}`),
  );
  byId("restart").hidden = !(mayCall() && ["lost", "failed"].includes(state?.status ?? ""));
  document.title = known.chosen
    ? `${plain(cut(shownName(known.chosen), 60))} – MCP inspector`
    : "MCP inspector";
}

let offeredServers = "";

function refreshServers() {
  const names = orderedServers().map(([name]) => name);
  const wantedOptions = names.map((name) => `${name}\n${shownName(name)}`).join("\n");
  if (offeredServers !== wantedOptions) {
    offeredServers = wantedOptions;
    fill(
      serverSelect,
      names.map((name) => el("option", { value: name }, cut(shownName(name), 60))),
    );
    if (known.chosen) serverSelect.value = known.chosen;
  }
  if (!known.servers.has(known.chosen)) {
    chooseServer("");
    if (names.length) choose(names[0]);
  }
  refreshHead();
}

const seenStates = /** @type {Map<string, ServerState>} */ (new Map());

function followServers() {
  refreshServers();
  for (const [name, state] of known.servers) {
    const before = seenStates.get(name);
    const isNew =
      before?.status !== state.status ||
      before?.error?.text !== state.error?.text ||
      before?.changed_lists !== state.changed_lists;
    seenStates.set(name, state);
    if (!isNew || name !== known.chosen) {
      if (isNew && before?.changed_lists !== state.changed_lists) forgetLists(name);
      continue;
    }
    if (before || !known.lists.has(name)) loadListsSoon(name);
    if (isShowing(["server", ""])) showOverview();
  }
}

/** What the address names, until it can be shown. @type {ReturnType<typeof addressed> | null} */
let wanted = null;
/** Show what the address names. */
function goToAddress() {
  const { server, kind, record } = (wanted = addressed());
  if (known.servers.has(server)) restoring(() => choose(server));
  if (kind === "server") restoring(showOverview);
  if (record !== null) goTo(record);
  showWanted();
}

function showWanted() {
  if (!wanted || wanted.kind === "server") return;
  const { kind, key } = wanted;
  restoring(() => {
    if (kind === "call" && known.calls.has(key)) {
      selectEntry("calls", key);
      showCall(key);
    } else if (!selectOffer(kind, key)) return;
    wanted = null;
  });
}

/** Download the session: its `transcript`, or this page as a file, which is a `report`. */
async function download(/** @type {string} */ kind, /** @type {string} */ ending) {
  const response = await ask(`/api/${kind}?${new URLSearchParams({ server: known.chosen })}`);
  const url = URL.createObjectURL(await response.blob());
  const name = `${(known.chosen || "session").replace(/[^\w.-]+/g, "-")}${ending}`;
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function showConnection(/** @type {unknown} */ error) {
  document.body.classList.toggle("gone", error !== null);
  setGone(error !== null && factsOf(error).type === "Gone");
  let box = first("#gone");
  if (error === null) return void box?.remove();
  box ??= el("p", { id: "gone", role: "alert" });
  byId("servers").parentElement?.append(box);
  const { text, hint } = factsOf(error);
  fill(box, textOf(text), " ", hint ?? "");
}

async function start() {
  view("choose", choose);
  view("server", showOverview);
  buildLayout();
  buildCatalog();
  buildQuestions();
  buildWire();
  for (const button of every(".views button")) {
    button.addEventListener("click", () => showView(button.dataset.view ?? ""));
  }
  const connect = () => post("/api/connect", { server: known.chosen });
  byId("restart").addEventListener("click", () => connect().catch(prependProblem));
  setInterval(() => server()?.status.endsWith("connecting") && refreshHead(), 1000);
  serverSelect.addEventListener("change", () => choose(serverSelect.value));
  const save = (/** @type {string} */ kind, /** @type {string} */ ending) => () =>
    download(kind, ending).catch(showConnection);
  byId("transcript").addEventListener("click", save("transcript", ".jsonl"));
  byId("report").addEventListener("click", save("report", ".html"));
  byId("report").hidden = isSaved;
  on("server", followServers);
  on("gone", () => {
    refreshHead();
    if (isShowing(["server", ""])) showOverview();
  });
  try {
    const state = await get("/api/state");
    allow(state.allow);
    setRowFields(state.row);
    takeNews(state);
    tellChanges();
    if (known.servers.size) refreshCatalog();
    if (location.hash) goToAddress();
    on("lists", showWanted);
    addEventListener("popstate", goToAddress);
    on("notice", () => prependProblem(new Refusal({ type: "Not connected", ...known.notice })));
    listen(state.version, takeNews, showConnection);
  } catch (error) {
    showConnection(error);
  }
}

start();

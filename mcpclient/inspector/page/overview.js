// The server: its description, its state, and the actions on its connection.

const STATUS_WORDS = {
  connected: "connected",
  connecting: "connecting…",
  reconnecting: "connecting again…",
  failed: "failed",
  needs_auth: "needs a login",
  needs_client_registration: "needs a client id",
  needs_approval: "needs approval",
  closed: "not connected",
  recorded: "recorded",
  disabled: "disabled",
  denied: "denied by policy",
  deferred: "connects when used",
};

function statusText(state) {
  return STATUS_WORDS[state?.status] ?? state?.status ?? "";
}

function showOverview() {
  const state = server();
  Object.assign(subject, { key: null, callName: "server" });
  if (!state) return void fill(detail(), el("p", { class: "quiet" }, "There is no server."));
  const info = state.server ?? {};
  const rows = [
    ["Name", info.title ?? info.name],
    ["Version", info.version],
    ["Status", statusText(state)],
    ["Since", state.since && new Date(state.since * 1000).toLocaleString()],
    ["Target", state.target],
    ["Transport", state.transport],
    ["Revision", state.version && `${state.version} (${state.era ?? "unknown"} era)`],
    ["Recorded", state.recorded],
    ["Authorization", authText(state)],
    ["Headers sent", state.headers_are_computed ? "computed for each request" : state.headers?.join(", ")],
    ["Environment", state.env?.length ? `${state.env.join(", ")} (values are not shown)` : undefined],
    ["Answered here", state.answers?.join(", ")],
  ].filter(([, value]) => value !== undefined && value !== null && value !== "");
  fill(
    detail(),
    el("header", { class: "subject" }, el("h2", {}, cut(known.chosen ?? "", 200)), el("div", { class: "buttons" }, serverButtons(state))),
    state.error && errorBox(state.error),
    factList(rows),
    state.has_login && loginView(state),
    state.instructions && [el("h3", {}, "Instructions"), longText(state.instructions)],
    el("h3", {}, "Capabilities"),
    jsonTree(state.capabilities ?? {}, "Capabilities", 2),
    mayCall() && state.answers?.includes("roots") && rootsEditor(),
    known.allow === "add" && addForm(),
  );
}

function authText(state) {
  if (!state.auth) return undefined;
  return state.status === "needs_auth" ? `${state.auth}, not logged in` : state.auth;
}

// Milliseconds after which a login that is shown is looked at again: it may have been renewed.
const LOGIN_PAUSE = 15000;

/** The login to a server: its facts, and the buttons to finish it by hand or to log out. */
function loginView(state) {
  const name = known.chosen;
  const place = el("section", { "aria-label": "Login" });
  const says = el("div");
  async function show() {
    if (name !== known.chosen) return;
    try {
      const { login, visit, host } = await get("/api/login", { server: name });
      if (!place.contains(document.activeElement)) fill(place, loginFacts(state, login, says), visit && mayCall() && finishForm(name, visit, host, says), says);
    } catch (error) {
      fill(place, errorBox(error.facts));
    }
    setTimeout(() => place.isConnected && show(), LOGIN_PAUSE);
  }
  show();
  return [el("h3", {}, "Login"), place];
}

function loginFacts(state, login, says) {
  if (!login) return el("p", { class: "quiet" }, "There is no login.");
  const rows = [
    ["State", login.state],
    ["Given by", login.issuer],
    ["To the client", login.clientId],
    ["Scopes", login.scopes.join(" ") || "none were named"],
    ["Token valid", validText(login.expiresAt)],
  ];
  const end = async () => {
    try {
      await post("/api/logout", { server: known.chosen });
      showOverview();
      announce("Logged out");
    } catch (error) {
      fill(says, errorBox(error.facts));
    }
  };
  return [factList(rows), mayCall() && el("div", { class: "buttons" }, el("button", { on: { click: end } }, "Log out"))];
}

function validText(expiresAt) {
  if (expiresAt === null) return "for as long as the server likes";
  const seconds = expiresAt - Date.now() / 1000;
  const at = new Date(expiresAt * 1000).toLocaleString();
  if (seconds < 0) return `until ${at}, which is over`;
  const [count, unit] = seconds < 120 ? [seconds, "s"] : seconds < 7200 ? [seconds / 60, "min"] : [seconds / 3600, "h"];
  return `until ${at}, for ${Math.round(count)} ${unit} more`;
}

/** A login to finish by hand: the address to visit, and a field for the address the browser ended at. */
function finishForm(name, visit, host, says) {
  const address = el("input", { id: freshId(), autocomplete: "off", spellcheck: "false" });
  const finish = async (event) => {
    event.preventDefault();
    try {
      await post("/api/login", { server: name, address: address.value.trim() });
      fill(says, el("p", { class: "quiet" }, "Connecting…"));
    } catch (error) {
      fill(says, errorBox(error.facts));
    }
  };
  return el(
    "form",
    { on: { submit: finish } },
    el("p", {}, "Log in at:"),
    addressOf(visit, host),
    el("div", { class: "buttons" }, visitLink(visit, "Open the login page")),
    el("div", { class: "field" }, el("label", { for: address.id }, "Then paste the address that the browser ends at"), address),
    el("div", { class: "buttons" }, el("button", {}, "Finish the login")),
  );
}

function factList(rows) {
  return el("dl", { class: "facts" }, rows.map(([name, value]) => [el("dt", {}, name), el("dd", { dir: "auto" }, cut(textOf(value), 1000))]));
}

function serverButtons(state) {
  const buttons = [];
  const button = (label, work, kind = "") => buttons.push(el("button", { class: kind, on: { click: work } }, label));
  const tell = (work) => () => work().catch((error) => detail().prepend(errorBox(error.facts)));
  const body = { server: known.chosen };
  if (mayCall()) {
    if (state.status === "connected") {
      button("Reload the lists", () => loadLists(known.chosen, true));
      button("Any request", () => showRawRequest());
      button("Disconnect", tell(() => post("/api/disconnect", body)));
    } else if (state.status !== "connecting") {
      button(state.status === "needs_auth" || state.has_login ? "Log in" : "Connect", tell(() => post("/api/connect", body)), "primary");
    }
  }
  if (known.servers.size > 1) button("Compare", showCompare);
  return buttons;
}

function rootsEditor() {
  const text = el("textarea", { rows: 2, class: "mono growing", id: freshId(), placeholder: "file:///home/me/project" });
  const says = el("p", { class: "quiet", role: "status" });
  const set = async () => {
    const roots = text.value.split("\n").map((line) => line.trim()).filter(Boolean).map((uri) => ({ uri }));
    try {
      await post("/api/roots", { server: known.chosen, roots });
      says.textContent = "The server has been notified.";
    } catch (error) {
      fill(says, errorBox(error.facts));
    }
  };
  return [el("h3", {}, "Roots"), el("label", { for: text.id, class: "quiet" }, "One file:// URI to a line"), text, el("div", { class: "buttons" }, el("button", { on: { click: set } }, "Set")), says];
}

function addForm() {
  const name = el("input", { id: freshId() });
  const target = el("input", { id: freshId(), placeholder: "https://… or a command" });
  const says = el("div");
  const add = async (event) => {
    event.preventDefault();
    fill(says, el("p", { class: "quiet" }, "Connecting…"));
    try {
      await post("/api/add", { name: name.value.trim(), target: target.value.trim() });
      fill(says);
    } catch (error) {
      fill(says, errorBox(error.facts));
    }
  };
  return [
    el("h3", {}, "Add a server"),
    el("form", { on: { submit: add } },
      el("div", { class: "field" }, el("label", { for: name.id }, "Name"), name),
      el("div", { class: "field" }, el("label", { for: target.id }, "URL or command"), target),
      el("div", { class: "buttons" }, el("button", {}, "Add")), says),
  ];
}

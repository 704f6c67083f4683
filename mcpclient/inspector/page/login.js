// @ts-check
// The login to a server: its facts, and how to begin, finish and end it.

import { go } from "./events.js";
import { get, post } from "./api.js";
import { announce, buttonRow, el, fill, formOf, withLabel, quiet } from "./dom.js";
import { addressOf, visitLink } from "./questions.js";
import { known, mayCall } from "./store.js";
import { attempt, factList } from "./tree.js";

// Milliseconds after which a login that is shown is looked at again: it may have been renewed.
const LOGIN_PAUSE = 15000;

/** The login to a server: its facts, and the buttons to finish it by hand or to log out. */
export function loginView() {
  const name = known.chosen;
  const place = el("section", { "aria-label": "Login" });
  const says = el("div");
  async function show() {
    if (name !== known.chosen) return;
    await attempt(place, async () => {
      const { login, visit, host } = await get("/api/login", { server: name });
      if (!place.contains(document.activeElement))
        fill(
          place,
          loginFacts(login, says),
          visit !== null && mayCall() && finishForm(name, visit, host, says),
          says,
        );
    });
    setTimeout(() => place.isConnected && show(), LOGIN_PAUSE);
  }
  show();
  return [el("h3", {}, "Login"), place];
}

function loginFacts(/** @type {LoginFacts | null} */ login, /** @type {Element} */ says) {
  if (!login) return quiet("There is no login.");
  /** @type {[string, unknown][]} */
  const rows = [
    ["State", login.state],
    ["Given by", login.issuer],
    ["To the client", login.clientId],
    ["Scopes", login.scopes.join(" ") || "none were named"],
    ["Token valid", validText(login.expiresAt)],
  ];
  const end = async () => {
    await attempt(says, async () => {
      await post("/api/logout", { server: known.chosen });
      go("server");
      announce("Logged out");
    });
  };
  return [factList(rows), mayCall() && buttonRow(el("button", { on: { click: end } }, "Log out"))];
}

function validText(/** @type {number | null} */ expiresAt) {
  if (expiresAt === null) return "for as long as the server likes";
  const seconds = expiresAt - Date.now() / 1000;
  const at = new Date(expiresAt * 1000).toLocaleString();
  if (seconds < 0) return `until ${at}, which is over`;
  const count = (/** @type {number} */ unit) => Math.round(seconds / unit);
  const left =
    seconds < 120 ? `${count(1)} s` : seconds < 7200 ? `${count(60)} min` : `${count(3600)} h`;
  return `until ${at}, for ${left} more`;
}

/** A login to finish by hand: an address to visit, and a field for where the browser ended. */
/** @param {string} name @param {string} visit @param {string | null} host @param {Element} says */
function finishForm(name, visit, host, says) {
  const address = el("input", { autocomplete: "off", spellcheck: "false" });
  const finish = async () => {
    await attempt(says, async () => {
      await post("/api/login", { server: name, address: address.value.trim() });
      fill(says, quiet("Connecting…"));
    });
  };
  return formOf(
    finish,
    el("p", {}, "Log in at:"),
    addressOf(visit, host),
    buttonRow(visitLink(visit, "Open the login page")),
    withLabel("Then paste the address that the browser ends at", address),
    buttonRow(el("button", {}, "Finish the login")),
  );
}

// @ts-check
// The consent sheet of a server that needs approval: what would be started, and the decision.

import { get, post } from "./api.js";
import { announce, buttonRow, el, fill, quiet } from "./dom.js";
import { mayCall } from "./store.js";
import { attempt } from "./tree.js";

/** The sheet of the chosen server, which says everything that the user would agree to. */
export function approvalView(/** @type {string} */ name) {
  const place = el("section", { class: "approval", "aria-label": "Approval" });
  const load = async () => {
    await attempt(place, async () => {
      drawSheet(place, name, await get("/api/sheet", { server: name }));
    });
  };
  load();
  return place;
}

/** A value that nobody should read over a shoulder. */
function behindShow(/** @type {string} */ value) {
  const button = el("button", {
    class: "small",
    on: { click: () => void button.replaceWith(value) },
  });
  button.textContent = "Show";
  return button;
}

/** @param {Element} place @param {string} name @param {Sheet} sheet */
function drawSheet(place, name, sheet) {
  const says = el("div");
  const rows = Object.entries(sheet.fields);
  const files = sheet.files.map(({ path, sha256 }) => [
    "file",
    `${path} (${sha256 ? `sha256 ${sha256.slice(0, 12)}…` : "cannot be read"})`,
  ]);
  const agree = async () => {
    await attempt(says, async () => {
      fill(says, quiet("Connecting…"));
      const answer = await post("/api/approve", { server: name, sha256: sheet.sha256 });
      if (answer.status !== "needs_approval") return;
      // The entry has changed meanwhile: there is another sheet to agree to.
      drawSheet(place, name, await get("/api/sheet", { server: name }));
    });
  };
  const refuse = () => {
    fill(says, quiet("Nothing is started, and nothing is remembered."));
    announce("Nothing is started");
  };
  fill(
    place,
    el("h3", {}, "This server needs your agreement"),
    el(
      "p",
      {},
      "It comes from ",
      el("code", {}, sheet.source),
      ". If you agree, this is started or reached, now and from now on. ",
      "An entry that changes needs a new agreement.",
    ),
    el(
      "dl",
      { class: "facts sheet" },
      [...rows, ...files].map(([label, value]) => [
        el("dt", {}, label),
        el("dd", { class: "mono", dir: "auto" }, /^env\b/.test(label) ? behindShow(value) : value),
      ]),
    ),
    mayCall()
      ? buttonRow(
          el("button", { class: "primary", on: { click: agree } }, "Agree and connect"),
          el("button", { on: { click: refuse } }, "Do not start it"),
        )
      : quiet("This page may only look."),
    says,
  );
}

// @ts-check
// The HTTP requests of a server's connection, with their status and time.

import { get } from "./api.js";
import { calm, el, fill } from "./dom.js";
import { showView } from "./layout.js";
import { go, on } from "./events.js";
import { cut, lasted } from "./text.js";

const MAX_EXCHANGES = 100;

/** The latest HTTP requests; nothing where there are none. */
export function exchangesView(/** @type {string} */ name) {
  const place = el("section", { "aria-label": "HTTP requests" });
  const show = async () => {
    const { exchanges } = await get("/api/exchanges", { server: name });
    if (exchanges.length) fill(place, el("h3", {}, "HTTP requests"), exchangeTable(exchanges));
  };
  const again = calm(500, () => place.isConnected && show().catch(() => {}));
  place.addEventListener("refresh", again);
  show().catch(() => {}); // the state of the page says what is wrong
  shownPlaces.add(place);
  return place;
}

const shownPlaces = /** @type {Set<Element>} */ (new Set());
on("wire", () => {
  for (const place of shownPlaces) {
    if (place.isConnected) place.dispatchEvent(new Event("refresh"));
    else shownPlaces.delete(place);
  }
});

function exchangeTable(/** @type {Exchange[]} */ exchanges) {
  const head = ["Request", "Status", "Time"].map((title) => el("th", { scope: "col" }, title));
  return el(
    "table",
    { class: "exchanges" },
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, exchanges.slice(-MAX_EXCHANGES).reverse().map(exchangeRow)),
  );
}

function exchangeRow(/** @type {Exchange} */ { number, method, target, status, milliseconds }) {
  const show = () => {
    showView("wire");
    go("record", number);
  };
  return el(
    "tr",
    { class: status && status >= 400 ? "bad" : undefined },
    el(
      "td",
      {},
      el("button", { class: "link mono", on: { click: show } }, `${method} ${cut(target, 200)}`),
    ),
    el("td", {}, status === undefined ? "…" : String(status)),
    el("td", {}, lasted(milliseconds)),
  );
}

// @ts-check
// Buttons that copy what the page shows.

import { buttonRow, copyButton } from "./dom.js";
import { asCommandLine, asCurl, asPython, curlCan } from "./snippets.js";
import { server } from "./store.js";

/** Buttons that copy a request in each of these forms; `make` returns `[method, params]`. */
export function copyButtons(make, ...others) {
  const of = (form) => () => form(server() ?? {}, ...make());
  return buttonRow(
    copyButton("Copy as Python", of(asPython)),
    copyButton("Copy as command line", of(asCommandLine)),
    curlCan(server() ?? {}) && copyButton("Copy as curl", of(asCurl)),
    others,
  );
}

// @ts-check
// Buttons that copy what the page shows.

import { buttonRow, copyButton } from "./dom.js";
import { asCommandLine, asCurl, asPython, curlCan } from "./snippets.js";
import { server } from "./store.js";

/** Buttons that copy a request in each of these forms; `make` returns `[method, params]`. */
/** @param {() => [method: string, params: Loose]} make @param {Child[]} others */
export function copyButtons(make, ...others) {
  const state = server() ?? { order: 0, status: "" };
  const of = (/** @type {typeof asCurl} */ form) => () => form(state, ...make());
  return buttonRow(
    copyButton("Copy as Python", of(asPython)),
    copyButton("Copy as command line", of(asCommandLine)),
    curlCan(state) && copyButton("Copy as curl", of(asCurl)),
    others,
  );
}

// @ts-check
// The panes: side by side, or one at a time on a narrow screen.

import { every } from "./dom.js";

export const narrow = matchMedia("(max-width: 899px)");

/** On a narrow screen, show one of the panes. */
export function showView(view) {
  document.body.dataset.view = view;
  for (const button of every(".views button")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }
}

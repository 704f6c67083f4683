// @ts-check
// The panes, side by side or one at a time on a narrow screen, and the colors.

import { byId, el, every, focusIn } from "./dom.js";

export const narrow = matchMedia("(max-width: 899px)");

/** On a narrow screen, show one of the panes. */
export function showView(/** @type {string} */ view) {
  document.body.dataset.view = view;
  for (const button of every(".views button")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }
}

/** Return what this browser remembers under a name, and remember `value` if it is given. */
function remembered(
  /** @type {string} */ name,
  /** @type {string | undefined} */ value = undefined,
) {
  try {
    if (value !== undefined) localStorage.setItem(`inspector-${name}`, value);
    return localStorage.getItem(`inspector-${name}`) ?? "";
  } catch {
    return value ?? ""; // a browser may keep nothing
  }
}

const THEMES = ["", "light", "dark"];

function showTheme(/** @type {string} */ theme) {
  document.documentElement.dataset.theme = remembered("theme", theme);
  const name = theme || "as the system";
  byId("theme").title = byId("theme").ariaLabel = `Colors: ${name}`;
}

/** Make the panes resizable, and the colors a choice. Both are remembered. */
export function buildLayout() {
  showTheme(remembered("theme"));
  byId("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme ?? "";
    showTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
  });
  // A menu closes by Escape, and where something else is pressed.
  const menu = byId("export");
  const close = (/** @type {Event} */ { target }) =>
    target instanceof Node && !menu.contains(target) && menu.removeAttribute("open");
  document.addEventListener("pointerdown", close);
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    menu.removeAttribute("open");
    focusIn("#export", "summary");
  });
  // Behind the panes, whose controls follow each other for the keyboard.
  byId("wire").after(
    separator("list", "Width of the list", 1),
    separator("wire", "Width of the wire", -1),
  );
}

/** A line between two panes: dragged, moved by arrows, folded by Enter or a double click. */
/** @param {string} pane @param {string} label @param {number} direction */
function separator(pane, label, direction) {
  const resize = (/** @type {number} */ width) => {
    const most = innerWidth * 0.6;
    const kept = width < 80 ? 0 : Math.round(Math.min(width, most));
    document.body.style.setProperty(`--${pane}`, `${kept}px`);
    byId(pane).classList.toggle("folded", kept === 0);
    line.ariaValueNow = remembered(pane, String(kept));
  };
  const width = () => byId(pane).getBoundingClientRect().width;
  const fold = () => resize(width() > 80 ? 0 : 340);
  const drag = (/** @type {PointerEvent} */ { movementX }) =>
    resize(width() + direction * movementX);
  const press = (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === "ArrowLeft" ? -20 : event.key === "ArrowRight" ? 20 : 0;
    if (step) resize(width() + direction * step);
    else if (event.key === "Enter") fold();
  };
  const line = el("div", {
    class: "separator",
    role: "separator",
    tabindex: "0",
    "aria-orientation": "vertical",
    "aria-label": label,
    "aria-valuenow": "0",
    title: "Drag; double click to fold",
    on: {
      keydown: press,
      dblclick: fold,
      pointerdown: (event) => {
        line.setPointerCapture(event.pointerId);
        line.addEventListener("pointermove", drag);
      },
      pointerup: () => void line.removeEventListener("pointermove", drag),
    },
  });
  if (remembered(pane)) queueMicrotask(() => resize(Number(remembered(pane))));
  return line;
}

// @ts-check
// A JSON value as a tree. Only open nodes are drawn; long lists and strings open bit by bit.

import { el, fill, freshId, longText } from "./dom.js";
import { cut, factsOf, jsonText, textOf } from "./text.js";

const CHILDREN_AT_ONCE = 100;

/** Return an element that shows a JSON value. `open`: how many levels are open at first. */
export function jsonTree(value, label = "", open = 2) {
  return new JsonTree(value, label || "Value", open).element;
}

class JsonTree {
  constructor(value, label, open) {
    this.nodes = new Map(); // by their elements
    this.active = null;
    this.element = el("div", {
      class: "tree",
      role: "tree",
      "aria-label": label,
      tabindex: "0",
      on: {
        click: (event) => this.click(event),
        keydown: (event) => this.press(event),
        copy: (event) => this.copy(event),
      },
    });
    const root = this.nodeOf(null, value, 1);
    this.element.append(root.element);
    this.openLevels(root, open);
  }

  openLevels(root, open) {
    const waiting = open > 0 ? [root] : [];
    while (waiting.length) {
      const node = waiting.shift();
      this.openNode(node);
      let next = node.element.nextSibling;
      while (next && this.nodes.get(next).level > node.level) {
        const child = this.nodes.get(next);
        if (child.level <= open && child.inside && sizeOf(child.item) <= 30) waiting.push(child);
        next = next.nextSibling;
      }
    }
  }

  nodeOf(key, item, level) {
    const inside = isBranch(item);
    /** @type {any} */
    const node = { key, item, level, inside, isOpen: false, shown: 0, element: null };
    node.element = el(
      "div",
      {
        class: "node",
        id: freshId(),
        role: "treeitem",
        "aria-level": level,
        "aria-expanded": inside ? "false" : undefined,
        "aria-selected": "false",
      },
      el("span", { class: "twist", "aria-hidden": "true" }, inside ? "▸" : ""),
      key !== null && el("span", { class: "key" }, cut(String(key), 200)),
      key !== null && el("span", { class: "colon" }, ": "),
      leaf(item),
    );
    node.element.style.paddingInlineStart = `${(level - 1) * 14 + 4}px`;
    this.nodes.set(node.element, node);
    return node;
  }

  openNode(node) {
    if (!node.inside || node.isOpen) return;
    node.isOpen = true;
    node.element.setAttribute("aria-expanded", "true");
    node.element.firstChild.textContent = "▾";
    node.shown = 0;
    this.showChildren(node, node.element);
  }

  showChildren(node, after) {
    const entries = Array.isArray(node.item)
      ? node.item
          .slice(node.shown, node.shown + CHILDREN_AT_ONCE)
          .map((item, i) => [node.shown + i, item])
      : Object.entries(node.item).slice(node.shown, node.shown + CHILDREN_AT_ONCE);
    for (const [key, item] of entries) {
      const child = this.nodeOf(key, item, node.level + 1);
      after.after(child.element);
      after = child.element;
    }
    node.shown += entries.length;
    const left = sizeOf(node.item) - node.shown;
    if (left > 0) {
      const more = this.nodeOf(null, `${left.toLocaleString()} more`, node.level + 1);
      more.element.classList.add("more");
      more.parent = node;
      after.after(more.element);
    }
  }

  closeNode(node) {
    if (!node.isOpen) return;
    node.isOpen = false;
    node.element.setAttribute("aria-expanded", "false");
    node.element.firstChild.textContent = "▸";
    let next = node.element.nextSibling;
    while (next && this.nodes.get(next).level > node.level) {
      const after = next.nextSibling;
      this.nodes.delete(next);
      next.remove();
      next = after;
    }
  }

  toggle(node) {
    if (node.parent) {
      const before = node.element.previousSibling;
      node.element.remove();
      this.nodes.delete(node.element);
      this.showChildren(node.parent, before);
    } else if (node.isOpen) this.closeNode(node);
    else this.openNode(node);
  }

  activate(element) {
    if (!element) return;
    this.active?.setAttribute("aria-selected", "false");
    this.active = element;
    this.active.setAttribute("aria-selected", "true");
    this.element.setAttribute("aria-activedescendant", this.active.id);
    this.active.scrollIntoView({ block: "nearest" });
  }

  /** Return the first of some nodes that all of them are in. */
  around(chosen) {
    let element = chosen[0];
    const least = () => this.nodes.get(element).level;
    while (
      element &&
      chosen.some((each) => each !== element && this.nodes.get(each).level <= least())
    ) {
      element = this.parentOf(element);
    }
    return element;
  }

  parentOf(element) {
    const { level } = this.nodes.get(element);
    let before = element.previousSibling;
    while (before && this.nodes.get(before).level >= level) before = before.previousSibling;
    return before;
  }

  click(event) {
    const element = event.target.closest(".node");
    if (!element || getSelection()?.toString()) return;
    this.activate(element);
    this.toggle(this.nodes.get(element));
  }

  press(event) {
    if (!this.active?.isConnected) this.activate(this.element.firstChild);
    const { active } = this;
    const node = this.nodes.get(active);
    const moves = {
      ArrowDown: () => this.activate(active.nextSibling),
      ArrowUp: () => this.activate(active.previousSibling),
      Home: () => this.activate(this.element.firstChild),
      End: () => this.activate(this.element.lastChild),
      ArrowRight: () => (node.isOpen ? this.activate(active.nextSibling) : this.openNode(node)),
      ArrowLeft: () => (node.isOpen ? this.closeNode(node) : this.activate(this.parentOf(active))),
      Enter: () => this.toggle(node),
    };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
  }

  /** Copy JSON: of the active node, or of the smallest that holds a selection. */
  copy(event) {
    const selection = getSelection();
    if (!selection) return;
    const chosen = [...this.element.children].filter((each) => selection.containsNode(each, true));
    if (chosen.length === 1 && selection.toString()) return; // a part of one line, as it is
    const node = this.nodes.get(selection.toString() ? this.around(chosen) : this.active);
    if (!node || node.parent) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", jsonText(node.item, 2));
  }
}

function isBranch(value) {
  return value !== null && typeof value === "object" && sizeOf(value) > 0;
}

function sizeOf(value) {
  if (value === null || typeof value !== "object") return 0;
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function leaf(value) {
  if (Array.isArray(value))
    return el("span", { class: "count" }, value.length ? `[${value.length}]` : "[]");
  if (value !== null && typeof value === "object") {
    const names = Object.keys(value);
    return el("span", { class: "count" }, names.length ? `{${names.length}}` : "{}");
  }
  const text = typeof value === "string" ? value : String(value);
  return el("span", { class: `leaf ${value === null ? "null" : typeof value}` }, cut(text, 2000));
}

/** A failure, or an error as the server describes it: what happened, and what to do. */
export function errorBox(/** @type {any} */ failure) {
  const error = factsOf(failure);
  const stderr = textOf(error.stderr).trimEnd();
  return el(
    "div",
    { class: "problem", role: "note" },
    el("strong", {}, error.type || "Error"),
    el("p", { dir: "auto" }, cut(textOf(error.text), 4000)),
    typeof error.exit_code === "number" && el("p", {}, `Exit code: ${error.exit_code}`),
    stderr && [
      el("p", {}, "Its last lines on stderr:"),
      longText(stderr, { class: "text stderr" }),
    ],
    error.hint && el("p", { class: "hint", dir: "auto" }, error.hint),
    error.data !== undefined && error.data !== null && jsonTree(error.data, "data"),
  );
}

/** Do something whose failure is shown in a place. */
export async function attempt(place, work) {
  try {
    await work();
  } catch (error) {
    fill(place, errorBox(error));
  }
}

/** Return names and values as a list of facts. */
export function factList(rows) {
  return el(
    "dl",
    { class: "facts" },
    rows.map(([name, value]) => [
      el("dt", {}, name),
      el("dd", { dir: "auto" }, cut(textOf(value), 1000)),
    ]),
  );
}

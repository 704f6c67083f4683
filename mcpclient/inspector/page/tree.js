// @ts-check
// A JSON value as a tree. Only open nodes are drawn; long lists and strings open bit by bit.

import { el, fill, freshId, longText } from "./dom.js";
import { cut, factsOf, jsonText, textOf } from "./text.js";

const CHILDREN_AT_ONCE = 100;

/** Return an element that shows a JSON value. `open`: how many levels are open at first. */
export function jsonTree(/** @type {unknown} */ value, label = "", open = 2) {
  return new JsonTree(value, label || "Value", open).element;
}

/**
 * A line of the tree. `shown`: how many of its members have lines; `parent`: of a line that stands
 * for the members that have none.
 * @typedef {{ key: string | number | null, item: unknown, level: number, inside: boolean,
 *   isOpen: boolean, shown: number, element: HTMLElement, twist: HTMLElement,
 *   parent: TreeNode | null }} TreeNode
 */

class JsonTree {
  constructor(
    /** @type {unknown} */ value,
    /** @type {string} */ label,
    /** @type {number} */ open,
  ) {
    this.nodes = /** @type {Map<Element | null, TreeNode>} */ (new Map()); // by their elements
    this.active = /** @type {Element | null} */ (null);
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

  openLevels(/** @type {TreeNode} */ root, /** @type {number} */ open) {
    const waiting = open > 0 ? [root] : [];
    for (const node of waiting) {
      this.openNode(node);
      for (const child of this.below(node))
        if (child.level <= open && child.inside && sizeOf(child.item) <= 30) waiting.push(child);
    }
  }

  /** Return the lines that follow a node and are deeper. */
  below(/** @type {TreeNode} */ node) {
    const found = [];
    let next = this.nodes.get(node.element.nextElementSibling);
    while (next && next.level > node.level) {
      found.push(next);
      next = this.nodes.get(next.element.nextElementSibling);
    }
    return found;
  }

  /**
   * @param {TreeNode["key"]} key
   * @param {unknown} item
   * @param {number} level
   * @param {TreeNode | null} parent
   */
  nodeOf(key, item, level, parent = null) {
    const inside = isBranch(item);
    const twist = el("span", { class: "twist", "aria-hidden": "true" }, inside ? "▸" : "");
    const element = el(
      "div",
      {
        class: "node",
        id: freshId(),
        role: "treeitem",
        "aria-level": level,
        "aria-expanded": inside ? "false" : undefined,
        "aria-selected": "false",
      },
      twist,
      key !== null && el("span", { class: "key" }, cut(String(key), 200)),
      key !== null && el("span", { class: "colon" }, ": "),
      leaf(item),
    );
    element.style.paddingInlineStart = `${(level - 1) * 14 + 4}px`;
    const node = { key, item, level, inside, isOpen: false, shown: 0, element, twist, parent };
    this.nodes.set(element, node);
    return node;
  }

  openNode(/** @type {TreeNode} */ node) {
    if (!node.inside || node.isOpen) return;
    node.isOpen = true;
    node.element.setAttribute("aria-expanded", "true");
    node.twist.textContent = "▾";
    node.shown = 0;
    this.showChildren(node, node.element);
  }

  showChildren(/** @type {TreeNode} */ node, /** @type {Element} */ after) {
    const { item, shown } = node;
    const end = shown + CHILDREN_AT_ONCE;
    const entries = Array.isArray(item)
      ? item.slice(shown, end).map((value, at) => ({ key: shown + at, value }))
      : Object.entries(item ?? {})
          .slice(shown, end)
          .map(([key, value]) => ({ key, value }));
    for (const { key, value } of entries) {
      const child = this.nodeOf(key, value, node.level + 1);
      after.after(child.element);
      after = child.element;
    }
    node.shown += entries.length;
    const left = sizeOf(node.item) - node.shown;
    if (left > 0) {
      const more = this.nodeOf(null, `${left.toLocaleString()} more`, node.level + 1, node);
      more.element.classList.add("more");
      after.after(more.element);
    }
  }

  closeNode(/** @type {TreeNode} */ node) {
    if (!node.isOpen) return;
    node.isOpen = false;
    node.element.setAttribute("aria-expanded", "false");
    node.twist.textContent = "▸";
    for (const { element } of this.below(node)) {
      this.nodes.delete(element);
      element.remove();
    }
  }

  toggle(/** @type {TreeNode} */ node) {
    const before = node.element.previousElementSibling;
    if (node.parent && before) {
      node.element.remove();
      this.nodes.delete(node.element);
      this.showChildren(node.parent, before);
    } else if (node.isOpen) this.closeNode(node);
    else this.openNode(node);
  }

  activate(/** @type {Element | null} */ element) {
    if (!element) return;
    this.active?.setAttribute("aria-selected", "false");
    this.active = element;
    element.setAttribute("aria-selected", "true");
    this.element.setAttribute("aria-activedescendant", element.id);
    element.scrollIntoView({ block: "nearest" });
  }

  /** Return the first of some nodes that all of them are in. */
  around(/** @type {Element[]} */ chosen) {
    let element = /** @type {Element | null} */ (chosen[0]);
    const isAround = (/** @type {Element} */ one) =>
      chosen.every((each) => each === one || this.levelOf(each) > this.levelOf(one));
    while (element && !isAround(element)) element = this.parentOf(element);
    return element;
  }

  levelOf(/** @type {Element} */ element) {
    return this.nodes.get(element)?.level ?? 0;
  }

  parentOf(/** @type {Element} */ element) {
    const level = this.levelOf(element);
    let before = element.previousElementSibling;
    while (before && this.levelOf(before) >= level) before = before.previousElementSibling;
    return before;
  }

  click(/** @type {Event} */ { target }) {
    const node = this.nodes.get(target instanceof Element ? target.closest(".node") : null);
    if (!node || getSelection()?.toString()) return;
    this.activate(node.element);
    this.toggle(node);
  }

  press(/** @type {KeyboardEvent} */ event) {
    if (!this.active?.isConnected) this.activate(this.element.firstElementChild);
    const node = this.nodes.get(this.active);
    if (!node) return;
    const { element, isOpen } = node;
    /** @type {Record<string, Work>} */
    const moves = {
      ArrowDown: () => this.activate(element.nextElementSibling),
      ArrowUp: () => this.activate(element.previousElementSibling),
      Home: () => this.activate(this.element.firstElementChild),
      End: () => this.activate(this.element.lastElementChild),
      ArrowRight: () => (isOpen ? this.activate(element.nextElementSibling) : this.openNode(node)),
      ArrowLeft: () => (isOpen ? this.closeNode(node) : this.activate(this.parentOf(element))),
      Enter: () => this.toggle(node),
    };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
  }

  /** Copy JSON: of the active node, or of the smallest that holds a selection. */
  copy(/** @type {ClipboardEvent} */ event) {
    const selection = getSelection();
    if (!selection) return;
    const chosen = [...this.element.children].filter((each) => selection.containsNode(each, true));
    if (chosen.length === 1 && selection.toString()) return; // a part of one line, as it is
    const node = this.nodes.get(selection.toString() ? this.around(chosen) : this.active);
    if (!node || node.parent) return;
    event.preventDefault();
    event.clipboardData?.setData("text/plain", jsonText(node.item, 2));
  }
}

function isBranch(/** @type {unknown} */ value) {
  return value !== null && typeof value === "object" && sizeOf(value) > 0;
}

function sizeOf(/** @type {unknown} */ value) {
  if (value === null || typeof value !== "object") return 0;
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function leaf(/** @type {unknown} */ value) {
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
export function errorBox(/** @type {Facts} */ error) {
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
export async function attempt(/** @type {Element} */ place, /** @type {Work} */ work) {
  try {
    await work();
  } catch (error) {
    fill(place, errorBox(factsOf(error)));
  }
}

/** Return names and values as a list of facts. */
export function factList(/** @type {[name: string, value: unknown][]} */ rows) {
  return el(
    "dl",
    { class: "facts" },
    rows.map(([name, value]) => [
      el("dt", {}, name),
      el("dd", { dir: "auto" }, cut(textOf(value), 1000)),
    ]),
  );
}

// @ts-check
// A JSON value as a tree. Only open nodes are drawn; long lists and strings open bit by bit.

import { el, freshId, longText } from "./dom.js";
import { cut, jsonText, textOf } from "./text.js";

const CHILDREN_AT_ONCE = 100;

/** Return an element that shows a JSON value. `open`: how many levels are open at first. */
export function jsonTree(value, label = "", open = 2) {
  const tree = el("div", {
    class: "tree",
    role: "tree",
    "aria-label": label || "Value",
    tabindex: "0",
  });
  const nodes = new Map();
  let active = null;

  function nodeOf(key, item, level) {
    const inside = isBranch(item);
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
    nodes.set(node.element, node);
    return node;
  }

  function openNode(node) {
    if (!node.inside || node.isOpen) return;
    node.isOpen = true;
    node.element.setAttribute("aria-expanded", "true");
    node.element.firstChild.textContent = "▾";
    node.shown = 0;
    showChildren(node, node.element);
  }

  function showChildren(node, after) {
    const entries = Array.isArray(node.item)
      ? node.item
          .slice(node.shown, node.shown + CHILDREN_AT_ONCE)
          .map((item, i) => [node.shown + i, item])
      : Object.entries(node.item).slice(node.shown, node.shown + CHILDREN_AT_ONCE);
    for (const [key, item] of entries) {
      const child = nodeOf(key, item, node.level + 1);
      after.after(child.element);
      after = child.element;
    }
    node.shown += entries.length;
    const left = sizeOf(node.item) - node.shown;
    if (left > 0) {
      const more = nodeOf(null, `${left.toLocaleString()} more`, node.level + 1);
      more.element.classList.add("more");
      more.parent = node;
      after.after(more.element);
    }
  }

  function closeNode(node) {
    if (!node.isOpen) return;
    node.isOpen = false;
    node.element.setAttribute("aria-expanded", "false");
    node.element.firstChild.textContent = "▸";
    let next = node.element.nextSibling;
    while (next && nodes.get(next).level > node.level) {
      const after = next.nextSibling;
      nodes.delete(next);
      next.remove();
      next = after;
    }
  }

  function toggle(node) {
    if (node.parent) {
      const before = node.element.previousSibling;
      node.element.remove();
      nodes.delete(node.element);
      showChildren(node.parent, before);
    } else if (node.isOpen) closeNode(node);
    else openNode(node);
  }

  function activate(element) {
    if (!element) return;
    active?.setAttribute("aria-selected", "false");
    active = element;
    active.setAttribute("aria-selected", "true");
    tree.setAttribute("aria-activedescendant", active.id);
    active.scrollIntoView({ block: "nearest" });
  }

  tree.addEventListener("click", (event) => {
    const element = event.target.closest(".node");
    if (!element || getSelection().toString()) return;
    activate(element);
    toggle(nodes.get(element));
  });
  tree.addEventListener("keydown", (event) => {
    if (!active?.isConnected) activate(tree.firstChild);
    const node = nodes.get(active);
    const moves = {
      ArrowDown: () => activate(active.nextSibling),
      ArrowUp: () => activate(active.previousSibling),
      Home: () => activate(tree.firstChild),
      End: () => activate(tree.lastChild),
      ArrowRight: () => (node.isOpen ? activate(active.nextSibling) : openNode(node)),
      ArrowLeft: () => (node.isOpen ? closeNode(node) : activate(parentOf(active))),
      Enter: () => toggle(node),
    };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
  });

  // What is copied is JSON: of the active node, or of the smallest that holds a selection.
  tree.addEventListener("copy", (event) => {
    const selection = getSelection();
    const chosen = [...tree.children].filter((each) => selection.containsNode(each, true));
    if (chosen.length === 1 && selection.toString()) return; // a part of one line, as it is
    const node = nodes.get(selection.toString() ? around(chosen) : active);
    if (!node || node.parent) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", jsonText(node.item, 2));
  });

  /** Return the first of some nodes that all of them are in. */
  function around(chosen) {
    let element = chosen[0];
    const least = () => nodes.get(element).level;
    while (element && chosen.some((each) => each !== element && nodes.get(each).level <= least())) {
      element = parentOf(element);
    }
    return element;
  }

  function parentOf(element) {
    const { level } = nodes.get(element);
    let before = element.previousSibling;
    while (before && nodes.get(before).level >= level) before = before.previousSibling;
    return before;
  }

  const root = nodeOf(null, value, 1);
  tree.append(root.element);
  const waiting = open > 0 ? [root] : [];
  while (waiting.length) {
    const node = waiting.shift();
    openNode(node);
    let next = node.element.nextSibling;
    while (next && nodes.get(next).level > node.level) {
      const child = nodes.get(next);
      if (child.level <= open && child.inside && sizeOf(child.item) <= 30) waiting.push(child);
      next = next.nextSibling;
    }
  }
  return tree;
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

/** An error as the server of the page describes it: what happened, and what to do. */
export function errorBox(error) {
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

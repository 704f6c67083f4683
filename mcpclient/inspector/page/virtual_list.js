// @ts-check
// A list of any length: only the rows in view are elements. One tab stop; arrows move in it.

import { append, el, freshId } from "./dom.js";

export class VirtualList {
  /**
   * @param {{
   *   label: string,
   *   rowHeight: number,
   *   count: () => number,
   *   draw: (index: number) => Child[],
   *   choose: (index: number) => unknown,
   *   open?: (index: number) => unknown,
   *   classes?: (index: number) => string,
   * }} options
   * `count()`: how many rows. `draw(index)`: the content of a row, an array of nodes or strings.
   * `choose(index)`: called when another row becomes the active one. `open(index)`: Enter, or a
   * double click. `classes(index)`: of the row's element.
   */
  constructor({ label, rowHeight, count, draw, choose, open, classes }) {
    this.rowHeight = rowHeight;
    this.count = count;
    this.draw = draw;
    this.choose = choose;
    this.open = open ?? (() => {});
    this.classes = classes ?? (() => "");
    this.active = -1;
    this.id = freshId();
    this.drawn = /** @type {Map<number, HTMLElement>} */ (new Map());
    this.held = this.waiting = this.stale = this.follow = false;
    this.space = el("div", { class: "space", role: "presentation" });
    this.element = el(
      "div",
      {
        class: "virtual",
        role: "listbox",
        "aria-label": label,
        tabindex: "0",
        on: {
          scroll: () => this.redrawSoon(),
          pointerdown: () => this.hold(),
          keydown: (event) => this.press(event),
          click: (event) => this.click(event),
          dblclick: () => this.active >= 0 && this.open(this.active),
        },
      },
      this.space,
    );
    new ResizeObserver(() => {
      if (this.active >= 0) this.bringIntoView();
      this.redrawSoon();
    }).observe(this.element);
  }

  /** While a button is held down nothing moves, so that the row that was pressed is chosen. */
  hold() {
    this.held = true;
    const release = () => {
      for (const event of ["pointerup", "pointercancel"]) removeEventListener(event, release);
      this.held = false;
      this.redrawSoon(); // in the next frame, after the click
    };
    for (const event of ["pointerup", "pointercancel"]) addEventListener(event, release);
  }

  redrawSoon() {
    if (this.waiting || this.held) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (!this.held) this.redraw();
    });
  }

  /** Redraw the rows in view; `follow`: scroll to the end first. */
  refresh({ follow = false } = {}) {
    this.stale = true;
    this.follow = this.follow || follow;
    this.redrawSoon();
  }

  redraw() {
    const count = this.count();
    const view = this.element.clientHeight || 400;
    // All reads come before the writes: a read after a write would force another layout.
    const end = Math.max(count * this.rowHeight - view, 0);
    const top = this.follow ? end : Math.min(this.element.scrollTop, end);
    if (this.active >= count) this.active = count - 1;
    const first = Math.max(Math.floor(top / this.rowHeight) - 4, 0);
    const last = Math.min(Math.ceil((top + view) / this.rowHeight) + 4, count);
    for (const [index, row] of this.drawn) {
      if (index < first || index >= last) {
        row.remove();
        this.drawn.delete(index);
      }
    }
    for (let index = first; index < last; index++) {
      const row = this.drawn.get(index);
      if (row === undefined) this.drawn.set(index, this.space.appendChild(this.make(index, count)));
      else if (this.stale) this.update(row, this.make(index, count));
    }
    this.stale = false;
    this.mark();
    const height = `${count * this.rowHeight}px`;
    if (this.space.style.height !== height) this.space.style.height = height;
    if (this.follow) this.element.scrollTop = end;
    this.follow = false;
  }

  make(/** @type {number} */ index, /** @type {number} */ count) {
    const row = el("div", {
      class: `row ${this.classes(index)}`,
      role: "option",
      id: `${this.id}-${index}`,
      "aria-setsize": count,
      "aria-posinset": index + 1,
      "aria-selected": String(index === this.active),
    });
    row.style.transform = `translateY(${index * this.rowHeight}px)`;
    row.style.height = `${this.rowHeight}px`;
    append(row, this.draw(index));
    return row;
  }

  /** Update a row to `fresh`. It stays the same element, and is not touched if nothing differs. */
  update(/** @type {Element} */ row, /** @type {Element} */ fresh) {
    row.setAttribute("aria-setsize", fresh.getAttribute("aria-setsize") ?? "");
    if (row.isEqualNode(fresh)) return;
    row.className = fresh.className;
    row.replaceChildren(...fresh.childNodes);
  }

  mark() {
    for (const [index, row] of this.drawn) {
      const isActive = String(index === this.active);
      if (row.getAttribute("aria-selected") !== isActive)
        row.setAttribute("aria-selected", isActive);
    }
    const active = this.drawn.get(this.active);
    if (active) this.element.setAttribute("aria-activedescendant", active.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** Make a row the active one, and bring it into view. */
  activate(/** @type {number} */ index, { quiet = false } = {}) {
    const count = this.count();
    if (!count) return;
    this.active = Math.min(Math.max(index, 0), count - 1);
    this.bringIntoView();
    this.redraw();
    if (!quiet) this.choose(this.active);
  }

  bringIntoView() {
    const top = this.active * this.rowHeight;
    const view = this.element.clientHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight > this.element.scrollTop + view) {
      this.element.scrollTop = top + this.rowHeight - view;
    }
  }

  press(/** @type {KeyboardEvent} */ event) {
    const page = Math.max(Math.floor(this.element.clientHeight / this.rowHeight) - 1, 1);
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    if (event.key in moves && !event.altKey && !event.ctrlKey && !event.metaKey) {
      const target = this.active + moves[event.key];
      this.activate(Math.min(Math.max(target, 0), this.count() - 1));
    } else if (event.key === "Enter" && this.active >= 0) this.open(this.active);
    else return;
    event.preventDefault();
  }

  click(/** @type {Event} */ { target }) {
    const row = target instanceof Element && target.closest(".row");
    if (!row) return;
    this.activate(Number(row.id.slice(this.id.length + 1)));
  }
}

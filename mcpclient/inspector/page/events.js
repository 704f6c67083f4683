// @ts-check
// What the modules of the page tell each other without knowing each other: changes, and wishes.

/** @type {Map<string, ((...about: any[]) => any)[]>} */
const listeners = new Map();

/** Call `work` whenever something of a kind has changed. */
export function on(/** @type {string} */ kind, /** @type {(...about: any[]) => any} */ work) {
  if (!listeners.has(kind)) listeners.set(kind, []);
  listeners.get(kind)?.push(work);
}

/** Tell that something of a kind has changed. */
export function changed(/** @type {string} */ kind, name = "") {
  for (const work of listeners.get(kind) ?? []) {
    try {
      work(name);
    } catch (error) {
      reportError(error); // one part of the page that fails leaves the others alone
    }
  }
}

/** Return a promise of the first truthy value of `look`, which is called after each change. */
export function until(/** @type {string} */ kind, /** @type {() => any} */ look) {
  return new Promise((resolve) => {
    const again = () => {
      const found = look();
      if (!found) return;
      listeners.get(kind)?.splice(listeners.get(kind)?.indexOf(again) ?? 0, 1);
      resolve(found);
    };
    on(kind, again);
    again();
  });
}

/** @type {Map<string, (...about: any[]) => any>} */
const views = new Map();

/** Register what shows things of a kind. */
export function view(/** @type {string} */ kind, /** @type {(...about: any[]) => any} */ show) {
  views.set(kind, show);
}

/** Show something of a kind, whichever module knows how; nothing where none does. */
export function go(/** @type {string} */ kind, /** @type {any[]} */ ...about) {
  return views.get(kind)?.(...about);
}

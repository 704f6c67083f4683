// @ts-check
// What the modules of the page tell each other without knowing each other: changes, and wishes.

/** @type {Map<string, Work[]>} */
const listeners = new Map();

/** Call `work` whenever something of a kind has changed. */
export function on(/** @type {Change} */ kind, /** @type {Work} */ work) {
  if (!listeners.has(kind)) listeners.set(kind, []);
  listeners.get(kind)?.push(work);
}

/** Tell that something of a kind has changed. */
export function changed(/** @type {string} */ kind) {
  for (const work of listeners.get(kind) ?? []) {
    try {
      work();
    } catch (error) {
      reportError(error); // one part of the page that fails leaves the others alone
    }
  }
}

/** Return a promise of the first truthy value of `look`, which is called after each change. */
export function until(/** @type {Change} */ kind, /** @type {() => boolean} */ look) {
  return new Promise((/** @type {(found: true) => void} */ resolve) => {
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

/** @type {Partial<Shows>} */
const views = {};

/** Register what shows things of a kind. */
/** @template {keyof Views} K @param {K} kind @param {Shows[K]} show */
export function view(kind, show) {
  views[kind] = show;
}

/** Show something of a kind, whichever module knows how; nothing where none does. */
/** @template {keyof Views} K @param {K} kind @param {Views[K]} about */
export function go(kind, ...about) {
  return views[kind]?.(...about);
}

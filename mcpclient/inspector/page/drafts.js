// @ts-check
// What has been typed and not sent: it outlives the choice of something else, and a reload.

const PREFIX = "inspector-draft ";

/** Return what was typed under a key, or undefined. */
/** @returns {Draft | undefined} */
export function draftOf(/** @type {string} */ key) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

function saveDraft(/** @type {string} */ key, /** @type {unknown} */ value) {
  try {
    sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    sessionStorage.removeItem(PREFIX + key); // too large to keep, such as the bytes of a file
  }
}

export function forgetDraft(/** @type {string} */ key) {
  sessionStorage.removeItem(PREFIX + key);
}

/** Save what `make` returns whenever something is typed or chosen in an element. */
/** @param {Element} element @param {string} key @param {() => unknown} make */
export function keepDraft(element, key, make) {
  const save = () => saveDraft(key, make());
  for (const event of ["input", "change", "click"]) element.addEventListener(event, save);
}

// @ts-check
// Texts: what a server says is shown with nothing invisible in it, and within limits.

// Characters that would be invisible, or change the order in which others are shown.
export const UNSAFE = new RegExp(
  [
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160]",
    "[\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f]",
    "[\\u2800\\u3164\\ufe00-\\ufe0d\\ufeff\\uffa0\\ufff9-\\ufffb]|[\\u{e0000}-\\u{e0fff}]",
  ].join("|"),
  "gu",
);

/** Return a string with its control and invisible characters written out. */
export function plain(/** @type {unknown} */ text) {
  return textOf(text)
    .replace(/\r\n/g, "\n")
    .replace(UNSAFE, (character) => {
      const code = character.codePointAt(0) ?? 0;
      if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
      return code < 0x10000
        ? `\\u${code.toString(16).padStart(4, "0")}`
        : `\\u{${code.toString(16)}}`;
    });
}

/** Return a value of a server as a string; the conversion of an object may throw. */
export function textOf(/** @type {unknown} */ value) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? jsonText(value) : String(value);
}

/** Whether a value is an object or a list. */
/** @returns {value is Loose} */
export function isObject(/** @type {unknown} */ value) {
  return value !== null && typeof value === "object";
}

/** The refusal of a request by the program of the page. */
export class Refusal extends Error {
  constructor(/** @type {Facts} */ facts) {
    super(textOf(facts.text));
    this.facts = facts;
  }
}

/** Return what is known of a failure: its `facts`, if it has some, or its message. */
/** @returns {Facts} */
export function factsOf(/** @type {unknown} */ failure) {
  if (failure instanceof Refusal) return failure.facts;
  return { text: failure instanceof Error ? failure.message : textOf(failure) };
}

/** Return a value as JSON, with NaN and the infinities as the server has sent them. */
export function jsonText(/** @type {unknown} */ value, indent = 0) {
  const odd = /"\ue000(NaN|-?Infinity)"/g;
  const marked = (/** @type {string} */ _, /** @type {unknown} */ item) =>
    typeof item === "number" && !Number.isFinite(item) ? `\ue000${item}` : item;
  return (JSON.stringify(value, marked, indent) ?? "").replace(odd, "$1");
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
/** Return JSON with a line for each value, each as it is written; other text as it is. */
export function indented(/** @type {string} */ text) {
  if (!/^\s*[[{]/.test(text) || text.length > 2e6) return text;
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  let last = "";
  let lines = "";
  for (const token of text.match(TOKENS) ?? []) {
    const isEnd = token === "}" || token === "]";
    const follows = last === "{" || last === "[";
    if (isEnd) depth -= 1;
    if (isEnd ? !follows : follows || last === ",") lines += `\n${"  ".repeat(depth)}`;
    lines += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth += 1;
    if (depth > 200 || lines.length > 8e6) return text; // indenting would make far more of it
    last = token;
  }
  return lines;
}

/** Return the time of day of seconds since the epoch, with milliseconds. */
export function timeOfDay(/** @type {number} */ seconds) {
  const at = new Date(seconds * 1000);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  return `${clock}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** Return the string, cut to `limit` characters. */
export function cut(/** @type {string} */ text, /** @type {number} */ limit) {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

export function sized(/** @type {number} */ characters) {
  if (characters < 1000) return `${characters} B`;
  return characters < 1e6
    ? `${(characters / 1000).toFixed(1)} kB`
    : `${(characters / 1e6).toFixed(1)} MB`;
}

export function lasted(/** @type {number | null | undefined} */ milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  return milliseconds < 10000
    ? `${Math.round(milliseconds)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;
}

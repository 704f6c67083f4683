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
export function plain(text) {
  return textOf(text)
    .replace(/\r\n/g, "\n")
    .replace(UNSAFE, (character) => {
      const code = character.codePointAt(0);
      if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
      return code < 0x10000
        ? `\\u${code.toString(16).padStart(4, "0")}`
        : `\\u{${code.toString(16)}}`;
    });
}

/** Return a value of a server as a string; the conversion of an object may throw. */
export function textOf(value) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Return the string, cut to `limit` characters. */
export function cut(text, limit) {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

export function sized(characters) {
  if (characters < 1000) return `${characters} B`;
  return characters < 1e6
    ? `${(characters / 1000).toFixed(1)} kB`
    : `${(characters / 1e6).toFixed(1)} MB`;
}

export function lasted(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  return milliseconds < 10000
    ? `${Math.round(milliseconds)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;
}

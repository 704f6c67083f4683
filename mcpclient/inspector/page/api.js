// @ts-check
// The server of this page: requests with the token, and the stream of updates.

import { isSaved, savedAnswer } from "./saved.js";
import { Refusal } from "./text.js";

// The token is in the fragment, which browsers do not send. It stays in this tab, so that a
// reload works, and leaves the address, so that the address can be shown to others.
const TOKEN_NAME = "inspector-token";
if (location.hash.startsWith("#t=")) {
  sessionStorage.setItem(TOKEN_NAME, location.hash.slice(3));
  history.replaceState(null, "", location.pathname);
}

export async function ask(/** @type {string} */ path, /** @type {RequestInit} */ about = {}) {
  if (isSaved) {
    const [place, query] = path.split("?");
    const answer = savedAnswer(place, Object.fromEntries(new URLSearchParams(query)));
    return new Response(answer);
  }
  const token = sessionStorage.getItem(TOKEN_NAME) ?? "";
  const headers = { Authorization: `Bearer ${token}`, ...about.headers };
  let response;
  try {
    response = await fetch(path, { ...about, headers });
  } catch {
    throw new Refusal({ type: "Gone", text: "The program of this page no longer responds." });
  }
  if (response.ok) return response;
  const text = await response.text();
  /** @type {Facts} */
  let facts = { type: `HTTP ${response.status}`, text };
  if (response.status === 401) {
    facts = {
      type: "No access",
      text: "The token is missing, or is not that of this inspector.",
      hint: "Open the address that the program has printed.",
    };
  } else {
    try {
      facts = JSON.parse(text).error ?? facts;
    } catch {
      // not JSON: the text itself is the error
    }
  }
  throw new Refusal(facts);
}

// JSON has no NaN and no infinities, which a server may send all the same: they come as strings
// that begin with a character of their own.
const MARK = "\ue000";
const MARK_AS_SENT = "\\ue000";

/** Return the value of JSON from the server of the page. */
function parsed(/** @type {string} */ text) {
  if (!text.includes(MARK_AS_SENT)) return JSON.parse(text);
  return JSON.parse(text, (_, value) =>
    typeof value === "string" && value[0] === MARK ? Number(value.slice(1)) : value,
  );
}

/**
 * Return the answer to a query.
 * @template {keyof Answers} P
 * @param {P} path
 * @param {Record<string, string | number>} query
 * @returns {Promise<Answers[P]>}
 */
export async function get(path, query = {}) {
  const words = Object.entries(query).map(([name, value]) => [name, String(value)]);
  return parsed(await (await ask(`${path}?${new URLSearchParams(words)}`)).text());
}

/**
 * Ask for an action.
 * @template {keyof Replies} P
 * @param {P} path
 * @param {Loose} body
 * @returns {Promise<Replies[P]>}
 */
export async function post(path, body) {
  return parsed(await (await ask(path, { method: "POST", body: JSON.stringify(body) })).text());
}

/**
 * Read the stream of updates for ever; `take` gets each update, `tell` the state of the stream.
 * @param {number} version
 * @param {(news: News) => void} take
 * @param {(failure: unknown) => void} tell
 */
export async function listen(version, take, tell) {
  let last = version;
  if (isSaved) return;
  for (let pause = 500; ; pause = Math.min(pause * 2, 8000)) {
    try {
      const response = await ask("/api/events", { headers: { "Last-Event-ID": String(last) } });
      tell(null);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      while (reader) {
        const { done, value } = await reader.read();
        if (done) break;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const data = /^data: (.*)$/m.exec(block);
          if (!data) continue;
          last = Number(/^id: (\d+)$/m.exec(block)?.[1] ?? last);
          take(parsed(data[1]));
          pause = 500;
        }
      }
      throw new Refusal({ type: "Gone", text: "The program of this page no longer responds." });
    } catch (error) {
      tell(error);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

// @ts-check
// The data of a saved page: it answers as the program of the page does, without one.

const savedHolder = document.getElementById("saved");
/** @type {Saved | null} */
const saved = savedHolder && JSON.parse(savedHolder.textContent ?? "");

/** Whether this page was saved: there is no program behind it. */
export const isSaved = saved !== null;

/** Return the text of the answer to a request of this page. */
/** @returns {string} */
export function savedAnswer(/** @type {string} */ path, /** @type {Query} */ query) {
  if (path === "/api/state") return JSON.stringify({ ...saved?.state, wire: savedWires() });
  const session = saved?.servers[query.server];
  if (!session) return "{}";
  const number = Number(query.number) - session.wire.first;
  switch (path) {
    case "/api/record":
      return session.lines[number];
    case "/api/rows": {
      const first = Number(query.first) - session.wire.first;
      return JSON.stringify({ rows: session.rows.slice(first, first + Number(query.count)) });
    }
    case "/api/find":
      return JSON.stringify(searched(session, query));
    case "/api/block":
      return JSON.stringify({ lines: linesAround(session, number) });
    case "/api/transcript":
      return `${session.lines.join("\n")}\n`;
    default: // lists, faults, calls, exchanges
      return JSON.stringify(Object.entries(session).find(([name]) => path === `/api/${name}`)?.[1]);
  }
}

function savedWires() {
  const entries = Object.entries(saved?.servers ?? {});
  return Object.fromEntries(
    entries.map(([name, { wire, rows }]) => [name, { ...wire, rows: rows.slice(-200) }]),
  );
}

/** Return a row by the names of its values. */
export function rowOf(/** @type {unknown[]} */ values, /** @type {string[]} */ names) {
  const row = Object.fromEntries(values.map((value, at) => [names[at], value]));
  return /** @type {Row} */ (row); // as the program has made it
}

/** Search as the program does; see `Journal.find`. */
function searched(/** @type {SavedSession} */ session, /** @type {Query} */ query) {
  const { text = "", lanes = "", after = "-1", last = "Infinity", only = "", method = "" } = query;
  const wanted = text.toLowerCase();
  const levels = saved?.levels ?? [];
  const least = levels.indexOf(only);
  const isOf = (/** @type {Row} */ row) => {
    if (only === "fault") return row.faults.length > 0;
    if (only === "failure") return row.kind === "error" || row.faults.length > 0;
    return least >= 0 && levels.indexOf(row.level) >= least;
  };
  const numbers = session.rows
    .map((values) => rowOf(values, saved?.state.row ?? []))
    .filter(
      (row, index) =>
        row.number > Number(after) &&
        row.number <= Number(last) &&
        lanes.split(",").includes(row.lane) &&
        (!only || isOf(row)) &&
        (!method || row.label === method) &&
        (!wanted || session.lines[index].toLowerCase().includes(wanted)),
    )
    .map((row) => row.number);
  return { numbers, searched: session.wire.next - 1 };
}

/** Return the lines of stderr around a record. */
function linesAround(/** @type {SavedSession} */ { lines }, /** @type {number} */ index) {
  const textAt = (/** @type {number} */ at) => {
    const record = at >= 0 && at < lines.length ? JSON.parse(lines[at]) : {};
    return record.channel === "stderr" ? String(record.text ?? "") : null;
  };
  let first = index;
  while (index - first < 200 && textAt(first - 1) !== null) first -= 1;
  const texts = [];
  for (let at = first; texts.length < 400; at += 1) {
    const text = textAt(at);
    if (text === null) break;
    texts.push(text);
  }
  return texts;
}

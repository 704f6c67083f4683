// @ts-check
// The data of a saved page: it answers as the program of the page does, without one.

const savedHolder = document.getElementById("saved");
const saved = savedHolder ? JSON.parse(savedHolder.textContent ?? "") : null;

/** Whether this page was saved: there is no program behind it. */
export const isSaved = saved !== null;

/** Return the text of the answer to a request of this page. */
export function savedAnswer(path, query) {
  const session = saved.servers[query.server];
  const number = Number(query.number) - (session?.wire.first ?? 0);
  switch (path) {
    case "/api/state":
      return JSON.stringify({ ...saved.state, wire: savedWires() });
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
      return JSON.stringify(session[path.slice("/api/".length)]);
  }
}

function savedWires() {
  const entries = Object.entries(saved.servers);
  return Object.fromEntries(
    entries.map(([name, { wire, rows }]) => [name, { ...wire, rows: rows.slice(-200) }]),
  );
}

/** Search as the program does; see `Journal.find`. */
function searched(session, { text = "", lanes = "", after = -1, last, only = "", method = "" }) {
  const wanted = text.toLowerCase();
  const least = saved.levels.indexOf(only);
  const isOf = (row) => {
    if (only === "fault") return row.faults.length > 0;
    if (only === "failure") return row.kind === "error" || row.faults.length > 0;
    return least >= 0 && saved.levels.indexOf(row.level) >= least;
  };
  const numbers = session.rows
    .map((values) => Object.fromEntries(values.map((value, at) => [saved.state.row[at], value])))
    .filter(
      (row, index) =>
        row.number > Number(after) &&
        row.number <= Number(last ?? Infinity) &&
        lanes.split(",").includes(row.lane) &&
        (!only || isOf(row)) &&
        (!method || row.label === method) &&
        (!wanted || session.lines[index].toLowerCase().includes(wanted)),
    )
    .map((row) => row.number);
  return { numbers, searched: session.wire.next - 1 };
}

/** Return the lines of stderr around a record. */
function linesAround({ lines }, index) {
  const textAt = (at) => {
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

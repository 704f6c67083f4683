// @ts-check
// A request as Python, as a command line and as curl. Secrets are environment variables, so that
// the copied command runs as soon as they are set.

import { UNSAFE, isObject, plain, textOf } from "./text.js";

/** The name by which the library is imported; a vendored copy has another one. */
const PACKAGE_NAME = document.documentElement.dataset.package;

const IS_INSTALLED = PACKAGE_NAME === "mcpclient";

/** Return the parts of a word of the target: strings, and objects with the name of a variable. */
function partsOf(/** @type {Word} */ word) {
  return Array.isArray(word) ? word : [word];
}

/** Return how the server is reached: `url` or `command`, as words; see copying.py. */
/** @returns {Copied} */
function copiedOf(/** @type {ServerState} */ state) {
  const target = state.target ?? "";
  return state.copied ?? (/^https?:\/\/[^…]*$/.test(target) ? { url: [target] } : {});
}

function variableFor(/** @type {string} */ name) {
  return name
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toUpperCase()
    .replace(/^(?=[0-9]|$)/, "VALUE_");
}

/** Return the variable that holds another one's value: the same, unless no shell takes its name. */
function sameVariable(/** @type {string} */ name) {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : variableFor(name);
}

/** Return the headers of requests as `[name, variable]`: their values are variables. */
function secretHeaders(/** @type {ServerState} */ state) {
  const headers = (state.headers ?? []).map((name) => [name, variableFor(name)]);
  return state.auth ? [...headers, ["Authorization", "TOKEN"]] : headers;
}

/** @typedef {(state: ServerState, method: string, params: Loose) => string} Form */

/** @type {Form} */
export function asPython(state, method, params) {
  /** @type {Record<string, () => string>} */
  const calls = {
    "tools/call": () => `call_tool(${pythonOf(params.name)}, ${pythonOf(params.arguments ?? {})})`,
    "resources/read": () => `read_resource(${pythonOf(params.uri)})`,
    "prompts/get": () =>
      `get_prompt(${pythonOf(params.name)}, ${pythonOf(params.arguments ?? {})})`,
  };
  const call = (calls[method] ?? (() => `request(${pythonOf(method)}, ${pythonOf(params)})`))();
  const connect = [pythonTarget(state), ...pythonOptions(state)].join(", ");
  return [
    "import asyncio",
    connect.includes("os.environ") && "import os",
    "",
    IS_INSTALLED ? "import mcpclient" : `import ${PACKAGE_NAME} as mcpclient`,
    "",
    "",
    "async def main():",
    `    async with mcpclient.connect(${connect}) as client:`,
    `        print(await client.${call})`,
    "",
    "",
    "asyncio.run(main())",
    "",
  ]
    .filter((line) => typeof line === "string")
    .join("\n");
}

function pythonTarget(/** @type {ServerState} */ state) {
  const { url, command } = copiedOf(state);
  if (url) return pythonWord(url);
  return `[${(command ?? ["COMMAND"]).map(pythonWord).join(", ")}]`;
}

function pythonOptions(/** @type {ServerState} */ state) {
  const { cwd, oauth } = copiedOf(state);
  const options = [];
  const environ = (/** @type {string} */ name) => `os.environ[${pythonOf(name)}]`;
  const mapping = (/** @type {string[]} */ names, /** @type {typeof variableFor} */ variable) =>
    `{${names.map((name) => `${pythonOf(name)}: ${environ(variable(name))}`).join(", ")}}`;
  if (cwd) options.push(`cwd=${pythonOf(cwd)}`);
  if (state.env?.length) options.push(`env=${mapping(state.env, sameVariable)}`);
  if (state.headers?.length) options.push(`headers=${mapping(state.headers, variableFor)}`);
  if (oauth)
    options.push(
      `auth=mcpclient.OAuth(${Object.entries(oauth)
        .map(([name, value]) => `${name}=${pythonOf(value)}`)
        .join(", ")})`,
    );
  else if (state.auth) options.push(`auth=${environ("TOKEN")}`);
  return options;
}

function pythonWord(/** @type {Word} */ word) {
  return partsOf(word)
    .map((part) =>
      typeof part === "string" ? pythonOf(part) : `os.environ[${pythonOf(part.variable)}]`,
    )
    .join(" + ");
}

/** Return a JSON value as a Python literal. */
/** @returns {string} */
function pythonOf(/** @type {unknown} */ value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([name, item]) => `${pythonOf(name)}: ${pythonOf(item)}`)
      .join(", ")}}`;
  }
  if (typeof value === "number") return String(value);
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    character.length === 1
      ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
      : `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`,
  );
}

// Invisible characters, and those that a terminal acts upon before a shell sees the quotes.
const UNPASTABLE = new RegExp(`[\\t\\n]|${UNSAFE.source}`, "u");

function quoted(/** @type {string} */ text) {
  if (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(text)) return text;
  if (!UNPASTABLE.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
  const bytes = [...new TextEncoder().encode(text)];
  const written = (/** @type {number} */ byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x27 || byte === 0x5c
      ? `\\${byte.toString(8).padStart(3, "0")}`
      : String.fromCharCode(byte);
  return `$'${bytes.map(written).join("")}'`;
}

function shellWord(/** @type {Word} */ word) {
  return partsOf(word)
    .map((part) => (typeof part === "string" ? quoted(part) : `"$${part.variable}"`))
    .join("");
}

/** @type {Record<string, (params: Loose) => unknown[]>} */
const COMMANDS = {
  "tools/call": (params) => ["call", params.name, ...wordsOf(argumentsIn(params))],
  "resources/read": (params) => ["read", params.uri],
  "prompts/get": (params) => ["prompt", params.name, ...textsOf(argumentsIn(params))],
  "tools/list": () => ["tools"],
  "resources/list": () => ["resources"],
  "prompts/list": () => ["prompts"],
  ping: () => ["ping"],
};

function argumentsIn(/** @type {Loose} */ params) {
  return isObject(params.arguments) ? params.arguments : {};
}

/** @type {Form} */
export function asCommandLine(state, method, params) {
  if (!(method in COMMANDS))
    return `# there is no command for ${plain(method).replaceAll("\n", " ")}; copy it as Python\n`;
  const { url, command, cwd } = copiedOf(state);
  const words = COMMANDS[method](params).map(String);
  // Such a name would be parsed as an option of the command, and quotes do not prevent that.
  if (words.some((word) => word.startsWith("-") || word.includes("\0")))
    return "# no command line can say this name; copy it as Python\n";
  const [name, ...others] = words.map(quoted);
  const options = [];
  for (const header of state.headers ?? [])
    options.push(`--header=${shellWord([`${header}: `, { variable: variableFor(header) }])}`);
  for (const variable of state.env ?? [])
    options.push(`--env=${shellWord([`${variable}=`, { variable: sameVariable(variable) }])}`);
  if (cwd) options.push(`--cwd=${quoted(cwd)}`);
  if (state.auth && !copiedOf(state).oauth) options.push("--bearer", '"$TOKEN"');
  const target = url ? [] : ["--", ...(command ?? ["COMMAND"]).map(shellWord)];
  const program = IS_INSTALLED ? "mcpclient" : `python3 -m ${PACKAGE_NAME}`;
  return [program, name, ...(url ? [shellWord(url)] : []), ...others, ...options, ...target].join(
    " ",
  );
}

/** Return arguments as the command line takes them: `key=text`, `key:=json`, or all as one JSON. */
function wordsOf(/** @type {Loose} */ values) {
  const names = Object.keys(values);
  if (!names.every((name) => /^[A-Za-z_][\w.-]*$/.test(name))) return [JSON.stringify(values)];
  return names.map((name) =>
    isPlainWord(values[name])
      ? `${name}=${values[name]}`
      : `${name}:=${JSON.stringify(values[name])}`,
  );
}

/** Return the arguments of a prompt, which are strings. */
function textsOf(/** @type {Loose} */ values) {
  const isPlain = Object.entries(values).every(
    ([name, value]) => /^[A-Za-z_][\w.-]*$/.test(name) && !textOf(value).startsWith("@"),
  );
  return isPlain
    ? Object.entries(values).map(([name, value]) => `${name}=${value}`)
    : [JSON.stringify(values)];
}

/** Whether a string cannot be taken for other JSON or for the name of a file. */
function isPlainWord(/** @type {unknown} */ value) {
  return (
    typeof value === "string" &&
    /^[A-Za-z]/.test(value) &&
    !/^(true|false|null|NaN|Infinity)$/.test(value.trim())
  );
}

/** Whether curl can send it: the server is reached by HTTP, and not by the older HTTP+SSE. */
export function curlCan(/** @type {ServerState} */ state) {
  const [start] = partsOf(copiedOf(state).url ?? "");
  return state.transport !== "sse" && (typeof start !== "string" || /^https?:/.test(start));
}

/** @type {Form} */
export function asCurl(state, method, params) {
  const version = state.version ?? "2025-11-25";
  const common = [
    "-H 'Content-Type: application/json'",
    "-H 'Accept: application/json, text/event-stream'",
  ];
  const versioned = `-H ${quoted(`MCP-Protocol-Version: ${version}`)}`;
  for (const [name, variable] of secretHeaders(state)) {
    common.push(
      `-H ${shellWord([`${name}: ${name === "Authorization" ? "Bearer " : ""}`, { variable }])}`,
    );
  }
  const post = (/** @type {Loose} */ message, /** @type {string[]} */ ...more) =>
    [
      `curl -gsS ${shellWord(copiedOf(state).url ?? "")}`,
      ...common,
      ...more,
      `--data ${quoted(asciiJson({ jsonrpc: "2.0", ...message }))}`,
    ].join(" \\\n  ");
  if (state.era === "stateless") {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": { name: "curl", version: "0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const subjectName = params.name ?? params.uri;
    const headers = [
      `-H ${quoted(`Mcp-Method: ${method}`)}`,
      ...(typeof subjectName === "string"
        ? [`-H ${quoted(`Mcp-Name: ${headerValue(subjectName)}`)}`]
        : []),
    ];
    const message = { id: 1, method, params: { ...params, _meta: meta } };
    return `${post(message, versioned, ...headers)}\n`;
  }
  // A session comes first, and its id, where the server gives one, travels with what follows.
  const opening = {
    id: 0,
    method: "initialize",
    params: {
      protocolVersion: version,
      capabilities: {},
      clientInfo: { name: "curl", version: "0" },
    },
  };
  const sessionId = `tr -d '\\r' | awk 'tolower($1) == "mcp-session-id:" { print $2 }'`;
  const session = '${SESSION:+-H "Mcp-Session-Id: $SESSION"}';
  return [
    `SESSION=$(${post(opening, "-o /dev/null", "-D -")} | ${sessionId})`,
    post({ method: "notifications/initialized" }, versioned, session),
    post({ id: 1, method, params }, versioned, session),
    "",
  ].join("\n");
}

/** Return JSON in which nothing is invisible, or changes how the rest is shown. */
function asciiJson(/** @type {Loose} */ value) {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Return a string as the value of a header: as it is or, where that cannot be, in base64. */
function headerValue(/** @type {string} */ text) {
  if (/^[!-~]([ -~]*[!-~])?$/.test(text) && !/^=\?base64\?/.test(text)) return text;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}?=`;
}

/** Return a server as an entry of `mcpServers`, secrets as variables; null if it has no target. */
export function configurationOf(/** @type {string} */ name, /** @type {ServerState} */ state) {
  const { url, command, cwd } = copiedOf(state);
  const word = (/** @type {Word} */ parts) =>
    partsOf(parts)
      .map((part) => (typeof part === "string" ? part : `\${${part.variable}}`))
      .join("");
  const named = (/** @type {string[]} */ names) =>
    Object.fromEntries(names.map((each) => [each, `\${${sameVariable(each)}}`]));
  /** @type {Loose} */
  const entry = {};
  if (url) {
    Object.assign(entry, { type: state.transport === "sse" ? "sse" : "http", url: word(url) });
    if (state.headers?.length) entry.headers = named(state.headers);
  } else if (command) {
    const [program, ...others] = command.map(word);
    Object.assign(entry, { command: program, args: others });
    if (state.env?.length) entry.env = named(state.env);
    if (cwd) entry.cwd = cwd;
  } else return null;
  const key = /^[\w.-]+$/.test(name) ? name : textOf(state.server?.name) || "server";
  return { mcpServers: { [key]: entry } };
}

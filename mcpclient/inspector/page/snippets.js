// A request in other words: as Python, as a command line, as curl.

function targetOf(state) {
  const target = state.target ?? "";
  return /^(https?|wss?):/.test(target) ? target : null;
}

function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function asPython(state, method, params) {
  const url = targetOf(state);
  const target = url ? JSON.stringify(url) : `[${JSON.stringify("COMMAND")}]`;
  const calls = {
    "tools/call": () => `call_tool(${pythonOf(params.name)}, ${pythonOf(params.arguments ?? {})})`,
    "resources/read": () => `read_resource(${pythonOf(params.uri)})`,
    "prompts/get": () => `get_prompt(${pythonOf(params.name)}, ${pythonOf(params.arguments ?? {})})`,
  };
  const call = (calls[method] ?? (() => `request(${pythonOf(method)}, ${pythonOf(params)})`))();
  return [
    "import asyncio",
    "import mcpclient",
    "",
    "async def main():",
    `    async with mcpclient.connect(${target}) as client:`,
    `        print(await client.${call})`,
    "",
    "asyncio.run(main())",
    "",
  ].join("\n");
}

/** Return a JSON value as a Python literal. */
function pythonOf(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([name, item]) => `${pythonOf(name)}: ${pythonOf(item)}`).join(", ")}}`;
  }
  if (typeof value === "number") return String(value);
  const escaped = JSON.stringify(value).replace(UNSAFE, (character) =>
    character.codePointAt(0) < 0x10000
      ? `\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`
      : `\\U${character.codePointAt(0).toString(16).padStart(8, "0")}`,
  );
  return escaped;
}

function asCommandLine(state, method, params) {
  const url = targetOf(state);
  const commands = {
    "tools/call": () => ["call", params.name, ...wordsOf(params.arguments ?? {})],
    "resources/read": () => ["read", params.uri],
    "prompts/get": () => ["prompt", params.name, ...textsOf(params.arguments ?? {})],
  };
  const words = (commands[method] ?? (() => [method]))();
  const [command, ...others] = words;
  const line = ["mcpclient", command, ...(url ? [url] : []), ...others].map((word) => quoted(String(word)));
  return url ? line.join(" ") : [...line, "--", "COMMAND"].join(" ");
}

/** Return arguments as the command line takes them: `key=text`, `key:=json`, or all as one JSON. */
function wordsOf(values) {
  const names = Object.keys(values);
  if (!names.every((name) => /^[A-Za-z_][\w.-]*$/.test(name))) return [JSON.stringify(values)];
  return names.map((name) => (isPlainWord(values[name]) ? `${name}=${values[name]}` : `${name}:=${JSON.stringify(values[name])}`));
}

/** Return the arguments of a prompt, which are texts. */
function textsOf(values) {
  const isPlain = Object.entries(values).every(([name, value]) => /^[A-Za-z_][\w.-]*$/.test(name) && !value.startsWith("@"));
  return isPlain ? Object.entries(values).map(([name, value]) => `${name}=${value}`) : [JSON.stringify(values)];
}

/** Whether a text could not be read as JSON of another kind, or as the name of a file. */
function isPlainWord(value) {
  return typeof value === "string" && /^[A-Za-z]/.test(value) && !/^(true|false|null|NaN|Infinity)$/.test(value.trim());
}

function asCurl(state, method, params) {
  const url = targetOf(state);
  if (!url) return "# curl needs a server that is reached over HTTP";
  const stateless = state.era === "stateless";
  const meta = stateless
    ? { _meta: { "io.modelcontextprotocol/protocolVersion": state.version, "io.modelcontextprotocol/clientInfo": { name: "curl", version: "0" }, "io.modelcontextprotocol/clientCapabilities": {} } }
    : {};
  const message = { jsonrpc: "2.0", id: 1, method, params: { ...params, ...meta } };
  const lines = [
    `curl ${quoted(url)}`,
    "-H 'Content-Type: application/json'",
    "-H 'Accept: application/json, text/event-stream'",
    `-H ${quoted(`MCP-Protocol-Version: ${state.version}`)}`,
    ...(stateless ? [`-H ${quoted(`Mcp-Method: ${method}`)}`] : ["-H \"Mcp-Session-Id: $SESSION\"  # if the server gives one"]),
    ...(stateless && (params.name ?? params.uri) ? [`-H ${quoted(`Mcp-Name: ${params.name ?? params.uri}`)}`] : []),
    ...(state.headers ?? []).map((name) => `-H ${quoted(`${name}: …`)}`),
    `--data ${quoted(JSON.stringify(message))}`,
  ];
  return `${lines.filter((line) => !line.includes("  #")).join(" \\\n  ")}\n`;
}

/** Buttons that copy a request in each of these forms; `make` returns `[method, params]`. */
function copyButtons(make) {
  const of = (form) => () => form(server() ?? {}, ...make());
  return el(
    "div",
    { class: "buttons" },
    copyButton("Copy as Python", of(asPython)),
    copyButton("Copy as command line", of(asCommandLine)),
    copyButton("Copy as curl", of(asCurl)),
  );
}

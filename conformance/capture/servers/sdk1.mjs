// A server on `@modelcontextprotocol/sdk` 1.x, for what the reference servers do not show.
// Usage: node sdk1.mjs <folder with node_modules>/package.json stdio|http|sse|ws [VARIANT]
//
// Those that listen do so on PORT. Variants:
//   json        answers of HTTP are JSON, not event streams
//   resumable   events of HTTP have ids and can be had again; a lost stream is to be retried, not soon
//   repeating   the same, and what a client has had last is sent once more
//   silent      does not answer `initialize`
//   elsewhere   legacy SSE whose endpoint is on the port AUTH_PORT, where nobody is
//   stateless   HTTP without a session, and without GET and DELETE
//   closing     HTTP closes the connection after each response, and says so
//   cookies     HTTP gives a cookie, and wants it back
//   crumbs      HTTP gives a cookie, and takes it away with the next response
//   chatty      event streams have comments, other fields, and events that are no messages
//   busy        HTTP is busy now and then: 503 and Retry-After, before anything has run
//   crowded     the same for calls of tools, of which the first is refused by 503 and by 429
//   odd-case    HTTP writes the names of headers in odd case
//   forgetful   does not know the cursor after the first page, once
//   refused-N   legacy SSE that refuses what is not for it by the status N
//   <revision>  answers `initialize` with this protocol version

import { createServer } from "node:http";
import { createRequire } from "node:module";

import { makeServer } from "./sdk1_features.mjs";

const [, , modules, kind, variant] = process.argv;
const require = createRequire(modules);
const part = (path) => require(`@modelcontextprotocol/sdk/${path}`);
const PORT = Number(process.env.PORT);

let sessions = 0;
let wasBusy = false;
const refusals = variant === "crowded" ? [503, 429] : [];
const newSessionId = () => `the-id-of-session-${++sessions}`;

/** A server for one session; `session` is what its tools can do to the session. */
const newServer = (session) => makeServer(part, variant, session);

/** Keeps all events, with ids that are the same in every run. */
class EventStore {
  #events = [];

  async storeEvent(streamId, message) {
    this.#events.push({ streamId, message });
    return `event-${this.#events.length}`;
  }

  async replayEventsAfter(lastId, { send }) {
    const number = Number(lastId.replace("event-", ""));
    const { streamId } = this.#events[number - 1];
    const first = variant === "repeating" ? number - 1 : number;
    for (const [index, event] of this.#events.entries())
      if (index >= first && event.streamId === streamId)
        await send(`event-${index + 1}`, event.message);
    return streamId;
  }
}

function bodyOf(request) {
  return new Promise((resolve) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => resolve(chunks.length ? JSON.parse(Buffer.concat(chunks)) : undefined));
  });
}

function refuse(response, status, code, message) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } }));
}

/** Say more on an event stream than messages, before the first one. */
function chatter(response) {
  const data = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } };
  const said = `: a comment\n\nevent: heartbeat\nunknown: field\ndata: ${JSON.stringify(data)}\n\n`;
  const head = response.writeHead.bind(response);
  const isNoLength = ([name]) => name.toLowerCase() !== "content-length";
  response.writeHead = (status, headers = {}) =>
    head(status, Object.fromEntries(Object.entries(headers).filter(isNoLength)));
  const write = response.write.bind(response);
  response.write = (chunk) => {
    response.write = write;
    const text = Buffer.from(chunk).toString();
    // What has no type is a message.
    return write(text.startsWith("event:") ? said + text.replace("event: message\n", "") : text);
  };
}

/** Have the names of a response's headers written in odd case. */
function writeOddly(response) {
  const write = response.writeHead.bind(response);
  const oddly = (name) => name.toLowerCase().replace(/[a-z](?=[a-z]?)/g, (c, at) => (at % 2 ? c.toUpperCase() : c));
  response.writeHead = (status, headers = {}) => {
    const given = { ...response.getHeaders(), ...headers };
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    return write(status, Object.fromEntries(Object.entries(given).map(([n, v]) => [oddly(n), v])));
  };
}

async function newHttpTransport(transports) {
  const { StreamableHTTPServerTransport } = part("server/streamableHttp.js");
  const isStateless = variant === "stateless";
  const isResumable = variant === "resumable" || variant === "repeating";
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: isStateless ? undefined : newSessionId,
    enableJsonResponse: variant === "json",
    ...(isResumable && { eventStore: new EventStore(), retryInterval: 200 }),
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  const session = { forget: () => transports.delete(transport.sessionId) };
  await newServer(session).connect(transport);
  return transport;
}

async function serveHttp() {
  const transports = new Map();
  const server = createServer(async (request, response) => {
    if (variant === "stateless" && request.method !== "POST")
      return refuse(response, 405, -32000, "Method not allowed");
    const body = await bodyOf(request);
    if (variant === "closing" && request.method === "POST") response.setHeader("connection", "close");
    if (variant === "cookies") response.setHeader("set-cookie", "visitor=known; HttpOnly");
    if (variant === "busy" && body?.method === "tools/list" && !wasBusy) {
      wasBusy = true;
      response.setHeader("retry-after", "1");
      return refuse(response, 503, -32000, "Busy");
    }
    if (body?.method === "tools/call" && refusals.length) {
      response.setHeader("retry-after", "1");
      return refuse(response, refusals.shift(), -32000, "Busy");
    }
    if (variant === "crumbs") {
      const lasts = body?.method === "initialize" ? "HttpOnly" : "Max-Age=0";
      response.setHeader("set-cookie", `visitor=known; ${lasts}`);
    }
    if (variant === "chatty") chatter(response);
    if (variant === "odd-case") writeOddly(response);
    if (variant === "silent") return body.id === undefined && response.writeHead(202).end();
    const id = request.headers["mcp-session-id"];
    const transport = id === undefined ? await newHttpTransport(transports) : transports.get(id);
    if (!transport) return refuse(response, 404, -32001, "Session not found");
    await transport.handleRequest(request, response, body);
  });
  server.listen(PORT, "127.0.0.1");
}

async function serveSse() {
  const { SSEServerTransport } = part("server/sse.js");
  const transports = new Map();
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (request.method === "GET" && variant === "elsewhere") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const endpoint = `http://127.0.0.1:${process.env.AUTH_PORT}/messages`;
      return response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
    }
    if (variant?.startsWith("refused-") && request.method === "POST" && !url.search)
      return refuse(response, Number(variant.slice(8)), -32000, "Not here");
    if (request.method === "GET") {
      if (variant === "chatty") chatter(response);
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      return newServer({}).connect(transport);
    }
    const transport = transports.get(url.searchParams.get("sessionId"));
    if (!transport) return refuse(response, 404, -32001, "Session not found");
    return transport.handlePostMessage(request, response);
  });
  server.listen(PORT, "127.0.0.1");
}

/** A transport of the SDK over one connection of the npm package `ws`, found by the variable WS. */
function webSocketTransport(socket) {
  const transport = {
    start: async () => {
      socket.on("message", (data) => transport.onmessage?.(JSON.parse(data)));
      socket.on("close", () => transport.onclose?.());
    },
    send: async (message) => socket.send(JSON.stringify(message)),
    close: async () => socket.close(),
  };
  return transport;
}

function serveWebSocket() {
  const { WebSocketServer } = require(process.env.WS);
  const options = { host: "127.0.0.1", port: PORT, perMessageDeflate: false };
  const handleProtocols = (offered) => (offered.has("mcp") ? "mcp" : false);
  new WebSocketServer({ ...options, handleProtocols }).on("connection", (socket) => {
    const session = { ping: () => socket.ping("are you there"), drop: () => socket.terminate() };
    newServer(session).connect(webSocketTransport(socket));
  });
}

async function serveStdio() {
  const { StdioServerTransport } = part("server/stdio.js");
  if (variant === "silent") process.stdin.resume();
  else await newServer({}).connect(new StdioServerTransport());
  process.stdin.on("close", () => process.exit(0));
}

await { http: serveHttp, sse: serveSse, stdio: serveStdio, ws: serveWebSocket }[kind]();

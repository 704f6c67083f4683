// A server on `@modelcontextprotocol/server` 2.x: the stateless era, and the other one if it is asked.
// Usage: node sdk2.mjs <folder with node_modules>/package.json stdio|http [VARIANT]
//
// Over HTTP it listens on PORT. Variants:
//   sse     every answer of HTTP is an event stream
//   cached  lists and resources say how long they stay fresh
//   private lists of tools stay fresh for each caller apart
//   crowded HTTP refuses the first call of a tool by 503 and by 429, with Retry-After
//   insatiable  has tools that ask without a state, with an empty one, for nothing, and for ever
//   stale   lists stay fresh for a moment
//   extended  declares an extension
//   older   HTTP refuses the stateless era, and says which versions there are

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";

import { makeServer } from "./sdk2_features.mjs";

const [, , modules, kind, variant] = process.argv;
const require = createRequire(modules);
const sdk = require("@modelcontextprotocol/server");

const refusals = variant === "crowded" ? [503, 429] : [];

/** The refusal of a request, for the variants that refuse some. */
function refusalOf({ headers }) {
  const asked = headers["mcp-protocol-version"];
  if (headers["mcp-method"] === "tools/call" && refusals.length)
    return [refusals.shift(), { "retry-after": "1" }, { code: -32000, message: "Busy" }];
  if (variant !== "older" || asked !== "2026-07-28") return undefined;
  const data = { supported: ["2025-11-25"], requested: asked };
  return [400, {}, { code: -32022, message: "Unsupported protocol version", data }];
}

/** What the SDK wants, from what Node has; it is aborted when the client goes away. */
function webRequest(request, response) {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  return new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method,
    headers: request.headers,
    body: request.method === "POST" ? Readable.toWeb(request) : undefined,
    duplex: "half",
    signal: gone.signal,
  });
}

function serveHttp() {
  const changed = {};
  const newServer = () => makeServer(sdk, variant, changed);
  const handler = sdk.createMcpHandler(newServer, {
    responseMode: variant === "sse" ? "sse" : "auto",
    keepAliveMs: 0,
  });
  Object.assign(changed, handler.notify);
  const server = createServer(async (request, response) => {
    const refusal = refusalOf(request);
    if (refusal) {
      const [status, headers, error] = refusal;
      response.writeHead(status, { "content-type": "application/json", ...headers });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
    }
    const answer = await handler.fetch(webRequest(request, response)).catch(() => undefined);
    if (!answer) return response.destroy();
    response.writeHead(answer.status, [...answer.headers].flat());
    if (!answer.body) return response.end();
    Readable.fromWeb(answer.body).on("error", () => response.destroy()).pipe(response);
  });
  server.listen(Number(process.env.PORT), "127.0.0.1");
}

function serveStdio() {
  const { serveStdio } = require("@modelcontextprotocol/server/stdio");
  serveStdio(() => makeServer(sdk, variant, undefined));
}

({ http: serveHttp, stdio: serveStdio })[kind]();

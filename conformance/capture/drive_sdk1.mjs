// Runs a script through the Client of `@modelcontextprotocol/sdk` 1.x: the handshake era.
// Usage: node drive_sdk1.mjs <the folder with node_modules>/package.json < task.json

import { createRequire } from "node:module";

import { signIn } from "./signing_in.mjs";
import { closed, connectOptions, run, task, watchedFetch } from "./steps.mjs";

const require = createRequire(process.argv[2]);
const part = (path) => require(`@modelcontextprotocol/sdk/${path}`);
const { Client } = part("client/index.js");
const types = part("types.js");

const { script, target, clientInfo } = task;
const client = new Client(clientInfo, { capabilities: script.client.capabilities ?? {} });

const requestSchemas = {
  "roots/list": types.ListRootsRequestSchema,
  "sampling/createMessage": types.CreateMessageRequestSchema,
  "elicitation/create": types.ElicitRequestSchema,
};

/** Also keeps the version that was negotiated, which only the transport of HTTP would tell. */
function watchVersion(transport) {
  const set = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    sdk.version = version;
    set?.(version);
  };
  return transport;
}

const sdk = {
  client,
  ErrorClass: types.McpError,
  tasks: client.experimental.tasks,
  setRequestHandler: (method, handler) =>
    client.setRequestHandler(requestSchemas[method], handler),
  takeAnswer: (transport, parameters) => transport.finishAuth(parameters.get("code")),
  ClientCredentialsProvider: part("client/auth-extensions.js").ClientCredentialsProvider,
  callTool: (call, options) => client.callTool(call, undefined, options),
  setLogLevel: (level) => client.setLoggingLevel(level),
  createTask: (call, options) =>
    client.request({ method: "tools/call", params: call }, types.CreateTaskResultSchema, options),
  taskResult: (id) => client.experimental.tasks.getTaskResult(id, types.CallToolResultSchema),
  /** All pages; the list is begun anew when a cursor is not valid any more. */
  async listAll(method, items) {
    const found = [];
    let cursor;
    do {
      try {
        const page = await client[method](cursor === undefined ? undefined : { cursor });
        found.push(...page[items]);
        cursor = page.nextCursor;
      } catch (error) {
        if (cursor === undefined || error.code !== types.ErrorCode.InvalidParams) throw error;
        return sdk.listAll(method, items);
      }
    } while (cursor !== undefined);
    return found;
  },
  connected: () => ({
    protocol_version: sdk.version,
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  }),
  failureOf(error) {
    const detail = String(error?.message ?? error);
    const name = error?.constructor?.name;
    if (name === "UnauthorizedError") return { failed: "unauthorized", detail };
    if (name === "StreamableHTTPError") return { failed: "http", status: error.code, detail };
    if (!(error instanceof types.McpError)) return { failed: sdk.version ? "refused" : "other", detail };
    const message = detail.replace(/^MCP error -?\d+: /, "");
    // The SDK gives its own failures codes of JSON-RPC as well.
    if (["Request timed out", "Maximum total timeout exceeded"].includes(message))
      return { failed: "timeout", detail };
    if (message === "Connection closed") return { failed: "closed", detail };
    if (message.includes("output schema")) return { failed: "refused", detail };
    const outcome = { code: error.code, message };
    if (error.data !== undefined) outcome.data = error.data;
    return { error: outcome };
  },
};

async function openHttp() {
  const { StreamableHTTPClientTransport } = part("client/streamableHttp.js");
  const { watched, isOpen } = watchedFetch(target.url);
  const connect = async (authProvider) => {
    const url = new URL(target.url);
    const requestInit = { headers: script.client.headers ?? {} };
    const options = { fetch: watched, authProvider, requestInit };
    const transport = new StreamableHTTPClientTransport(url, options);
    await closed(client); // after an attempt that was refused
    return { transport, connecting: client.connect(watchVersion(transport), connectOptions) };
  };
  const transport = await signIn(sdk, script.auth, connect);
  await isOpen; // so that the order of the requests is always the same
  return transport;
}

const openers = {
  http: openHttp,
  async sse() {
    // As the SDK's guide has it for a URL of which nobody knows what is there.
    if (script.client.either) {
      const { StreamableHTTPClientTransport } = part("client/streamableHttp.js");
      const streamable = new StreamableHTTPClientTransport(new URL(target.url));
      await client.connect(watchVersion(streamable), connectOptions).catch(() => {});
      await closed(client);
    }
    const { SSEClientTransport } = part("client/sse.js");
    const transport = watchVersion(new SSEClientTransport(new URL(target.url)));
    await client.connect(transport, connectOptions);
    return transport;
  },
  async ws() {
    const { WebSocketClientTransport } = part("client/websocket.js");
    const transport = watchVersion(new WebSocketClientTransport(new URL(target.url)));
    await client.connect(transport, connectOptions);
    return transport;
  },
  async stdio() {
    const { StdioClientTransport } = part("client/stdio.js");
    const transport = watchVersion(new StdioClientTransport({ ...target.process, stderr: "ignore" }));
    await client.connect(transport, connectOptions);
    return transport;
  },
};

await run(sdk, openers[target.transport]);
process.exit(0);

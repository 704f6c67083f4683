// Runs a script through the Client of `@modelcontextprotocol/client` 2.x, which asks for the stateless
// era first. Usage: node drive_client2.mjs <the folder with node_modules>/package.json < task.json

import { createRequire } from "node:module";

import { signIn } from "./signing_in.mjs";
import { closed, run, task, watchedFetch } from "./steps.mjs";

const require = createRequire(process.argv[2]);
const package2 = require("@modelcontextprotocol/client");
const { Client, LOG_LEVEL_META_KEY, ProtocolError, SdkError } = package2;

const { script, target, clientInfo } = task;
const client = new Client(clientInfo, {
  capabilities: script.client.capabilities ?? {},
  versionNegotiation: { mode: "auto" },
});

/** The failures of the SDK, by their codes; one of any other code is `other`. */
const FAILURES = {
  REQUEST_TIMEOUT: "timeout",
  CONNECTION_CLOSED: "closed",
  NOT_CONNECTED: "closed",
  CAPABILITY_NOT_SUPPORTED: "refused",
  INVALID_RESULT: "refused",
  UNSUPPORTED_RESULT_TYPE: "refused",
  INPUT_REQUIRED_ROUNDS_EXCEEDED: "refused",
  METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION: "refused",
};

const sdk = {
  client,
  ErrorClass: ProtocolError,
  setRequestHandler: (method, handler) => client.setRequestHandler(method, handler),
  callTool(call, options) {
    const meta = sdk.logLevel && { _meta: { ...call._meta, [LOG_LEVEL_META_KEY]: sdk.logLevel } };
    return client.callTool({ ...call, ...meta }, options);
  },
  takeAnswer: (transport, parameters) => transport.finishAuth(parameters),
  ClientCredentialsProvider: package2.ClientCredentialsProvider,
  setLogLevel: async (level) => void (sdk.logLevel = level),
  listAll: async (method, items) => (await client[method]())[items],
  connected: () => ({
    protocol_version: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  }),
  failureOf(error) {
    const detail = String(error?.message ?? error);
    if (error instanceof ProtocolError) {
      // The SDK says with codes of JSON-RPC also what it found itself.
      if (detail.includes("output schema")) return { failed: "refused", detail };
      const outcome = { code: error.code, message: detail.replace(/^MCP error -?\d+: /, "") };
      return { error: error.data === undefined ? outcome : { ...outcome, data: error.data } };
    }
    if (error instanceof package2.UnauthorizedError) return { failed: "unauthorized", detail };
    if (error instanceof package2.SdkHttpError)
      return { failed: "http", status: error.data?.status, detail };
    const code = error instanceof SdkError ? error.code : undefined;
    return { failed: FAILURES[code] ?? "other", detail };
  },
};

const openers = {
  async http() {
    const { StreamableHTTPClientTransport } = package2;
    const { watched, isOpen } = watchedFetch(target.url);
    const connect = async (authProvider) => {
      const url = new URL(target.url);
      const transport = new StreamableHTTPClientTransport(url, { fetch: watched, authProvider });
      await closed(client); // after an attempt that was refused
      return { transport, connecting: client.connect(transport) };
    };
    const transport = await signIn(sdk, script.auth, connect);
    if (client.getProtocolEra() === "legacy") await isOpen;
    return transport;
  },
  async stdio() {
    const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
    // With its own class the SDK asks a process of its own for the era; with any other, this one.
    class OneProcess extends StdioClientTransport {}
    const transport = new OneProcess({ ...target.process, stderr: "ignore" });
    await client.connect(transport);
    return transport;
  },
};

await run(sdk, openers[target.transport]);
process.exit(0);

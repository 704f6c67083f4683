// The reference client: the TypeScript SDKs report what they got.
//
//     node reference_client.mjs <the folder node_modules>
//
// 1.x speaks the handshake era and 2.x the stateless one. As in reference_client.py, one JSON object
// comes on stdin, the target and what to ask (see conformance/live.py), and one goes to stdout.
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const require = createRequire(join(process.argv[2], "modules"));
const identity = { name: "reference", version: "1" };

// Make the handshake, for one revision: the SDK itself only offers its newest.
async function connectHandshake(request) {
  const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
  const stdio = () => require("@modelcontextprotocol/sdk/client/stdio.js").StdioClientTransport;
  const http = () =>
    require("@modelcontextprotocol/sdk/client/streamableHttp.js").StreamableHTTPClientTransport;
  const sse = () => require("@modelcontextprotocol/sdk/client/sse.js").SSEClientTransport;
  const ws = () => require("@modelcontextprotocol/sdk/client/websocket.js").WebSocketClientTransport;
  const transport = transportTo(request, { stdio, http, sse, ws });

  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.method === "initialize") message.params.protocolVersion = request.revision;
    return send(message, options);
  };
  let negotiated;
  const setVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    negotiated = version;
    setVersion?.(version);
  };

  const client = new Client(identity);
  await client.connect(transport);
  return {
    client,
    negotiated,
    // The second argument is the schema of results: undefined stands for the usual one.
    callTool: (call, options) => client.callTool(call, undefined, options),
  };
}

async function connectStateless(request) {
  const sdk = require("@modelcontextprotocol/client");
  const stdio = () => require("@modelcontextprotocol/client/stdio").StdioClientTransport;
  const http = () => sdk.StreamableHTTPClientTransport;
  const versionNegotiation = { mode: { pin: request.revision } };
  const client = new sdk.Client(identity, { versionNegotiation });
  await client.connect(transportTo(request, { stdio, http }));
  return {
    client,
    negotiated: client.getNegotiatedProtocolVersion(),
    callTool: (call, options) => client.callTool(call, options),
  };
}

function transportTo(request, classes) {
  const Transport = classes[request.transport]();
  if (request.url) return new Transport(new URL(request.url));
  const [command, ...args] = request.command;
  const { environment: env, folder: cwd } = request;
  return new Transport({ command, args, env, cwd, stderr: "ignore" });
}

async function allPages(list, items) {
  const found = [];
  let cursor;
  do {
    const page = await list(cursor && { cursor });
    found.push(...page[items]);
    cursor = page.nextCursor;
  } while (cursor);
  return found;
}

// A result, or the error the server answered with.
async function answer(asking) {
  try {
    return await asking;
  } catch (error) {
    if (!Number.isInteger(error.code)) throw error;
    const message = error.message.replace(`MCP error ${error.code}: `, "");
    return { error: { code: error.code, message, data: error.data ?? null } };
  }
}

// Progress is heard where it arrives: the SDKs handle a notification one turn of the event loop after
// they have read it, and by then an answer that came right behind it has ended the call.
function listenForProgress(transport) {
  const steps = [];
  const receive = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if (message.method === "notifications/progress") {
      const { progress, total, message: text } = message.params;
      steps.push([progress, total ?? null, text ?? null]);
    }
    receive(message, extra);
  };
  return steps;
}

async function report({ client, negotiated, callTool }, request) {
  const progress = listenForProgress(client.transport);
  const capabilities = client.getServerCapabilities();
  const found = {
    protocol_version: negotiated,
    server: client.getServerVersion() ?? null,
    capabilities,
  };
  if (capabilities.tools) found.tools = await allPages((page) => client.listTools(page), "tools");
  if (capabilities.resources) {
    found.resources = await allPages((page) => client.listResources(page), "resources");
    found.templates = await allPages(
      (page) => client.listResourceTemplates(page),
      "resourceTemplates",
    );
  }
  if (capabilities.prompts) {
    found.prompts = await allPages((page) => client.listPrompts(page), "prompts");
  }
  found.calls = [];
  for (const [name, arguments_] of request.calls) {
    const asking = callTool({ name, arguments: arguments_ }, { onprogress: () => {} });
    found.calls.push({ result: await answer(asking), progress: progress.splice(0) });
  }
  found.reads = [];
  for (const uri of request.reads) found.reads.push(await answer(client.readResource({ uri })));
  found.gets = [];
  for (const [name, arguments_] of request.gets) {
    found.gets.push(await answer(client.getPrompt({ name, arguments: arguments_ })));
  }
  found.completions = [];
  for (const [prompt, name, value] of request.completions) {
    const ref = { type: "ref/prompt", name: prompt };
    found.completions.push((await client.complete({ ref, argument: { name, value } })).completion);
  }
  return found;
}

const request = JSON.parse(await text(process.stdin));
const connect = request.is_stateless ? connectStateless : connectHandshake;
const connection = await connect(request);
const found = await report(connection, request);
await connection.client.close();
process.stdout.write(JSON.stringify(found), () => process.exit(0));

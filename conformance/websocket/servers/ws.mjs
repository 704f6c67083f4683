// npm's ws as the server, with compression: node ws.mjs <the folder of the package>
import { createRequire } from "node:module";

const { WebSocketServer } = createRequire(import.meta.url)(process.argv[2]);

const identity = { capabilities: { tools: {} }, serverInfo: { name: "ws", version: "1" } };
const discovered = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: "private",
};
const results = {
  "server/discover": () => discovered,
  initialize: ({ protocolVersion }) => ({ protocolVersion, ...identity }),
  ping: () => ({}),
  "tools/call": ({ arguments: { message } }) => ({ content: [{ type: "text", text: message }] }),
};

function answer({ id, method, params }) {
  const result = results[method]?.(params);
  const outcome = result ? { result } : { error: { code: -32601, message: "Method not found" } };
  return JSON.stringify({ jsonrpc: "2.0", id, ...outcome });
}

const server = new WebSocketServer({
  host: "127.0.0.1",
  port: 0,
  perMessageDeflate: true,
  handleProtocols: (offered) => (offered.has("mcp") ? "mcp" : false),
});
server.on("connection", (socket) => {
  socket.on("message", (data) => {
    const message = JSON.parse(data);
    // The answers to pings come in binary frames, which hold JSON just as well.
    if (message.id !== undefined) socket.send(answer(message), { binary: message.method === "ping" });
  });
});
server.on("listening", () => console.log(server.address().port));

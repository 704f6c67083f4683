// A server by the TypeScript SDK 2.x. Usage: node server_typescript.mjs <the folder node_modules>

import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "modules"));
const { McpServer } = require("@modelcontextprotocol/server");
const { serveStdio } = require("@modelcontextprotocol/server/stdio");
const { z } = require("zod");

serveStdio(() => {
  const server = new McpServer({ name: "bench", version: "1" });
  const inputSchema = z.object({ message: z.string() });
  server.registerTool("echo", { inputSchema }, async ({ message }) => ({
    content: [{ type: "text", text: message }],
  }));
  return server;
});

// What the server on the SDK 2.x offers. What it wants to know it asks for in its results.

const SCHEMA = { type: "object", properties: {} };
const text = (value) => ({ content: [{ type: "text", text: value }] });
const inWords = (value) => text(JSON.stringify(value));
const schema = (properties, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
});

const RESOURCES = ["one", "two"].map((name) => ({
  uri: `test://texts/${name}`,
  name,
  mimeType: "text/plain",
}));
const TEMPLATES = [{ uriTemplate: "test://texts/{name}", name: "texts", mimeType: "text/plain" }];
const PROMPTS = [
  { name: "letter", arguments: [{ name: "to", required: true }] },
  { name: "asking", description: "Asks the user before it answers" },
];

/** All tools by name: what is listed of each, and what it does. */
function toolsOf({ inputRequired, ProtocolError }) {
  const form = schema({ name: { type: "string" }, age: { type: "integer", minimum: 0 } });
  const who = () => inputRequired.elicit({ message: "Who are you?", requestedSchema: form });
  const visit = () => inputRequired.elicitUrl({ message: "Please pay.", url: "https://example.com/" });
  const model = () =>
    inputRequired.createMessage({
      messages: [{ role: "user", content: { type: "text", text: "What is the weather?" } }],
      maxTokens: 100,
    });
  const roots = () => inputRequired.listRoots();

  /** A tool that asks for all of these at once, and answers with what it was told. */
  const asking = (requests) => ({
    call(_, { mcpReq }) {
      if (mcpReq.inputResponses) return inWords(mcpReq.inputResponses);
      const made = Object.entries(requests).map(([name, request]) => [name, request()]);
      return inputRequired({ inputRequests: Object.fromEntries(made), requestState: "asked-once" });
    },
  });

  return {
    echo: {
      description: "Say it again",
      inputSchema: schema({ text: { type: "string" } }),
      call: (a) => text(a.text),
    },
    add: {
      inputSchema: schema({ a: { type: "number" }, b: { type: "number" } }),
      outputSchema: schema({ sum: { type: "number" } }),
      call: ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
    },
    numbers: {
      description: "Its structured content is a list",
      outputSchema: { type: "array", items: { type: "integer" } },
      call: () => ({ ...text("[1,2]"), structuredContent: [1, 2] }),
    },
    mismatch: {
      outputSchema: schema({ sum: { type: "number" } }),
      call: () => ({ content: [], structuredContent: { sum: "three" } }),
    },
    fail: { call: () => ({ ...text("it went wrong"), isError: true }) },
    refuse: {
      call() {
        throw new ProtocolError(-32050, "not today", { until: "tomorrow" });
      },
    },
    crash: {
      call() {
        throw new Error("a bug");
      },
    },
    count: {
      inputSchema: schema({ steps: { type: "integer" } }),
      async call({ steps }, { mcpReq }) {
        const progressToken = mcpReq._meta?.progressToken;
        for (let progress = 1; progress <= steps && progressToken !== undefined; progress++) {
          const params = { progressToken, progress, total: steps, message: `step ${progress}` };
          await mcpReq.notify({ method: "notifications/progress", params });
        }
        return text(`counted to ${steps}`);
      },
    },
    hang: {
      async call(_, { mcpReq }) {
        const progressToken = mcpReq._meta?.progressToken;
        const params = { progressToken, progress: 1 };
        if (progressToken !== undefined)
          await mcpReq.notify({ method: "notifications/progress", params });
        await new Promise((resolve) => mcpReq.signal.addEventListener("abort", resolve));
        return text("too late");
      },
    },
    log: {
      async call(_, { mcpReq }) {
        for (const level of ["debug", "info", "warning", "error"])
          await mcpReq.log(level, { of: level }, "test");
        return text("logged");
      },
    },
    query: {
      description: "Some of its arguments travel in headers",
      inputSchema: schema(
        {
          region: { type: "string", "x-mcp-header": "Region" },
          limit: { type: "integer", "x-mcp-header": "Limit" },
          dry: { type: "boolean", "x-mcp-header": "Dry-Run" },
          place: schema({ city: { type: "string", "x-mcp-header": "City" } }, []),
          sql: { type: "string" },
        },
        ["sql"],
      ),
      call: (a) => inWords(a),
    },
    ill_described: {
      description: "Its header has no valid name, so no client may list it",
      inputSchema: schema({ region: { type: "string", "x-mcp-header": "Not a name" } }),
      call: (a) => inWords(a),
    },
    ask_user: asking({ who }),
    ask_user_to_visit: asking({ visit }),
    ask_model: asking({ model }),
    list_roots: asking({ roots }),
    ask_for_everything: asking({ who, model, roots }),
    ask_again: {
      description: "Asks twice, one after the other",
      call(_, { mcpReq }) {
        const round = mcpReq.requestState();
        if (round === "second") return inWords(mcpReq.inputResponses);
        const requestState = round === "first" ? "second" : "first";
        return inputRequired({ inputRequests: { [`${requestState}-time`]: who() }, requestState });
      },
    },
    ask_without_state: {
      call(_, { mcpReq }) {
        if (mcpReq.inputResponses) return inWords(mcpReq.inputResponses);
        return inputRequired({ inputRequests: { who: who() } });
      },
    },
    ask_with_empty_state: {
      call(_, { mcpReq }) {
        if (mcpReq.inputResponses) return inWords(mcpReq.requestState());
        return inputRequired({ inputRequests: { who: who() }, requestState: "" });
      },
    },
    wait: {
      description: "Asks for nothing but to be called again",
      call(_, { mcpReq }) {
        if (mcpReq.requestState() === "go on") return inWords(mcpReq.inputResponses ?? null);
        return inputRequired({ requestState: "go on" });
      },
    },
    ask_forever: {
      call: () => inputRequired({ inputRequests: { model: model() }, requestState: "never enough" }),
    },
    change: {
      call(_, { changed }) {
        changed.toolsChanged();
        changed.promptsChanged();
        changed.resourcesChanged();
        return text("changed");
      },
    },
    touch: {
      inputSchema: schema({ uris: { type: "array", items: { type: "string" } } }),
      call({ uris }, { changed }) {
        for (const uri of uris) changed.resourceUpdated(uri);
        return text("touched");
      },
    },
  };
}

/** What tells listeners that something has changed, where a connection is the only one to tell. */
function tellingOf(server) {
  return {
    toolsChanged: () => server.sendToolListChanged(),
    promptsChanged: () => server.sendPromptListChanged(),
    resourcesChanged: () => server.sendResourceListChanged(),
    resourceUpdated: (uri) => server.sendResourceUpdated({ uri }),
  };
}

const RESTLESS = ["ask_without_state", "ask_with_empty_state", "wait", "ask_forever"];
const stale = { ttlMs: 200, cacheScope: "public" };
const fresh = { ttlMs: 60000, cacheScope: "public" };

/** A server for one request or connection; `changed` tells listeners, unless it is this server. */
export function makeServer(sdk, variant, changed) {
  const { Server, ProtocolError, inputRequired } = sdk;
  const server = new Server(
    { name: "sdk2", title: "A server on the SDK 2.x", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
        ...(variant === "extended" && { extensions: { "com.example/theirs": { level: 2 } } }),
      },
      instructions: "Call whatever you like.",
      ...(variant === "stale" && { cacheHints: { "tools/list": stale } }),
      ...(variant === "private" && {
        cacheHints: { "tools/list": { ...fresh, cacheScope: "private" } },
      }),
      ...(variant === "cached" && {
        cacheHints: { "tools/list": fresh, "resources/list": fresh, "resources/read": fresh },
      }),
    },
  );
  const tools = toolsOf(sdk);
  if (variant !== "insatiable") for (const name of RESTLESS) delete tools[name];
  const on = (method, handler) => server.setRequestHandler(method, handler);
  const context = { changed: changed ?? tellingOf(server) };

  on("tools/list", () => ({
    tools: Object.entries(tools).map(([name, { call, ...tool }]) => ({
      name,
      inputSchema: SCHEMA,
      ...tool,
    })),
  }));
  on("tools/call", ({ params }, { mcpReq }) => {
    const tool = tools[params.name];
    if (!tool) throw new ProtocolError(-32602, `Unknown tool: ${params.name}`);
    return tool.call(params.arguments, { ...context, mcpReq });
  });
  on("resources/list", () => ({ resources: RESOURCES }));
  on("resources/templates/list", () => ({ resourceTemplates: TEMPLATES }));
  on("resources/read", ({ params: { uri } }) => {
    const name = /^test:\/\/texts\/(.+)$/.exec(uri)?.[1];
    if (!name) throw new ProtocolError(-32602, "Resource not found", { uri });
    return { contents: [{ uri, mimeType: "text/plain", text: name }] };
  });
  on("prompts/list", () => ({ prompts: PROMPTS }));
  on("prompts/get", ({ params }, { mcpReq }) => {
    const said = (value) => ({ messages: [{ role: "user", content: { type: "text", text: value } }] });
    if (params.name === "letter") return said(`Write a letter to ${params.arguments.to}.`);
    if (params.name !== "asking") throw new ProtocolError(-32602, `Unknown prompt: ${params.name}`);
    if (mcpReq.inputResponses) return said(JSON.stringify(mcpReq.inputResponses));
    const requestedSchema = schema({ mood: { type: "string" } });
    const mood = inputRequired.elicit({ message: "What is your mood?", requestedSchema });
    return inputRequired({ inputRequests: { mood } });
  });
  on("completion/complete", ({ params: { argument } }) => {
    const values = ["formal", "friendly", "short"].filter((v) => v.startsWith(argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  return server;
}

// What the server on the SDK 1.x offers: tools that make it do whatever the protocol allows.

import {
  PIXEL,
  PROMPTS,
  READING,
  SILENCE,
  TEMPLATES,
  WHEN,
  pageOf,
  promptOf,
  resources,
  schema,
} from "./sdk1_contents.mjs";

const soon = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const text = (value) => ({ content: [{ type: "text", text: value }] });
const inWords = (value) => text(JSON.stringify(value));

/** All tools by name: what is listed of each, and what it does. */
function toolsOf(part) {
  const types = part("types.js");
  const { McpError, UrlElicitationRequiredError } = types;
  const form = schema({
    name: { type: "string", title: "Your name", minLength: 1 },
    age: { type: "integer", minimum: 0, maximum: 150 },
    share: { type: "number", default: 0.5 },
    agreed: { type: "boolean", default: true },
    colour: { type: "string", enum: ["red", "green"], enumNames: ["Red", "Green"] },
  });
  const ask = (extra, method, params, result, options) =>
    extra.sendRequest({ method, params }, result, options);
  const askUser = (extra, params, options) =>
    ask(extra, "elicitation/create", params, types.ElicitResultSchema, options);
  const askModel = (extra, params) =>
    ask(extra, "sampling/createMessage", params, types.CreateMessageResultWithToolsSchema);
  const question = { role: "user", content: { type: "text", text: "What is the weather in Ghent?" } };
  const weather = { name: "weather", inputSchema: schema({ place: { type: "string" } }) };

  return {
    echo: {
      description: "Say it again",
      inputSchema: schema({ text: { type: "string" } }),
      call: (a) => text(a.text),
    },
    add: {
      title: "Addition",
      inputSchema: schema({ a: { type: "number" }, b: { type: "number" } }),
      outputSchema: schema({ sum: { type: "number" } }),
      annotations: { readOnlyHint: true, idempotentHint: true },
      call: ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
    },
    contents: {
      description: "Every kind of content",
      _meta: { "example.com/kind": "all" },
      icons: [{ src: "data:image/png;base64,AAAA", mimeType: "image/png", sizes: ["16x16"] }],
      call: () => ({
        content: [
          { type: "text", text: "words", annotations: { audience: ["assistant"], priority: 1 } },
          { type: "image", data: PIXEL, mimeType: "image/png" },
          { type: "audio", data: SILENCE, mimeType: "audio/wav" },
          { type: "resource", resource: { uri: "test://texts/one", text: "one" } },
          { type: "resource_link", uri: "test://texts/two", name: "two", mimeType: "text/plain" },
        ],
        _meta: { "example.com/taken": WHEN },
      }),
    },
    fail: { call: () => ({ ...text("it went wrong"), isError: true }) },
    refuse: {
      call: () => {
        throw new McpError(-32050, "not today", { until: "tomorrow" });
      },
    },
    crash: {
      call: () => {
        throw new Error("a bug");
      },
    },
    count: {
      description: "Report progress",
      inputSchema: schema({ steps: { type: "integer" } }),
      async call({ steps }, { extra }) {
        const progressToken = extra._meta?.progressToken;
        for (let step = 1; step <= steps && progressToken !== undefined; step++) {
          const progress = { progress: step, total: steps, message: `step ${step}` };
          const params = { progressToken, ...(step === steps ? progress : { progress: step - 0.5 }) };
          await extra.sendNotification({ method: "notifications/progress", params });
        }
        return text(`counted to ${steps}`);
      },
    },
    tick: {
      description: "Report progress every second",
      inputSchema: schema({ seconds: { type: "integer" } }),
      async call({ seconds }, { extra }) {
        const progressToken = extra._meta?.progressToken;
        for (let progress = 1; progress <= seconds; progress++) {
          await soon(1000);
          const params = { progressToken, progress, total: seconds };
          await extra.sendNotification({ method: "notifications/progress", params });
        }
        return text("time is up");
      },
    },
    hang: {
      description: "Report progress once, and never answer",
      async call(_, { extra }) {
        const progressToken = extra._meta?.progressToken;
        const params = { progressToken, progress: 1 };
        if (progressToken !== undefined)
          await extra.sendNotification({ method: "notifications/progress", params });
        await new Promise((resolve) => extra.signal.addEventListener("abort", resolve));
        return text("too late");
      },
    },
    log: {
      description: "Log at every level",
      async call(_, { server, extra }) {
        const levels = ["debug", "info", "notice", "warning", "error", "critical"];
        const session = extra.sessionId ?? extra.requestInfo?.headers["mcp-session-id"];
        for (const level of levels)
          await server.sendLoggingMessage({ level, logger: "test", data: { of: level } }, session);
        return text("logged");
      },
    },
    ask_model: {
      async call(_, { extra }) {
        const preferences = {
          hints: [{ name: "small" }],
          costPriority: 0.9,
          speedPriority: 0.5,
          intelligencePriority: 0.1,
        };
        const params = { messages: [question], maxTokens: 100, modelPreferences: preferences };
        const more = { systemPrompt: "Be brief.", temperature: 0.2, stopSequences: ["\n\n"] };
        return inWords(await askModel(extra, { ...params, ...more }));
      },
    },
    ask_model_with_tools: {
      async call(_, { extra }) {
        const tools = { tools: [weather], toolChoice: { mode: "auto" } };
        const first = await askModel(extra, { messages: [question], maxTokens: 100, ...tools });
        const uses = [first.content].flat().filter((content) => content.type === "tool_use");
        const results = uses.map(({ id }) => ({
          type: "tool_result",
          toolUseId: id,
          content: [{ type: "text", text: "It rains." }],
        }));
        const so_far = [question, { role: "assistant", content: first.content }];
        const messages = [...so_far, { role: "user", content: results }];
        return inWords(await askModel(extra, { messages, maxTokens: 100, ...tools }));
      },
    },
    ask_user: {
      call: async (_, { extra }) =>
        inWords(await askUser(extra, { message: "Who are you?", requestedSchema: form })),
    },
    ask_user_to_visit: {
      async call(_, { extra, server }) {
        const at = { url: "https://example.com/pay", elicitationId: "payment-1" };
        const answer = await askUser(extra, { mode: "url", message: "Please pay.", ...at });
        const params = { elicitationId: at.elicitationId };
        await server.notification({ method: "notifications/elicitation/complete", params });
        return inWords(answer);
      },
    },
    demand_visit: {
      call() {
        const at = { url: "https://example.com/login", elicitationId: "login-1" };
        throw new UrlElicitationRequiredError([{ mode: "url", message: "Log in first.", ...at }]);
      },
    },
    withdraw: {
      description: "Ask the user, and cancel that",
      async call(_, { extra }) {
        const params = { message: "Still there?", requestedSchema: schema() };
        const failure = await askUser(extra, params, { timeout: 100 }).catch((error) => error);
        return text(`withdrawn: ${failure.code}`);
      },
    },
    list_roots: {
      call: async (_, { extra }) =>
        inWords(await ask(extra, "roots/list", undefined, types.ListRootsResultSchema)),
    },
    ping_client: {
      call: async (_, { extra }) =>
        inWords(await ask(extra, "ping", undefined, types.EmptyResultSchema)),
    },
    ask_for_the_unknown: {
      async call(_, { extra }) {
        const asking = ask(extra, "example/unknown", {}, types.EmptyResultSchema);
        return text(`refused: ${(await asking.catch((error) => error)).code}`);
      },
    },
    change: {
      description: "Add a tool, and say that all lists have changed",
      async call(_, { server, tools }) {
        tools.added = { description: "Was added", call: () => text("added") };
        await server.sendToolListChanged();
        await server.sendPromptListChanged();
        await server.sendResourceListChanged();
        return text("changed");
      },
    },
    touch: {
      description: "Change resources; subscribers are told",
      inputSchema: schema({ uris: { type: "array", items: { type: "string" } } }),
      async call({ uris }, { server, subscriptions }) {
        for (const uri of uris)
          if (subscriptions.has(uri)) await server.sendResourceUpdated({ uri });
        return text("touched");
      },
    },
    report: {
      description: "Takes a while, and may be called as a task",
      inputSchema: schema({ ask: { type: "boolean" }, fail: { type: "boolean" } }, []),
      execution: { taskSupport: "optional" },
      call: () => text("reported at once"),
      async asTask({ ask: asks, fail, wait }, { extra, id }) {
        const update = (status, words) => extra.taskStore.updateTaskStatus(id, status, words);
        if (wait) return;
        await soon(50);
        if (asks) {
          await update("input_required", "a question");
          const params = { message: "Which one?", requestedSchema: schema({ n: { type: "integer" } }) };
          const answer = await askUser(extra, params, { relatedTask: { taskId: id } });
          await update("working", `the answer is ${JSON.stringify(answer.content)}`);
        }
        await soon(50);
        const result = fail ? { ...text("it went wrong"), isError: true } : text("reported");
        await extra.taskStore.storeTaskResult(id, fail ? "failed" : "completed", result);
      },
    },
    close_my_stream: {
      description: "Close the stream of this call, and answer in the next",
      async call(_, { extra }) {
        extra.closeSSEStream?.();
        await soon(300); // the SDK keeps no answer that is ready before the client has come back
        return text("answered in another stream");
      },
    },
    close_other_stream: {
      description: "Close the stream of the server's own messages, and send one",
      async call(_, { extra, server }) {
        extra.closeStandaloneSSEStream?.();
        await server.sendResourceListChanged();
        return text("closed");
      },
    },
    forget_session: {
      call(_, { session }) {
        session.forget?.();
        return text("what session?");
      },
    },
    ping_socket: {
      call(_, { session }) {
        session.ping?.();
        return text("pinged");
      },
    },
    drop_socket: { call: (_, { session }) => (session.drop?.(), text("dropped")) },
    nothing: { call: () => ({ content: [] }) },
    // These stand on the last page: of a list of several pages, the client of the SDK 1.x knows the
    // output schemas of the last one only.
    mismatch: {
      description: "Its result is not what it declares",
      outputSchema: schema({ sum: { type: "number" } }),
      call: () => ({ content: [], structuredContent: { sum: "three" } }),
    },
    unstructured: {
      description: "Its result lacks what it declares",
      outputSchema: schema({ sum: { type: "number" } }),
      call: () => text("3"),
    },
  };
}

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
};

/** A server for one session; see sdk1.mjs for the variants. */
export function makeServer(part, variant, session) {
  const { Server } = part("server/index.js");
  const { InMemoryTaskMessageQueue, InMemoryTaskStore } = part("experimental/tasks/index.js");
  const types = part("types.js");
  const { McpError, ErrorCode } = types;

  const taskStore = new InMemoryTaskStore();
  let created = 0;
  taskStore.generateTaskId = () => `task-${++created}`;
  const server = new Server(
    { name: "sdk1", title: "A server on the SDK 1.x", version: "1.0.0" },
    {
      capabilities: CAPABILITIES,
      instructions: "Call whatever you like.",
      taskStore,
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  );
  const tools = toolsOf(part);
  const subscriptions = new Set();
  const on = (name, handler) => server.setRequestHandler(types[`${name}RequestSchema`], handler);
  const unknown = (what) => new McpError(ErrorCode.InvalidParams, `Unknown ${what}`);

  if (/^\d/.test(variant ?? "")) {
    const answer = server._oninitialize.bind(server);
    on("Initialize", async (request) => ({ ...(await answer(request)), protocolVersion: variant }));
  }
  let hasForgotten = variant !== "forgetful";
  on("ListTools", ({ params }) => {
    if (params?.cursor !== undefined && !hasForgotten) {
      hasForgotten = true;
      throw unknown("cursor");
    }
    const listed = Object.entries(tools).map(([name, { call, asTask, ...tool }]) => ({
      name,
      inputSchema: schema(),
      ...tool,
    }));
    return pageOf(listed, "tools", params?.cursor);
  });
  on("CallTool", async ({ params }, extra) => {
    const tool = tools[params.name];
    if (!tool) throw unknown(`tool: ${params.name}`);
    const context = { server, session, tools, subscriptions, extra };
    if (params.task === undefined) return tool.call(params.arguments, context);
    const task = await extra.taskStore.createTask({ ttl: params.task.ttl, pollInterval: 20 });
    tool.asTask(params.arguments, { ...context, id: task.taskId });
    return { task };
  });
  on("ListResources", ({ params }) => pageOf(resources(), "resources", params?.cursor));
  on("ListResourceTemplates", ({ params }) => pageOf(TEMPLATES, "resourceTemplates", params?.cursor));
  on("ReadResource", ({ params: { uri } }) => {
    const name = /^test:\/\/texts\/(.+)$/.exec(uri)?.[1];
    if (name) return { contents: [{ uri, mimeType: "text/plain", text: decodeURIComponent(name) }] };
    if (!READING[uri]) throw new McpError(-32002, "Resource not found", { uri });
    return { contents: READING[uri](uri) };
  });
  on("Subscribe", ({ params }) => (subscriptions.add(params.uri), {}));
  on("Unsubscribe", ({ params }) => (subscriptions.delete(params.uri), {}));
  on("ListPrompts", ({ params }) => pageOf(PROMPTS, "prompts", params?.cursor));
  on("GetPrompt", ({ params }) => {
    const prompt = promptOf(params.name, params.arguments);
    if (!prompt) throw unknown(`prompt: ${params.name}`);
    return prompt;
  });
  on("Complete", ({ params: { argument, context } }) => {
    const known = [...(context?.arguments?.to ? ["warm"] : []), "formal", "friendly", "short"];
    const values = known.filter((value) => value.startsWith(argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  return server;
}

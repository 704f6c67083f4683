// The steps of a script, done through the Client of either SDK: see conformance/scripts.py.
//
// A driver calls `run` with what its SDK does differently. Everything the user of the client sees is
// printed as lines of JSON, each with the monotonic clock in nanoseconds, so that it can be set in
// order with what the tap saw.

import { readFileSync } from "node:fs";

/** What to run and against which target, from standard input. */
export const task = JSON.parse(readFileSync(0, "utf-8"));

const { connect_timeout: seconds } = task.script.client;

/** How long connecting may take, for the SDK. */
export const connectOptions = seconds === undefined ? undefined : { timeout: seconds * 1000 };

export function note(facts) {
  process.stdout.write(JSON.stringify({ ns: String(process.hrtime.bigint()), ...facts }) + "\n");
}

/** How many of each notification have come, and who waits for how many. */
class Notifications {
  #counts = new Map();
  #waiting = [];

  take({ method, params }) {
    note({ notification: params === undefined ? { method } : { method, params } });
    this.#counts.set(method, this.count(method) + 1);
    this.#waiting = this.#waiting.filter((wait) => !wait());
  }

  count(method) {
    return this.#counts.get(method) ?? 0;
  }

  reached({ method, count }) {
    if (this.count(method) >= count) return Promise.resolve();
    return new Promise((resolve) =>
      this.#waiting.push(() => this.count(method) >= count && (resolve(), true)),
    );
  }
}

/** The answers of the user to the requests of one kind, in order, the last one again and again. */
class Answers {
  #answers;
  #given = 0;

  constructor(answers) {
    this.#answers = answers;
  }

  next(ErrorClass, signal) {
    const answer = this.#answers[Math.min(this.#given++, this.#answers.length - 1)];
    if (answer.never) return new Promise(() => {});
    if (answer.late)
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(answer.late)));
    if (answer.error) throw new ErrorClass(answer.error.code, answer.error.message);
    return structuredClone(answer);
  }
}

export class Session {
  notifications = new Notifications();
  tasks = [];
  #onRequest = () => {};
  #steps = 0;

  /** `sdk` has: client, ErrorClass, callTool, listAll, failureOf, and what only one SDK can do. */
  constructor(sdk, script) {
    this.sdk = sdk;
    this.script = script;
    this.roots = script.client.roots ?? [];
    const { sampling, elicitation } = script.client;
    if (script.client.roots) this.#answer("roots/list", () => ({ roots: this.roots }));
    this.#answerInOrder("sampling/createMessage", sampling);
    this.#answerInOrder("elicitation/create", elicitation);
  }

  #answerInOrder(method, list) {
    if (list === undefined) return;
    const answers = new Answers(list);
    this.#answer(method, ({ signal }) => answers.next(this.sdk.ErrorClass, signal));
  }

  #answer(method, handler) {
    this.sdk.setRequestHandler(method, async (request, extra) => {
      this.#onRequest();
      return handler(extra.mcpReq ?? extra);
    });
  }

  async run() {
    for (const step of this.script.steps) await this.do(step);
  }

  async do(step) {
    const number = this.#steps++;
    note({ step: number, do: step.do, begins: true });
    const seen = { progress: [] };
    let outcome;
    try {
      outcome = { result: (await this.#perform(step, seen)) ?? {} };
    } catch (error) {
      outcome = seen.cancelled
        ? { failed: "cancelled", detail: String(error?.message ?? error) }
        : this.sdk.failureOf(error);
    }
    if (seen.progress.length) outcome.progress = seen.progress;
    note({ step: number, outcome });
  }

  async #perform(step, seen) {
    try {
      return await this[step.do](step, seen);
    } catch (error) {
      if (!(await this.sdk.logInAgain?.(error))) throw error;
      return this[step.do](step, seen);
    }
  }

  #options(step, seen) {
    const options = {};
    if (step.progress) options.onprogress = ({ ...progress }) => seen.progress.push(progress);
    if (step.timeout) options.timeout = step.timeout * 1000;
    if (step.timeout && step.progress) options.resetTimeoutOnProgress = true;
    if (step.total) options.maxTotalTimeout = step.total * 1000;
    return options;
  }

  ping() {
    return this.sdk.client.ping();
  }

  list_tools() {
    return this.sdk.listAll("listTools", "tools");
  }

  list_resources() {
    return this.sdk.listAll("listResources", "resources");
  }

  list_resource_templates() {
    return this.sdk.listAll("listResourceTemplates", "resourceTemplates");
  }

  list_prompts() {
    return this.sdk.listAll("listPrompts", "prompts");
  }

  call_tool(step, seen) {
    const call = { name: step.name, arguments: step.arguments };
    if (step.meta) call._meta = step.meta;
    return this.sdk.callTool(call, this.#options(step, seen));
  }

  cancel_call(step, seen) {
    const controller = new AbortController();
    const cancel = () => {
      seen.cancelled = true;
      controller.abort("cancelled");
    };
    if (step.after === "request") this.#onRequest = cancel;
    const onprogress = ({ ...progress }) => {
      seen.progress.push(progress);
      if (step.after === "progress") cancel();
    };
    const call = { name: step.name, arguments: step.arguments };
    return this.sdk.callTool(call, { onprogress, signal: controller.signal });
  }

  read_resource({ uri }) {
    return this.sdk.client.readResource({ uri });
  }

  get_prompt(step) {
    const params = { name: step.name };
    if (step.arguments) params.arguments = step.arguments;
    return this.sdk.client.getPrompt(params);
  }

  complete(step) {
    const params = { ref: step.ref, argument: { name: step.argument, value: step.value } };
    if (step.context) params.context = { arguments: step.context };
    return this.sdk.client.complete(params);
  }

  async together({ steps }) {
    await Promise.all(steps.map((step) => this.do(step)));
  }

  pause({ seconds }) {
    return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }

  wait_for(step) {
    return this.notifications.reached(step);
  }

  set_log_level({ level }) {
    return this.sdk.setLogLevel(level);
  }

  subscribe({ uri }) {
    return this.sdk.client.subscribeResource({ uri });
  }

  unsubscribe({ uri }) {
    return this.sdk.client.unsubscribeResource({ uri });
  }

  set_roots({ roots }) {
    this.roots = roots;
    return this.sdk.client.sendRootsListChanged();
  }

  async call_tool_task(step, seen) {
    const call = { name: step.name, arguments: step.arguments };
    const ttl = step.ttl === undefined ? {} : { ttl: step.ttl };
    const created = await this.sdk.createTask(call, { ...this.#options(step, seen), task: ttl });
    this.tasks.push(created.task.taskId);
    return created.task;
  }

  get_task({ task }) {
    return this.sdk.tasks.getTask(this.tasks[task]);
  }

  async await_task({ task }) {
    for (;;) {
      const found = await this.sdk.tasks.getTask(this.tasks[task]);
      if (found.status !== "working") return found;
      await new Promise((resolve) => setTimeout(resolve, found.pollInterval ?? 1000));
    }
  }

  task_result({ task }) {
    return this.sdk.taskResult(this.tasks[task]);
  }

  cancel_task({ task }) {
    return this.sdk.tasks.cancelTask(this.tasks[task]);
  }

  async list_tasks() {
    const found = [];
    let cursor;
    do {
      const page = await this.sdk.tasks.listTasks(cursor);
      found.push(...page.tasks);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
  }

  terminate_session() {
    return this.sdk.transport.terminateSession();
  }

  async listen({ steps, until, tools, prompts, resources, uris }) {
    const filter = {};
    if (tools) filter.toolsListChanged = true;
    if (prompts) filter.promptsListChanged = true;
    if (resources) filter.resourcesListChanged = true;
    if (uris) filter.resourceSubscriptions = uris;
    const subscription = await this.sdk.client.listen(filter);
    for (const step of steps) await this.do(step);
    await this.notifications.reached(until);
    await subscription.close();
    return { acknowledged: subscription.honoredFilter };
  }
}

/** Wait until a client has no connection any more, which it ends by itself when it cannot connect. */
export async function closed(client) {
  while (client.transport) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Fetch, and once more when a busy server has said how long to wait, if the script wants that. */
async function patientFetch(url, init) {
  for (;;) {
    const response = await fetch(url, init);
    const seconds = response.headers.get("retry-after");
    if (!task.script.client.retry_busy || ![429, 503].includes(response.status) || !seconds)
      return response;
    await response.arrayBuffer();
    await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1000));
  }
}

/**
 * The fetch of HTTP, which tells when the stream of the server's own messages is open, or refused. To
 * wait for that keeps the order of the requests the same in every run.
 */
export function watchedFetch(endpoint) {
  let opened;
  const isOpen = new Promise((resolve) => (opened = resolve));
  const watched = async (url, init) => {
    const response = await patientFetch(url, init);
    if ((init?.method ?? "GET") === "GET" && String(url) === endpoint) opened();
    return response;
  };
  return { watched, isOpen };
}

/** Connect, do the steps, close. `open` connects `client` and returns the transport. */
export async function run(sdk, open) {
  const session = new Session(sdk, task.script);
  sdk.client.fallbackNotificationHandler = async (notification) =>
    session.notifications.take(notification);
  // Failures that belong to no step; they are on the wire where they mattered.
  sdk.client.onerror = (error) => process.stderr.write(`${error?.message ?? error}\n`);
  try {
    sdk.transport = await open();
  } catch (error) {
    note({ connected: sdk.failureOf(error) });
    await closed(sdk.client);
    return;
  }
  note({ connected: sdk.connected() });
  await session.run();
  await sdk.client.close();
  note({ closed: true });
}

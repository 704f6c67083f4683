// The column of the TypeScript client: the same orders as worker.py, on Node.
// Its one argument is the folder of the package @modelcontextprotocol/client.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const ECHO = { name: "echo", arguments: { message: "x" } };
const SHORT_RUN = 4000;
const WIDTH = 100;
const PATIENCE = { timeout: 600_000 };
const BUFFER_LIMIT = 512 * 1024 * 1024;

const load = (name) => import(pathToFileURL(join(process.argv[2], "dist", name)).href);
const { Client, StreamableHTTPClientTransport } = await load("index.mjs");
const { StdioClientTransport } = await load("stdio.mjs");

function memory(field) {
  try {
    const line = readFileSync("/proc/self/status", "utf8").split("\n").find((each) => each.startsWith(field));
    return Number.parseInt(line.split(/\s+/)[1], 10) * 1024;
  } catch {
    return 0;
  }
}

function forgetPeakMemory() {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
  } catch {
    // The system does not offer it: peaks then count from the start of the process.
  }
}

/** Wall time and processor time of this process, summed over its laps. */
class Stopwatch {
  seconds = 0;
  cpu = 0;

  async time(work) {
    const cpu = process.cpuUsage();
    const start = process.hrtime.bigint();
    const result = await work();
    this.seconds += Number(process.hrtime.bigint() - start) / 1e9;
    const used = process.cpuUsage(cpu);
    this.cpu += (used.user + used.system) / 1e6;
    return result;
  }
}

let order = {};
let client;
let notes = 0;
let notesExpected = 0;
let notesComplete = () => {};

async function connect() {
  const mode = order.era === "handshake" ? "legacy" : "auto";
  const connected = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode } });
  connected.setNotificationHandler("notifications/message", () => {
    notes += 1;
    if (notes === notesExpected) notesComplete();
  });
  const [command, ...args] = order.target.command ?? [];
  const transport = command
    ? new StdioClientTransport({ command, args, maxBufferSize: BUFFER_LIMIT })
    : new StreamableHTTPClientTransport(new URL(order.target.url));
  await connected.connect(transport);
  return connected;
}

function check(result) {
  if (result.content[0].text !== ECHO.arguments.message) throw new Error("wrong answer");
}

async function callInSequence(watch, count) {
  let result;
  await watch.time(async () => {
    for (let number = 0; number < count; number += 1) result = await client.callTool(ECHO, PATIENCE);
  });
  check(result);
}

async function callTogether(watch, width) {
  const calls = () => Promise.all(Array.from({ length: width }, () => client.callTool(ECHO, PATIENCE)));
  for (const result of await watch.time(calls)) check(result);
}

const operations = {
  async sequence(watch, { count }) {
    await callInSequence(watch, count);
  },

  async together(watch, { count }) {
    const batches = Math.max(1, Math.floor(count / WIDTH));
    for (let batch = 0; batch < batches; batch += 1) await callTogether(watch, WIDTH);
    return { count: batches * WIDTH };
  },

  async batch(watch, order) {
    return operations.together(watch, order);
  },

  async "in-flight"(watch, { count }) {
    await callTogether(watch, count);
    globalThis.gc?.();
    return { memory: memory("VmRSS") };
  },

  async payload(watch, { count, size }) {
    for (let number = 0; number < count; number += 1) {
      const request = { name: "blob", arguments: { n: size } };
      const result = await watch.time(() => client.callTool(request, PATIENCE));
      if (result.content[0].text.length < 0.9 * size) throw new Error("the result is too short");
    }
  },

  async notifications(watch, { count }) {
    notes = 0;
    notesExpected = count;
    const complete = new Promise((resolve) => {
      notesComplete = resolve;
    });
    await watch.time(async () => {
      await client.callTool({ name: "notify", arguments: { n: count } }, PATIENCE);
      await complete;
    });
  },

  async connect(watch, { count }) {
    for (let number = 0; number < count; number += 1) {
      let connected;
      const result = await watch.time(async () => {
        connected = await connect();
        return connected.callTool(ECHO, PATIENCE);
      });
      check(result);
      await connected.close();
    }
  },

  async late(watch, { count }) {
    const early = new Stopwatch();
    await callInSequence(new Stopwatch(), SHORT_RUN);
    await callInSequence(early, SHORT_RUN);
    await operations.together(new Stopwatch(), { count });
    await callInSequence(watch, SHORT_RUN);
    return { count: SHORT_RUN, early: early.cpu };
  },

  async tools(watch, { count }) {
    const early = new Stopwatch();
    await callInSequence(new Stopwatch(), count);
    await callInSequence(early, count);
    await client.listTools({}, PATIENCE);
    await callInSequence(watch, count);
    return { early: early.cpu };
  },

  async servers(watch, { count }) {
    globalThis.gc?.();
    const before = memory("VmRSS");
    const clients = [];
    for (let number = 0; number < count; number += 1) {
      const result = await watch.time(async () => {
        clients.push(await connect());
        return clients.at(-1).callTool(ECHO, PATIENCE);
      });
      check(result);
    }
    globalThis.gc?.();
    const after = memory("VmRSS");
    for (const each of clients) await each.close();
    return { memory: after - before };
  },
};

async function obey(received) {
  if (received.target) order = received;
  if (received.do === "open") {
    client = await connect();
    check(await client.callTool(ECHO, PATIENCE));
    forgetPeakMemory();
    const { user, system } = process.cpuUsage();
    return { memory: memory("VmRSS"), cpu: (user + system) / 1e6 };
  }
  if (received.do === "close") {
    await client.close();
    return {};
  }
  if (!(received.operation in operations)) return { absent: "this library has nothing of the kind" };
  globalThis.gc?.();
  const watch = new Stopwatch();
  const details = await operations[received.operation](watch, received);
  return { count: received.count, seconds: watch.seconds, cpu: watch.cpu, peak: memory("VmHWM"), ...details };
}

const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

answer({ runtime: `Node ${process.versions.node}` });
for await (const line of createInterface({ input: process.stdin })) {
  try {
    answer(await obey(JSON.parse(line)));
  } catch (error) {
    answer({ error: String(error).slice(0, 500) });
  }
}
process.exit(0);

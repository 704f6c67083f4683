// The shapes of the page's values. What a server may have written in any way is `unknown`.
type Loose = { [name: string]: unknown };

// Elements
type Child = Node | string | number | false | null | undefined | Child[];
type Listeners = { [E in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[E]) => unknown };
type Attribute = string | number | boolean | null | undefined;
interface About {
  on?: Listeners;
  [attribute: string]: Attribute | Listeners;
}
type Work = () => unknown;
type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

// What `go` shows, and with what.
interface Views {
  calls: [];
  choose: [name: string];
  edit: [method: string, params: Loose];
  offer: [kind: OfferKind, key: string];
  range: [numbers: number[] | null];
  record: [number: number];
  server: [];
}
type Shows = { [K in keyof Views]: (...about: Views[K]) => unknown };
type Change = "asked" | "call" | "gone" | "lists" | "login" | "notice" | "question" | "server" | "wire";

// What the program sends: see `described.py`, `board.py` and `routes.py`.
interface Facts {
  type?: string;
  text?: unknown;
  hint?: string | null;
  stderr?: unknown;
  exit_code?: unknown;
  data?: unknown;
}
type Word = string | (string | { variable: string })[];
interface Copied {
  url?: Word;
  command?: Word[];
  cwd?: string;
  oauth?: Loose;
}
interface ServerState {
  order: number;
  status: string;
  target?: string;
  copied?: Copied;
  transport?: string | null;
  version?: string | null;
  era?: string | null;
  server?: { name?: unknown; title?: unknown; version?: unknown };
  capabilities?: Capabilities;
  instructions?: string | null;
  headers?: string[];
  headers_are_computed?: boolean;
  env?: string[];
  auth?: string | null;
  has_login?: boolean;
  timeout?: number | null;
  answers?: string[];
  recorded?: string;
  since?: number | null;
  error?: Facts | null;
  changed_lists?: number;
}
interface Capabilities extends Loose {
  completions?: unknown;
  logging?: unknown;
  resources?: { subscribe?: unknown };
  tasks?: { requests?: { tools?: { call?: unknown } } };
}
interface Call {
  server: string;
  method: string;
  subject: string;
  state: string;
  milliseconds: number;
  progress?: { progress?: number; total?: number; message?: unknown };
  task?: { taskId?: unknown; status?: unknown; statusMessage?: unknown };
}
interface WireCall {
  number: number;
  method: string;
  params?: Loose;
  seconds: number | null;
  outcome: unknown;
}
interface AskedQuestion {
  kind: "form" | "visit" | "sampling";
  server: string;
  message?: unknown;
  schema?: Schema;
  url?: string;
  host?: string;
  warnings?: string[];
  request?: Sampling;
}
interface Sampling {
  systemPrompt?: unknown;
  messages?: unknown;
  maxTokens?: unknown;
  tools?: unknown;
}
type Answer = { action: string; content?: unknown } | { content: string; model: string; stopReason: string } | null;
interface Login {
  url: string;
  host: string;
}
interface LoginFacts {
  issuer: string;
  clientId: string;
  state: string;
  expiresAt: number | null;
  scopes: string[];
}
interface Sheet {
  source: string;
  fields: Record<string, string>;
  files: { path: string; sha256: string | null }[];
  sha256: string;
}
interface Offers {
  tools: unknown[];
  resources: unknown[];
  templates: unknown[];
  prompts: unknown[];
  errors: { [list: string]: Facts | undefined };
}
interface Lists extends Offers {
  odd: { [list: string]: [entry: number, fault: Fault][] | undefined };
  loading?: boolean;
}
interface Outcome {
  result?: Result;
  warnings?: string[];
  error?: Facts;
}
// A block of content, a resource that was read, or a message.
type Block = { [name: string]: unknown; resource?: Block } | null | undefined;
interface Result extends Loose {
  completion?: { values?: unknown };
}
type Difference = [path: string, left: unknown, right: unknown];
interface Exchange {
  number: number;
  method: string;
  target: string;
  status?: number;
  milliseconds?: number;
}
interface WireNews {
  first: number;
  next: number;
  counts: Record<string, number>;
  rows: unknown[][];
  spans: Span[];
}
interface News {
  items: Item[];
  wire: Record<string, WireNews>;
}
interface PageState extends News {
  allow: string;
  row: string[];
  version: number;
}
// A record of the wire, and the message in it.
interface WireRecord extends Loose {
  direction?: string;
  channel?: string;
  text?: unknown;
  base64?: unknown;
  message?: Message;
  event?: { data?: unknown };
  http?: { headers?: unknown };
}
interface Message {
  id?: unknown;
  method?: unknown;
  params?: Loose;
}
// The answers of the program by their paths.
interface Answers {
  "/api/block": { lines: string[] };
  "/api/call": Outcome;
  "/api/calls": { calls: WireCall[] };
  "/api/exchanges": { exchanges: Exchange[] };
  "/api/faults": Lists["odd"];
  "/api/find": { numbers: number[]; searched: number };
  "/api/lists": Offers;
  "/api/login": { login: LoginFacts | null; visit: string | null; host: string | null };
  "/api/record": WireRecord;
  "/api/rows": { rows: unknown[][] };
  "/api/sheet": Sheet;
  "/api/state": PageState;
}
interface Replies {
  "/api/add": Loose;
  "/api/answer": Loose;
  "/api/cancel": Loose;
  "/api/connect": Loose;
  "/api/disconnect": Loose;
  "/api/login": Loose;
  "/api/logout": Loose;
  "/api/roots": Loose;
  "/api/approve": { status: string };
  "/api/check": Problem[];
  "/api/request": { id: string };
}
// The data of a saved page.
type Query = Record<string, string>;
interface SavedSession {
  wire: WireNews;
  rows: unknown[][];
  lines: string[];
  lists: Offers;
  faults: Lists["odd"];
  calls: Answers["/api/calls"];
  exchanges: Answers["/api/exchanges"];
}
interface Saved {
  state: Omit<PageState, "wire">;
  servers: Record<string, SavedSession>;
  levels: string[];
}

// The catalog
type OfferKind = "tools" | "resources" | "templates" | "prompts";
type Kind = "tools" | "resources" | "prompts" | "calls" | "servers";
interface Definition extends Loose {
  inputSchema?: Schema;
  execution?: { taskSupport?: unknown };
  annotations?: Loose | null;
  _meta?: { "ui/resourceUri"?: unknown; ui?: { resourceUri?: unknown } };
}
interface Listed<K, E> {
  kind: K;
  key: string;
  title: string;
  text: string;
  entry: E;
  odd?: Fault[] | null;
}
type Offer = Listed<OfferKind, Definition>;
type Entry =
  | Offer
  | Listed<"calls", Call>
  | Listed<"wirecalls", WireCall>
  | Listed<"servers", ServerState>;
// What was typed into a form, or the params to fill it in with. `to`: the message of a question.
interface Draft {
  params?: { arguments?: Loose; uri?: string };
  fields?: Loose;
  value?: unknown;
  raw?: string;
  timeout?: string;
  method?: string;
  to?: string;
  text?: string;
}
interface OfferRequest {
  verb: string;
  method: string;
  element: HTMLElement;
  params: () => Loose;
  draft: () => Draft;
  check: () => Problem[] | Promise<Problem[]>;
  options?: HTMLElement[];
  timeout?: HTMLInputElement;
  more?: (outcome: HTMLElement) => HTMLElement[];
}

// Forms
interface Schema extends Loose {
  $ref?: string;
  allOf?: Schema[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  type?: string | string[];
  format?: string;
  contentEncoding?: string;
  writeOnly?: boolean;
  title?: unknown;
  enum?: unknown[];
  enumNames?: unknown[];
  const?: unknown;
  maxLength?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  prefixItems?: Schema[];
  uniqueItems?: boolean;
}
type Choice = [value: unknown, label: unknown];
interface Problem {
  path: (string | number)[];
  text: string;
}
type Mark = (problems: Problem[]) => void;
interface Field {
  element: HTMLElement;
  isControl?: boolean;
  value: () => unknown;
  set: (value: unknown) => unknown;
  mark?: Mark;
}
interface FieldAbout {
  label: string;
  id?: string;
  describedby?: string;
  required?: boolean;
}

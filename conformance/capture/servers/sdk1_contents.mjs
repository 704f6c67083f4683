// The resources and prompts of the server on the SDK 1.x, and lists in pages.

const PAGE = 3;
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
export const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
export const WHEN = "2026-01-01T00:00:00Z";

export const schema = (properties = {}, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
});

/** The page of a list that a cursor points to. */
export function pageOf(items, name, cursor) {
  const start = cursor === undefined ? 0 : Number(cursor.replace("after-", ""));
  const page = { [name]: items.slice(start, start + PAGE) };
  return start + PAGE < items.length ? { ...page, nextCursor: `after-${start + PAGE}` } : page;
}

export function resources() {
  const listed = ["one", "two", "three", "four", "five", "six", "seven"].map((name, index) => ({
    uri: `test://texts/${name}`,
    name,
    title: `The text ${name}`,
    mimeType: "text/plain",
    size: name.length,
    annotations: { audience: ["user"], priority: index / 10, lastModified: WHEN },
  }));
  return [...listed, { uri: "test://pixel", name: "pixel", mimeType: "image/png" }];
}

export const TEMPLATES = ["texts", "numbers", "colours", "shapes"].map((name) => ({
  uriTemplate: `test://${name}/{name}`,
  name,
  mimeType: "text/plain",
}));

export const PROMPTS = [
  { name: "plain", description: "Has no arguments" },
  {
    name: "letter",
    title: "A letter",
    arguments: [
      { name: "to", description: "Who it is for", required: true },
      { name: "tone", title: "The tone" },
    ],
  },
  { name: "picture", description: "Has an image and a resource" },
  { name: "empty" },
];

export const READING = {
  "test://pixel": (uri) => [{ uri, mimeType: "image/png", blob: PIXEL }],
  "test://both": (uri) => [
    { uri: `${uri}/1`, text: "the first", _meta: { "example.com/part": 1 } },
    { uri: `${uri}/2`, mimeType: "application/octet-stream", blob: "AAECAw==" },
  ],
};

export function promptOf(name, { to, tone = "friendly" } = {}) {
  const said = (content, role = "user") => ({ role, content });
  const line = (value, role) => said({ type: "text", text: value }, role);
  switch (name) {
    case "plain":
      return { description: "Plain", messages: [line("Hello."), line("Hello!", "assistant")] };
    case "letter":
      return { messages: [line(`Write a ${tone} letter to ${to}.`)] };
    case "picture": {
      const resource = { uri: "test://texts/one", mimeType: "text/plain", text: "one" };
      const image = { type: "image", data: PIXEL, mimeType: "image/png" };
      return { messages: [said(image), said({ type: "resource", resource })] };
    }
    case "empty":
      return { messages: [] };
  }
}

// A protected server on `@modelcontextprotocol/sdk` 1.x, with the authorization server of that SDK at
// the same origin. Usage: node authorized.mjs <folder with node_modules>/package.json http [VARIANT]
//
// It listens on PORT. A user says yes to everything. Variants:
//   expiring  a token is good for four requests only, one that was refreshed for good
//   revoked   the same, and the refresh token is not taken either
//   keeping   every token is good for four requests only, and a refresh token is given once
//   forged    the answer to a login has the state of another
//   unregistered  no client is registered
//   moved     calling the tool `fail` is redirected to another origin
//   scopes    calling the tool `fail` wants the scope `more`, which is not asked for at first

import { createRequire } from "node:module";

import { makeServer } from "./sdk1_features.mjs";

const [, , modules, , variant] = process.argv;
const require = createRequire(modules);
const part = (path) => require(`@modelcontextprotocol/sdk/${path}`);
const express = require("express");
const {
  InsufficientScopeError,
  InvalidClientMetadataError,
  InvalidGrantError,
  InvalidTokenError,
} = part("server/auth/errors.js");

const origin = `http://127.0.0.1:${process.env.PORT}`;
const resourceMetadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`;
const HOUR = 3600;

/** Who is known without having registered. */
const KNOWN = {
  client_id: "a-known-client",
  client_secret: "the-secret-of-the-known-client",
  redirect_uris: ["http://127.0.0.1:50009/callback"],
};

class Provider {
  #made = 0;
  #codes = new Map();
  #tokens = new Map();
  #clients = new Map([[KNOWN.client_id, KNOWN]]);

  clientsStore = {
    getClient: (id) => this.#clients.get(id),
    registerClient: (client) => {
      if (variant === "unregistered") throw new InvalidClientMetadataError("no client is wanted");
      const registered = { ...client, client_id: `client-${this.#clients.size}` };
      this.#clients.set(registered.client_id, registered);
      return registered;
    },
  };

  #name = (what) => `the-${what}-with-the-number-${++this.#made}`;

  async authorize(client, params, response) {
    const code = this.#name("code");
    this.#codes.set(code, params);
    const target = new URL(params.redirectUri);
    target.searchParams.set("code", code);
    const state = variant === "forged" ? "a-state-of-somebody-else" : params.state;
    if (params.state !== undefined) target.searchParams.set("state", state);
    response.redirect(target.href);
  }

  async challengeForAuthorizationCode(client, code) {
    return this.#codes.get(code).codeChallenge;
  }

  async exchangeAuthorizationCode(client, code) {
    const { scopes } = this.#codes.get(code);
    this.#codes.delete(code);
    const isShort = ["expiring", "revoked", "keeping"].includes(variant);
    return this.issue(client, scopes, isShort ? 4 : Infinity);
  }

  async exchangeRefreshToken(client, token, scopes) {
    if (variant === "revoked") throw new InvalidGrantError("the refresh token is revoked");
    if (variant !== "keeping") return this.issue(client, scopes ?? ["tools"], Infinity);
    const { refresh_token, ...tokens } = this.issue(client, scopes ?? ["tools"], 4);
    return tokens;
  }

  issue(client, scopes, uses) {
    const [token, refreshToken] = [this.#name("token"), this.#name("refresh-token")];
    this.#tokens.set(token, { token, clientId: client.client_id, scopes, uses });
    return {
      access_token: token,
      token_type: "Bearer",
      expires_in: HOUR,
      refresh_token: refreshToken,
      scope: scopes.join(" "),
    };
  }

  async verifyAccessToken(token) {
    const found = this.#tokens.get(token);
    if (!found || found.uses-- <= 0) throw new InvalidTokenError("the token is not valid");
    return { ...found, expiresAt: Date.now() / 1000 + HOUR };
  }
}

/** The grant that the SDK does not have. */
function clientCredentials(request, response, next) {
  if (request.body?.grant_type !== "client_credentials") return next();
  const basic = Buffer.from(request.headers.authorization?.split(" ")[1] ?? "", "base64").toString();
  const [id, secret] = basic ? basic.split(":").map(decodeURIComponent) : [];
  if ((id ?? request.body.client_id) !== KNOWN.client_id || (secret ?? request.body.client_secret) !== KNOWN.client_secret)
    return response.status(401).json({ error: "invalid_client" });
  const { refresh_token, ...tokens } = provider.issue(KNOWN, ["tools"], Infinity);
  return response.json(tokens);
}

/** Send a call to another origin, where nothing is. */
function redirected(request, response, next) {
  if (variant !== "moved" || request.body?.params?.name !== "fail") return next();
  return response.redirect(307, `http://127.0.0.1:${process.env.AUTH_PORT}/mcp`);
}

/** Refuse a call that wants a scope the token does not have. */
function stepUp(request, response, next) {
  const wantsMore = variant === "scopes" && request.body?.params?.name === "fail";
  if (!wantsMore || request.auth.scopes.includes("more")) return next();
  const error = new InsufficientScopeError("this tool needs more");
  response.set(
    "WWW-Authenticate",
    `Bearer error="${error.errorCode}", scope="tools more", resource_metadata="${resourceMetadataUrl}"`,
  );
  return response.status(403).json(error.toResponseObject());
}

const provider = new Provider();
const transports = new Map();
let sessions = 0;

async function newTransport() {
  const { StreamableHTTPServerTransport } = part("server/streamableHttp.js");
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => `the-id-of-session-${++sessions}`,
    onsessioninitialized: (id) => transports.set(id, transport),
  });
  await makeServer(part, undefined, {}).connect(transport);
  return transport;
}

const app = express();
const { mcpAuthRouter } = part("server/auth/router.js");
const { requireBearerAuth } = part("server/auth/middleware/bearerAuth.js");
app.use("/token", express.urlencoded({ extended: false }), clientCredentials);
app.use(
  mcpAuthRouter({
    provider,
    issuerUrl: new URL(origin),
    resourceServerUrl: new URL(`${origin}/mcp`),
    scopesSupported: ["tools", "more"],
    clientRegistrationOptions: { clientIdGeneration: false },
  }),
);
const verified = requireBearerAuth({
  verifier: provider,
  requiredScopes: ["tools"],
  resourceMetadataUrl,
});
if (variant === "moved") express().listen(Number(process.env.AUTH_PORT), "127.0.0.1");
app.all("/mcp", verified, express.json(), redirected, stepUp, async (request, response) => {
  const id = request.headers["mcp-session-id"];
  const transport = id === undefined ? await newTransport() : transports.get(id);
  await transport.handleRequest(request, response, request.body);
});
app.listen(Number(process.env.PORT), "127.0.0.1");

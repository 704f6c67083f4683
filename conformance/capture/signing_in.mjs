// Logging in as a script's `auth` says. The user says yes to everything, without a browser: what
// is visited goes past the tap, because it is no traffic of the client.

import { note, task } from "./steps.mjs";

const REDIRECT = "http://127.0.0.1:50009/callback";

/** Change ports of the loopback interface in an address, also where they are percent-encoded. */
function withPorts(address, pairs) {
  for (const [from, to] of pairs)
    for (const colon of [":", "%3A"])
      address = address.replaceAll(`127.0.0.1${colon}${from}`, `127.0.0.1${colon}${to}`);
  return address;
}

/** Keeps everything in memory; the SDKs call it an OAuthClientProvider. */
class Provider {
  #tokens;
  #information;
  #verifier;

  constructor(auth) {
    this.redirectUrl = REDIRECT;
    this.clientMetadata = {
      client_name: task.clientInfo.name,
      redirect_uris: [REDIRECT],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: auth.client_secret ? "client_secret_post" : "none",
      ...(auth.scope && { scope: auth.scope }),
    };
    if (auth.client_id)
      this.#information = { client_id: auth.client_id, client_secret: auth.client_secret };
  }

  state = () => crypto.randomUUID();
  clientInformation = () => this.#information;
  saveClientInformation = (information) => void (this.#information = information);
  tokens = () => this.#tokens;
  saveTokens = (tokens) => void (this.#tokens = tokens);
  codeVerifier = () => this.#verifier;
  saveCodeVerifier = (verifier) => void (this.#verifier = verifier);
  redirectToAuthorization = (url) => void (this.authorizationUrl = url);

  invalidateCredentials(what) {
    if (what === "all" || what === "client") this.#information = undefined;
    if (what === "all" || what === "tokens") this.#tokens = undefined;
  }

  /** Go where the user is sent, and come back with the answer, as parameters of the redirect. */
  async visit() {
    const url = withPorts(this.authorizationUrl.href, Object.entries(task.target.behind));
    const answer = await fetch(url, { redirect: "manual" });
    const back = Object.entries(task.target.behind).map(([port, behind]) => [behind, port]);
    const location = withPorts(answer.headers.get("location"), back);
    note({ visited: { url: this.authorizationUrl, location } });
    return new URL(location).searchParams;
  }
}

const isUnauthorized = (error) => error?.constructor?.name === "UnauthorizedError";

/**
 * Connect, and log in if the server wants that. `connect(provider)` makes a transport and begins to
 * connect; `sdk.takeAnswer` gives it what came back from the authorization server.
 */
export async function signIn(sdk, auth, connect) {
  if (auth?.grant === "client_credentials") {
    const { client_id: clientId, client_secret: clientSecret, scope } = auth;
    const provider = new sdk.ClientCredentialsProvider({ clientId, clientSecret, scope });
    const { transport, connecting } = await connect(provider);
    await connecting;
    return transport;
  }
  const provider = auth && new Provider(auth);
  const { transport, connecting } = await connect(provider);
  try {
    await connecting;
  } catch (error) {
    if (!provider || !isUnauthorized(error)) throw error;
    await sdk.takeAnswer(transport, await provider.visit());
    const again = await connect(provider);
    await again.connecting;
    return withRetries(sdk, again.transport, provider);
  }
  return withRetries(sdk, transport, provider);
}

/** Have the steps log in once more, when they are refused for want of a scope or token. */
function withRetries(sdk, transport, provider) {
  sdk.logInAgain = async (error) => {
    if (!provider || !isUnauthorized(error)) return false;
    await sdk.takeAnswer(transport, await provider.visit());
    return true;
  };
  return transport;
}

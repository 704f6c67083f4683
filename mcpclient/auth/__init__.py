"""Authorization as pure flows: generators that say what to do, and a shell that does it.

Nothing here opens a connection, reads a clock or a file, or shows a browser. A flow yields effects
(`mcpclient.auth.effects`) and is sent their answers, so all of OAuth is tested without a network.

Where to look: `flow` decides what answers a 401 or a 403, `discovery` finds the authorization
server, `registration` the client's identity, `authorization_code` and its neighbours obtain tokens,
`url_guard` says where a URL named by a server may point, `signing` (with `p256`) holds the only
cryptography.
"""

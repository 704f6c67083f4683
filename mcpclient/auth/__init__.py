"""Authorization as pure flows: generators that yield effects, which a runner performs.

Nothing here opens a connection, reads a clock or a file, or shows a browser. A flow yields effects
(`effects`) and is sent their answers, so all of OAuth is tested without a network. The runner, the
browser and the stores are in `net.login`.

Where to look: `flow` decides after a 401 or a 403; `discovery` finds the authorization server,
`clients` the client's identity there; `obtaining` gets `grants` of `tokens`; `url_guard` checks
every URL that a server names; `signing` holds all cryptography.
"""

"""Servers written on other SDKs, one for each, all with the same features.

They run in the environments of `conformance.peers`, from the top of the checkout:
``python -m conformance.servers.mcp2 TRANSPORT``. What listens does so on the port in the variable
PORT. The transports are ``stdio``, ``sse``, and three configurations of Streamable HTTP: ``http``
(sessions, answers as streams), ``http-stateless`` and ``http-json``.
"""

"""Capture: reference clients meet reference servers, and a tap between them writes it down.

What is done is data (`conformance.scripts`, `collection`). For each script a `sessions.Session`
starts the server (`targets`), a tap in front of it (`taps`), and the client in a program of its own
(``drive_sdk1.mjs``, ``drive_client2.mjs``). What the tap saw and what the user of the client got
becomes a transcript (`records`). See ``conformance/transcripts/README.md``.
"""

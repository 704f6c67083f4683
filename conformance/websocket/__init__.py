"""The WebSocket framing of this library before the Autobahn testsuite's fuzzing server."""

"""The WebSocket connection of this library before the Autobahn testsuite's fuzzing server."""

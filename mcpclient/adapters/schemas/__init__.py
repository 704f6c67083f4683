"""Input schemas of tools, rewritten for what model APIs take of JSON Schema; pure functions."""

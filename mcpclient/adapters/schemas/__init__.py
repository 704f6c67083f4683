"""Input schemas of tools, rewritten for the JSON Schema subsets of model APIs; pure functions."""

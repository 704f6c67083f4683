"""A server process with as few rights as it needs: `Sandbox`, and how the system enforces it."""

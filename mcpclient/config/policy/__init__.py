"""Which servers may be used: rules about names, commands and URLs, never about their text."""

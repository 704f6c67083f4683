"""The inspector: a page in the browser that shows what happens between client and server."""

"""The inspector: a page in the browser that shows the traffic of client and server."""

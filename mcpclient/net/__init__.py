"""The only place that touches sockets, processes, files, the browser and the clock."""

"""Sockets, processes, files, the browser and the clock: all I/O of the package is here."""

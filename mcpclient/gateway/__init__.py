"""All servers of a manager behind one stdio server."""

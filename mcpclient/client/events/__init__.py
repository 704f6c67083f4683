"""Who is told what happens on a connection."""

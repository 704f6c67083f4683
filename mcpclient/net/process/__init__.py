"""Server processes: how one is launched, fed, watched and stopped with all it started."""

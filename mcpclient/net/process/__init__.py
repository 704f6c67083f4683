"""Server processes: launching one, its pipes, its exit, and stopping it with its descendants."""

"""Many servers: connected side by side, kept connected, and used as one."""

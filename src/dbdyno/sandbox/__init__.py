"""Private servers: create, start, stop, reset, remove."""

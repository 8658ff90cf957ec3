"""All that we know of PostgreSQL."""

"""Rules about PostgreSQL, one a file; see `dbdyno.model.rule`."""

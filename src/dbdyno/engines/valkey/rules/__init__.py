"""Rules about Valkey and Redis, one a file; see `dbdyno.model.rule`."""

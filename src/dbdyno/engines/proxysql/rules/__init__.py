"""Rules about ProxySQL, one a file; see `dbdyno.model.rule`."""

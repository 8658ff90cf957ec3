"""Rules about the machine under a server, one file each. Files that begin with `_` are shared."""

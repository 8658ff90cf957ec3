"""Kinds of servers, one folder each. A folder with an `engine.py` that defines `ENGINE` is an engine: no list."""

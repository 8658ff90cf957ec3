"""Causes of stalls that come from the server and not from a storage engine; each engine's folder takes them up."""

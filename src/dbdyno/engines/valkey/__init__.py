"""Valkey, and Redis from which it comes: checked only."""

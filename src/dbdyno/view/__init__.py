"""Readers of records and of running servers for the terminal."""

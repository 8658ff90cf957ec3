"""Proving what survives a power cut: the disk that forgets, the ledger, the verdict."""

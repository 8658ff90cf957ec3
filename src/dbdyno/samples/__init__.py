"""Probes on a timer; rates, counter resets and gaps are handled here only."""

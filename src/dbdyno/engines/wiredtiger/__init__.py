"""MongoDB with WiredTiger."""

"""Rules about MongoDB and WiredTiger: one file each."""

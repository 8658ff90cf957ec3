"""Rules about MyRocks: one file each."""

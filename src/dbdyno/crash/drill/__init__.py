"""Drills: the disk is gone and the data come back, or the primary is gone and its replica takes over."""

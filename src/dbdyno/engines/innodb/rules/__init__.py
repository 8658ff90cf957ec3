"""Rules about InnoDB: one file each."""

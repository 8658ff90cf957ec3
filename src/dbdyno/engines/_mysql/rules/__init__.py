"""Rules about a server of the MySQL family, whatever stores its tables: one file each."""

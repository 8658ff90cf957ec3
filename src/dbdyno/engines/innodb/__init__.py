"""InnoDB, in MariaDB, MySQL and Percona Server."""

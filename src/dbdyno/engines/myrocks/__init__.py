"""MyRocks: RocksDB as a storage engine of MariaDB and Percona Server."""

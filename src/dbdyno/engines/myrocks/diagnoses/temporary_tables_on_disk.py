"""temporary-tables-on-disk, as the server has it whatever its storage engine."""

from dbdyno.engines._mysql.diagnoses.temporary_tables_on_disk import DIAGNOSIS

__all__ = ["DIAGNOSIS"]

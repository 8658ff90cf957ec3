"""metadata-lock-queue, as the server has it whatever its storage engine."""

from dbdyno.engines._mysql.diagnoses.metadata_lock_queue import DIAGNOSIS

__all__ = ["DIAGNOSIS"]

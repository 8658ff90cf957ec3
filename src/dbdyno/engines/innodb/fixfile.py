"""Settings as a file of the server's: the whole family's."""

from dbdyno.engines._mysql.fixfile import settings_file

__all__ = ["settings_file"]

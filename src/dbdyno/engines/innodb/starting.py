"""What the family shares."""

from dbdyno.engines._mysql.starting import HEAD, VERSION_DEFAULT, settings, version_of

__all__ = ["HEAD", "VERSION_DEFAULT", "settings", "version_of"]

"""What a user may do on the whole server, from SHOW GRANTS. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable

_GRANT = re.compile(r"^GRANT (?P<what>.+?) ON (?P<where>\S+) TO ", re.IGNORECASE)
_ROLE = re.compile(r"^GRANT (?!.* ON )(?P<roles>.+) TO ", re.IGNORECASE)

Grants = frozenset[str]


class _All(frozenset[str]):
    """Every privilege; newer ones, too, that we have not heard of."""

    def __contains__(self, _privilege: object) -> bool:
        return True


def parse(lines: Iterable[str]) -> Grants:
    """Privileges that hold on all databases (`*.*`), in capitals. Those of single tables do not show the server."""
    found: set[str] = set()
    for line in lines:
        match = _GRANT.match(line)
        if match is None or match["where"].replace("`", "") != "*.*":
            continue
        words = {word.strip().upper() for word in match["what"].split(",")}
        if words & {"ALL PRIVILEGES", "ALL"}:
            return _All()
        found |= words
    return frozenset(found)

"""ProxySQL as an engine that can be checked. It stores nothing, so it promises nothing and has no formula."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.engines.proxysql import target as target_
from dbdyno.model.engine import Inspection
from dbdyno.model.target import Secret, Target


class ProxySQL:
    name = target_.ENGINE_NAME
    schemes: tuple[str, ...] = ("proxysql",)

    def target(self, url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
        return target_.parse(url, environment)

    def connect(self, target: Target, secret: Secret) -> Inspection:
        from dbdyno.engines.proxysql import session

        return session.connect(target, secret)


ENGINE = ProxySQL()

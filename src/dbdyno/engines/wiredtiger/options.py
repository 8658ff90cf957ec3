"""Options that nobody set: their documented defaults, and those that a version no longer has.

Source: MongoDB manual, "Configuration File Options" and "mongod" (3.6 to 8.0, 2018 to 2024).
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

from dbdyno.model.facts import Facts

VERSION_ALWAYS_JOURNALED = 60100
"""From 6.1 on the journal cannot be switched off, and the option is gone."""


def default_options(version: int) -> dict[str, str]:
    """The value of each option that rules ask for, in the words of mongod.conf. They do not depend on other options,
    but for those of which an empty text says that there is none."""
    defaults = {
        "net.bindIp": "localhost",
        "net.bindIpAll": "false",
        "net.port": "27017",
        "net.tls.mode": "disabled",
        "net.tls.allowInvalidCertificates": "false",
        "operationProfiling.mode": "off",
        "operationProfiling.slowOpThresholdMs": "100",
        "replication.enableMajorityReadConcern": "true",
        "replication.replSetName": "",
        "security.authorization": "disabled",
        "security.keyFile": "",
        "security.clusterAuthMode": "keyFile",
        "security.javascriptEnabled": "true",
        "storage.dbPath": "/data/db",
        "storage.directoryPerDB": "false",
        "storage.engine": "wiredTiger" if version >= 30200 or not version else "mmapv1",
        "storage.syncPeriodSecs": "60",
        "storage.wiredTiger.collectionConfig.blockCompressor": "snappy",
        "storage.wiredTiger.engineConfig.directoryForIndexes": "false",
        "storage.wiredTiger.engineConfig.journalCompressor": "snappy",
        "systemLog.quiet": "false",
        "systemLog.destination": "",
        "systemLog.logAppend": "false",
    }
    defaults["storage.journal.enabled"] = "true"
    defaults["storage.journal.commitIntervalMs"] = "100"
    return defaults


@functools.cache
def _gone() -> list[dict[str, Any]]:
    with (Path(__file__).parent / "advisories.toml").open("rb") as file:
        rows: list[dict[str, Any]] = tomllib.load(file)["option"]
    return rows


def deprecated_options(facts: Facts, version: int) -> list[str]:
    """Options that somebody set and that this version or a later one does not have, with what takes their place."""
    found = []
    for row in _gone():
        name = row["name"]
        fact = facts.find(f"setting.{name}")
        if fact is None or fact.unknown or fact.source == "default":
            continue
        if "value" in row and str(fact.value) != row["value"]:
            continue
        tense = "is gone since" if version >= row["gone"] else "is gone in"
        series = f"{row['gone'] // 10_000}.{row['gone'] % 10_000 // 100}"
        said = f"{name}={row['value']}" if "value" in row else name
        found.append(f"{said} {tense} {series}, instead: {row['instead']}")
    return found

"""GALERA002: a node that was away has to be copied whole

What it checks: gcache.size holds the write sets of an hour, at the mean rate since the start.

Why it matters: a node that comes back and finds the sets it missed takes them (IST); else all data is copied to it
(SST), which loads or blocks a donor for hours.

Remedy: gcache.size in wsrep_provider_options, for the longest maintenance that should not end in a copy. It is a file
in the data folder that counts as memory (see MY020).

Risk: disk and page cache; a restart, after which the cache is empty unless gcache.recover is on.

References: Galera Cluster manual, Write-set Cache (2023); Is 80% of RAM how you should tune your
innodb_buffer_pool_size? (Percona, 2016): it counts in the budget of memory
"""

from dbdyno.engines._mysql.memory import gcache_bytes
from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    seconds = facts.number("status.uptime")
    written = facts.number("status.wsrep_replicated_bytes") + facts.number("status.wsrep_received_bytes")
    size = gcache_bytes(facts)
    if seconds < 3600 or written <= 0 or size * seconds / written >= 3600:
        return None
    wanted = -(-int(written / seconds * 3600) // (1 << 30))
    return Finding(
        says=f"gcache.size of {size / 2**20:.0f} MiB holds {size * seconds / written / 60:.0f} minutes of writes.",
        fixes=(
            by_hand("gcache.size", f"wsrep_provider_options = 'gcache.size={wanted}G' # in the option file, restart"),
        ),
    )


RULE = Rule(
    id="GALERA002",
    title="The write-set cache covers an hour",
    topic="cluster",
    check=check,
    source="Galera Cluster manual, Write-set Cache (2023)",
    applies=lambda facts: exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on"),
    good={
        "setting.wsrep_on": "ON",
        "status.uptime": 864000,
        "status.wsrep_replicated_bytes": 10000000000,
        "status.wsrep_received_bytes": 10000000000,
    },
    bad={
        "setting.wsrep_on": "ON",
        "status.uptime": 864000,
        "status.wsrep_replicated_bytes": 500000000000,
        "status.wsrep_received_bytes": 500000000000,
        "setting.wsrep_provider_options": "gcache.size = 128M; gcs.fc_limit = 16",
    },
)

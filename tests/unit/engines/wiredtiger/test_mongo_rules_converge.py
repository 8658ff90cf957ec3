"""Advice converges and does not contradict itself: for any options and any machine, what the rules want is wanted once,
and after it is made none of it is wanted again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.check.book import engine_rules, host_rules
from dbdyno.check.judge import judge, judge_all
from dbdyno.check.server import derived
from dbdyno.engines.wiredtiger import facts as facts_module
from dbdyno.engines.wiredtiger.options import default_options
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Verdict

RULES = engine_rules("wiredtiger")
GIB = 1 << 30
FLAG = st.sampled_from(["true", "false"])
NAMES = st.fixed_dictionaries(
    {
        "server.version": st.sampled_from([40208, 40406, 50014, 60012, 70028, 80004]),
        "server.role": st.sampled_from(["primary", "replica", "standalone"]),
        "server.storage_engine": st.sampled_from(["wiredTiger", "inMemory"]),
        "server.memory_limit_bytes": st.integers(GIB // 2, 1024 * GIB),
        "server.cache_bytes": st.integers(GIB // 4, 1024 * GIB),
        "setting.storage.wiredTiger.engineConfig.cacheSizeGB": st.sampled_from(["0.25", "7.5", "100", "700"]),
        "setting.storage.inMemory.engineConfig.inMemorySizeGB": st.sampled_from(["1", "64"]),
        "setting.storage.journal.enabled": FLAG,
        "setting.storage.journal.commitIntervalMs": st.sampled_from(["1", "100", "500"]),
        "setting.storage.syncPeriodSecs": st.sampled_from(["0", "60", "3600"]),
        "setting.storage.wiredTiger.collectionConfig.blockCompressor": st.sampled_from(["none", "snappy", "zstd"]),
        "setting.defaultWriteConcern": st.sampled_from(["0", "1", "majority", "majority,j:false"]),
        "setting.writeConcernMajorityJournalDefault": FLAG,
        "setting.replication.enableMajorityReadConcern": FLAG,
        "setting.replication.replSetName": st.sampled_from(["", "rs0"]),
        "setting.security.authorization": st.sampled_from(["enabled", "disabled"]),
        "setting.security.keyFile": st.sampled_from(["", "/etc/key"]),
        "setting.net.bindIp": st.sampled_from(["localhost", "0.0.0.0"]),
        "setting.net.tls.mode": st.sampled_from(["disabled", "preferTLS", "requireTLS"]),
        "setting.net.tls.allowInvalidCertificates": FLAG,
        "setting.operationProfiling.slowOpThresholdMs": st.sampled_from(["0", "100", "10000"]),
        "setting.setParameter.ttlMonitorEnabled": FLAG,
        "setting.setParameter.diagnosticDataCollectionEnabled": FLAG,
        "setting.setParameter.enableLocalhostAuthBypass": FLAG,
        "setting.setParameter.storageEngineConcurrencyAdjustmentAlgorithm": st.sampled_from(
            ["fixedConcurrentTransactions", "throughputProbing"]
        ),
        "host.thp.enabled": st.sampled_from(["always", "madvise", "never"]),
    }
)


def table(values: dict[str, Scalar]) -> Facts:
    known = {**{f"setting.{name}": word for name, word in default_options(0).items()}, **values}
    return Facts(derived(facts_module, [Fact(name=name, value=value, source="file") for name, value in known.items()]))


def failed(facts: Facts) -> list[Finding]:
    return [one for one in judge_all(RULES, facts)[0] if one.verdict is Verdict.FAIL]


def changes(findings: list[Finding]) -> dict[str, Fix]:
    found: dict[str, Fix] = {}
    for finding in findings:
        for fix in finding.fixes:
            if fix.changes:
                other = found.setdefault(fix.changes, fix)
                assert other.value == fix.value, f"{fix.changes}: {other.value} and {fix.value}"
    return found


@settings(max_examples=50, deadline=None)
@given(NAMES)
def test_what_was_advised_is_not_advised_again(values: dict[str, Scalar]) -> None:
    first = changes(failed(table(values)))
    after = {**values, **{name: fix.value for name, fix in first.items()}}
    second = changes(failed(table(after)))
    assert not set(second), f"{second} after {first}"


@settings(max_examples=20, deadline=None)
@given(NAMES)
def test_huge_pages_are_wanted_by_one_rule_or_refused_by_the_other(values: dict[str, Scalar]) -> None:
    facts = table(values)
    host = next(entry for entry in host_rules() if entry.rule.id == "HOST005")
    own = next(entry for entry in RULES if entry.rule.id == "MONGO032")
    verdicts = [one.verdict for entry in (host, own) if (one := judge(entry, facts)) is not None]
    assert verdicts.count(Verdict.FAIL) <= 1

"""Texts of Valkey and Redis: URLs, configuration files, INFO, lists of users and clients, and dumps in all shapes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbdyno.engines.registry import checkable_named
from dbdyno.engines.valkey import conffile, dump, info, versions
from dbdyno.model.errors import UsageError
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.target import Target

ENGINE = checkable_named("redis")
FIXTURES = Path(__file__).parents[3] / "fixtures" / "valkey"
INFO = (FIXTURES / "info-7.0.15.txt").read_text()
CONFIG = (FIXTURES / "config-7.0.15.txt").read_text()


def parsed(url: str, **environment: str) -> tuple[Target, str | None]:
    target, secret = ENGINE.target(url, environment)
    return target, secret.reveal()


def facts(name: str, text: str) -> dict[str, Scalar]:
    assert dump.recognises(name, text[:65536])
    return {fact.name: fact.value for fact in dump.parse(name, text) if not fact.unknown}


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("redis://db1", ("db1", 6379, "default", "0", "")),
        ("valkey://ann@db1:7000/3", ("db1", 7000, "ann", "3", "")),
        ("redis://[::1]:7000", ("::1", 7000, "default", "0", "")),
        ("rediss://db1", ("db1", 6379, "default", "0", "verify-full")),
        ("valkeys://db1?ssl_cert_reqs=none", ("db1", 6379, "default", "0", "require")),
        ("rediss://db1?ssl_check_hostname=false", ("db1", 6379, "default", "0", "verify-ca")),
        ("unix:///run/redis.sock?db=2", ("/run/redis.sock", 6379, "default", "2", "")),
        ("redis+socket:///run/a%20b.sock", ("/run/a b.sock", 6379, "default", "0", "")),
    ],
)
def test_urls(url: str, where: tuple[object, ...]) -> None:
    target, _ = parsed(url)
    assert (target.host, target.port, target.user, target.database, target.tls) == where


def test_passwords_come_from_the_url_then_from_the_environment() -> None:
    assert parsed("redis://:a%40b@db1", REDISCLI_AUTH="c")[1] == "a@b"
    assert parsed("redis://db1", REDISCLI_AUTH="c")[1] == "c"
    assert parsed("redis://db1", REDISCLI_AUTH="c", VALKEYCLI_AUTH="d")[1] == "d"
    assert parsed("redis://db1")[1] is None


@pytest.mark.parametrize(
    "url",
    ["redis://db1/name", "redis://db1:port", "redis://db1?x=1", "redis://db1?ssl_cert_reqs=none", "unix://db1",
     "rediss://db1?ssl_cert_reqs=perhaps", "rediss://db1?ssl_ca_certs=/nowhere", "redis://u:se%cret@db1:99999"],
)  # fmt: skip
def test_what_cannot_be_is_refused_without_the_password(url: str) -> None:
    with pytest.raises(UsageError) as error:
        parsed(url)
    assert "se%cret" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "valkey", "number"),
    [("7.0.15", False, 70015), ("8.1.4", True, 1080104), ("7.2.4-rc1", False, 70204), ("6.2", False, 60200),
     ("255.255.255", False, 2575755), ("none", True, 0), ("", False, 0)],
)  # fmt: skip
def test_versions(words: str, valkey: bool, number: int) -> None:
    assert versions.number_of(words, valkey=valkey) == number


def test_products() -> None:
    assert versions.product_of({"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.4"}) == (
        "valkey", "8.1.4",
    )  # fmt: skip
    assert versions.product_of({"redis_version": "7.4.0", "dragonfly_version": "1.2"}) == ("dragonfly", "1.2")
    assert versions.product_of({}) == ("", "")


def test_a_file_is_read_as_the_server_reads_it() -> None:
    text = '# c\r\nMAXMEMORY 100mb\r\nsave 900 1\nsave 300 10\nrequirepass "a b\\"c"\nbroken "\ndir \'/x y\'\n\n'
    assert conffile.parse(text) == {
        "maxmemory": "100mb", "save": "900 1 300 10", "requirepass": 'a b"c', "dir": "/x y",
    }  # fmt: skip
    assert conffile.same("maxmemory", "100mb", "104857600")
    assert not conffile.same("maxmemory", "100m", "104857600"), "m is a million"
    limits = "client-output-buffer-limit"
    assert conffile.same(limits, "replica 256mb 64mb 60", "normal 0 0 0 slave 268435456 67108864 60 pubsub 1 1 1")
    assert not conffile.same(limits, "replica 0 0 0", "normal 0 0 0 slave 268435456 67108864 60")


def test_what_is_written_is_read_again() -> None:
    values = {"maxmemory": 5, "save": "", "requirepass": 'a "b" \\ c', "client-output-buffer-limit": "normal 0 0 0",
              "dir": "/var/lib/a b"}  # fmt: skip
    text, commands = conffile.render(dict(values))
    assert conffile.parse(text) == {name: str(value) for name, value in values.items()}
    assert commands[-1] == "CONFIG REWRITE"
    assert conffile.parse(conffile.line_of("save", "3600 1 300 100")) == {"save": "3600 1 300 100"}


def test_limits_of_buffers_are_one_line_a_class() -> None:
    """Seen on Redis 6.2.14, which does not start with two classes on one line."""
    lines = conffile.line_of("client-output-buffer-limit", "normal 0 0 0 slave 1 2 3").split("\n")
    assert lines == ["client-output-buffer-limit normal 0 0 0", "client-output-buffer-limit slave 1 2 3"]
    assert conffile.parse("\n".join(lines)) == {"client-output-buffer-limit": "normal 0 0 0 slave 1 2 3"}


def test_accounts_are_seen_without_their_hashes() -> None:
    lines = ["user default on nopass sanitize-payload ~* &* +@all", f"user ann on #{'a' * 64} ~* &* +@all",
             "user bob on nopass ~b* -@all +get", "user eve off nopass ~* +@all", "nonsense", "user x"]  # fmt: skip
    found = {fact.name: fact.value for fact in info.users(lines)}
    assert found == {
        "security.default_on": True, "security.default_nopass": True, "security.nopass_count": 1,
        "security.nopass_examples": "bob", "security.mighty_count": 1,
    }  # fmt: skip
    assert "aaaa" not in repr(found)


@pytest.mark.parametrize(
    ("bind", "far"),
    [("127.0.0.1 -::1", False), ("* -::*", True), ("", True), ("127.0.0.1 10.0.0.1", True), ("::1", False)],
)
def test_who_may_connect(bind: str, far: bool) -> None:
    assert info.reachable(bind) is far


def test_clients_are_counted_and_not_named() -> None:
    text = (
        "id=3 addr=127.0.0.1:5 name= age=9 idle=7200 flags=N omem=10 cmd=get\n"
        "id=4 addr=10.1.2.3:5 name= idle=0 flags=N omem=99 cmd=get\nid=5 addr=10.1.2.4:5 flags=S omem=7\nbroken"
    )
    found = {fact.name: fact.value for fact in info.clients(text)}
    assert (found["clients.count"], found["clients.idle_count"]) == (3, 1)
    assert (found["clients.output_bytes_max"], found["clients.remote_count"]) == (99, 1)
    assert "10.1.2" not in repr(found)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_dump_of_info(ends: str) -> None:
    found = facts("anything.txt", INFO.replace("\n", ends))
    assert found["server.version"] == 70015
    assert found["server.role"] == "primary"
    assert found["setting.maxmemory"] == "0"
    assert found["status.rdb_last_bgsave_status"] == "ok"
    assert found["keyspace.keys_count"] == 3
    assert found["keyspace.expires_count"] == 1
    assert found["commands.dangerous_examples"] == "keys 2 times"


def shapes() -> dict[str, str]:
    table = dict(zip(CONFIG.split("\n")[::2], CONFIG.split("\n")[1::2], strict=False))
    numbered = "\n".join(f'{at:3d}) "{word}"' for at, word in enumerate(CONFIG.rstrip("\n").split("\n"), 1))
    return {
        "bare": CONFIG, "numbered": numbered, "json": json.dumps(table),
        "json-list": json.dumps([word for pair in table.items() for word in pair]),
        "equals": "\n".join(f"{name}={value}" for name, value in table.items()),
        "blank": "\n".join(f"{name} {value}" for name, value in table.items()),
        "windows": numbered.replace("\n", "\r\n"),
    }  # fmt: skip


@pytest.mark.parametrize("shape", sorted(shapes()))
def test_a_dump_of_settings_in_any_shape(shape: str) -> None:
    found = facts("what-they-sent.txt", shapes()[shape])
    assert found["setting.maxmemory-policy"] == "noeviction"
    assert found["setting.save"] == "3600 1 300 100 60 10000"
    assert found["setting.client-output-buffer-limit"] == (
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"
    )
    assert found["server.settings_complete"] is True
    assert found["security.reachable"] is False


def test_a_dump_of_a_file() -> None:
    found = facts(
        "etc/redis/redis.conf", "maxmemory 1gb\nslave-read-only yes\nuser bob on nopass ~* +@all\nbind 0.0.0.0\n"
    )
    assert found["setting.maxmemory"] == str(1 << 30)
    assert found["server.settings_complete"] is False
    assert found["config.old_names_count"] == 0, "the version is not known"
    assert found["security.nopass_examples"] == "bob"


@pytest.mark.parametrize(
    "text",
    ["", "hello\n", "max_connections\t100\nshared_buffers\t1\n", '{"ok": 1, "version": "7.0"}', "[", "{" * 5000,
     "Variable_name\tValue\nmax_connections\t151\n", "\x00\xff"],
)  # fmt: skip
def test_what_is_not_ours_is_left_to_others(text: str) -> None:
    assert not dump.recognises("dump.txt", text)


@pytest.mark.parametrize("cut", [1, 40, 400, 4000])
def test_half_a_dump_is_half_read(cut: int) -> None:
    for text in (INFO[:cut], CONFIG[:cut]):
        for name in ("valkey/info.txt", "valkey/config.txt", "valkey/acl.txt", "valkey/clients.txt", "redis.conf"):
            assert isinstance(dump.parse(name, text), list)


def test_the_script_hides_hashes_of_passwords() -> None:
    script = dump.collect_script()
    assert "sed 's/#[0-9a-f]" in script
    assert "-a " not in script, "no password among the arguments"


@pytest.mark.parametrize(
    ("version", "old"),
    [(70015, ["slave-read-only"]), (1_070207, ["slave-read-only"]), (1_080001, ["slave-read-only", "masterauth"])],
)
def test_names_that_only_one_product_gave_up(version: int, old: list[str]) -> None:
    known = Facts([Fact(name="server.version", source="test", value=version)])
    written = ["slave-read-only", "masterauth", "maxmemory"]
    told = {fact.name: fact.value for fact in info.old_names(written, known, "test")}
    assert told["config.old_names_count"] == len(old)
    assert [one.split()[0] for one in str(told["config.old_names_examples"]).split("; ")] == old

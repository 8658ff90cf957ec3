"""A starting configuration for a server that need not exist."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dbdyno.check.machine import generate_for
from dbdyno.cli.check import command
from dbdyno.engines.registry import engine_named
from dbdyno.model.contract import Contract
from dbdyno.model.errors import UsageError
from dbdyno.model.guard import breaches_of_all
from dbdyno.model.machine import DiskClass, Machine

GIB = 1 << 30
SIZES = {"memory_bytes": 16 * GIB, "cores": 8}
PRODUCTS = ["postgresql:15", "postgresql:18", "mariadb:10.11", "mariadb:11.4", "mysql:8.0.12", "mysql:5.7.44",
            "mariadb+myrocks:10.11", "mongodb:6.0", "mongodb:8.0"]  # fmt: skip


@pytest.mark.parametrize("product", PRODUCTS)
def test_each_line_has_its_reason(product: str) -> None:
    for workload, disk in (("oltp", "hdd"), ("read-mostly", "nvme"), ("bulk", "ssd"), ("mixed", "cloud")):
        made = generate_for(product, {**SIZES, "workload": workload, "disk": disk, "iops": 3000.0, "connections": 300})
        assert set(made.assignment) <= set(made.reasons)
        assert all(made.reasons[name] for name in made.assignment)
        assert made.source
        assert made.text.startswith("# For ")


@pytest.mark.parametrize("product", ["postgresql:15", "mariadb:10.11", "mysql:8.0.12"])
@pytest.mark.parametrize("memory", [GIB // 2, GIB, 4 * GIB, 256 * GIB])
@pytest.mark.parametrize("connections", [10, 300, 5000])
def test_no_size_breaks_the_contract(product: str, memory: int, connections: int) -> None:
    made = generate_for(product, {"memory_bytes": memory, "cores": 4, "connections": connections})
    engine = engine_named(product.partition(":")[0])
    guards = engine.knobs(Machine(memory_bytes=memory, cores=4, disk=DiskClass.SSD), 80012).guards
    settings = {name: str(value) for name, value in made.assignment.items()}
    assert not breaches_of_all(settings, guards, Contract(pitr=False, replication=False))
    text = made.text.lower()
    assert "fsync = off" not in text
    assert "innodb_flush_log_at_trx_commit = 2" not in text


def test_the_workload_and_the_connections_matter() -> None:
    few = generate_for("postgresql:15", {**SIZES, "connections": 20, "workload": "bulk"}).assignment
    many = generate_for("postgresql:15", {**SIZES, "connections": 800, "workload": "oltp"}).assignment
    assert float(few["work_mem"]) > 10 * float(many["work_mem"])
    assert many["max_connections"] == 800
    assert "jit" in many
    assert "jit" not in few


def test_many_connections_take_from_the_cache() -> None:
    few = generate_for("mariadb:10.11", {**SIZES, "connections": 50}).assignment["innodb_buffer_pool_size"]
    many = generate_for("mariadb:10.11", {**SIZES, "connections": 5000}).assignment["innodb_buffer_pool_size"]
    assert float(many) < float(few)


@pytest.mark.parametrize(
    ("product", "sizes", "says"),
    [
        ("nosuch", SIZES, "no engine"),
        ("mysql:11", SIZES, "no version"),
        ("mysql:10.11", SIZES, "no mysql"),
        ("mariadb:8.0.12", SIZES, "no mariadb"),
        ("postgresql:15; rm", SIZES, "no version"),
        ("mongodb:x", SIZES, "no version"),
        ("mysql:8.0.12", {"cores": 4}, "needs to know the machine"),
    ],
)
def test_what_is_not_known_is_said(product: str, sizes: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        generate_for(product, sizes)


def test_the_command_prints_a_file_and_nothing_else() -> None:
    words = ["--generate", "mariadb:10.11", "--ram", "16G", "--cores", "8", "--disk", "nvme", "--iops", "9000"]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 0, result.output
    assert "8 cores, nvme disk" in result.output, "the machine is said as it was given"
    settings = [line for line in result.output.splitlines() if line and not line.startswith("#")]
    assert settings[0] == "[mysqld]"
    assert all(" = " in line for line in settings[1:])
    result = CliRunner().invoke(command, [*words, "--output", "json"])
    assert json.loads(result.output)["assignment"]["innodb_flush_log_at_trx_commit"] == 1


def test_a_product_and_a_target_together_are_refused() -> None:
    result = CliRunner().invoke(
        command, ["postgresql://h/", "--generate", "postgresql:15", "--ram", "1G", "--cores", "1"]
    )
    assert isinstance(result.exception, UsageError)
    assert "without a server" in str(result.exception)

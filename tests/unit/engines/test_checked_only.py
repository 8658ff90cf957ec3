"""An engine that can only be checked: all else says so, and nothing of it is taken for healthy."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dbdyno.check.contract import judge_contract, present_level
from dbdyno.check.machine import generate
from dbdyno.engines import registry
from dbdyno.engines.registry import checkables, engine_named, engines, whole
from dbdyno.model.contract import Contract
from dbdyno.model.engine import Advised, Checkable, Engine, Guarded, Inspection
from dbdyno.model.errors import PermissionRefused, UsageError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Verdict
from dbdyno.model.target import Secret, Target
from dbdyno.sandbox.targets import Resolved

FACTS = Facts([Fact(name="server.version", value=1)])
TARGET = Target(engine="least", host="h", port=1, user="u", database="")


class Least:
    name = "least"
    schemes: tuple[str, ...] = ("least", "leasts")

    def target(self, url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
        return TARGET, Secret(None)

    def connect(self, target: Target, secret: Secret) -> Inspection:
        raise NotImplementedError


LEAST: Checkable = Least()


def test_what_it_cannot_do_is_not_claimed() -> None:
    assert not isinstance(LEAST, Guarded | Advised | Engine)
    with pytest.raises(UsageError, match="can only be checked"):
        whole(LEAST)


def test_those_that_do_everything_are_whole() -> None:
    assert set(engines()) <= set(checkables())
    assert all(whole(engine) is engine for engine in engines().values())


def test_a_target_of_it_is_for_checks_and_not_for_load() -> None:
    resolved = Resolved(TARGET, Secret(None), LEAST)
    assert resolved.kind is LEAST
    with pytest.raises(UsageError, match="can only be checked"):
        _ = resolved.engine
    # Not "add --allow load", which would not help.
    with pytest.raises(UsageError, match="can only be checked"):
        resolved.require_load("load a dataset")
    with pytest.raises(PermissionRefused):
        Resolved(TARGET, Secret(None), next(iter(engines().values()))).require_load("load a dataset")


def test_its_contract_is_unknown_and_never_kept() -> None:
    assert present_level(LEAST, FACTS) == (None, ())
    assert {one.verdict for one in judge_contract(LEAST, FACTS, Contract())} == {Verdict.UNKNOWN}


def test_no_configuration_is_made_for_it() -> None:
    with pytest.raises(UsageError, match="no formula for least"):
        generate(LEAST, FACTS, {})


def test_a_private_server_of_it_is_refused_by_its_scheme_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found = registry._found()
    monkeypatch.setattr(registry, "_found", lambda: {**found, "least": (LEAST, ())})
    for word in ("least", "leasts"):
        with pytest.raises(UsageError, match="can only be checked"):
            engine_named(word)
    with pytest.raises(UsageError) as error:
        engine_named("never heard of")
    assert "least" not in error.value.todo

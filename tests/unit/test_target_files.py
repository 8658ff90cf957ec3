"""What the user may call a target."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.engines.registry import products
from dbdyno.model.errors import SandboxError, UsageError
from dbdyno.model.home import Home
from dbdyno.model.target import Permission
from dbdyno.sandbox import targets


class NoClock:
    def monotonic(self) -> float:
        raise AssertionError("nothing here takes time")

    unix = monotonic

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")


def resolve(text: str, tmp_path: Path, *allow: str, **environment: str) -> targets.Resolved:
    environment = {"USER": "anna", **environment}
    return targets.resolve(text, home=Home(tmp_path), allow=allow, environment=environment, clock=NoClock())


def test_a_url_allows_reading_only_unless_told(tmp_path: Path) -> None:
    assert resolve("postgresql://h/db", tmp_path).target.allow == frozenset()
    allowed = resolve("postgresql://h/db", tmp_path, "load", "tune").target.allow
    assert allowed == {Permission.LOAD, Permission.TUNE}


@pytest.mark.parametrize("scheme", ["mysql", "mariadb", "mariadb+rocksdb", "postgres", "postgresql"])
def test_a_server_is_called_as_its_user_calls_it(scheme: str, tmp_path: Path) -> None:
    found = resolve(f"{scheme}://u@h:1/d", tmp_path)
    assert found.target.label == f"{scheme}://u@h:1/d"


def test_every_product_that_a_sandbox_may_be_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        resolve("nonsense", tmp_path)
    for product in products(whole=True):
        assert f"sandbox:{product}" in str(refused.value)
    assert {"postgresql", "mysql", "mariadb"} <= set(products(whole=True))


def test_an_unknown_permission_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'everything'"):
        resolve("postgresql://h/db", tmp_path, "everything")


@pytest.mark.parametrize("text", ["nowhere", "nosuch://h/db", "sandbox:nosuch", "missing.toml", ""])
def test_what_names_no_server_is_refused_with_what_would(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        resolve(text, tmp_path)


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "prod.toml"
    path.write_text(text)
    return str(path)


def test_a_target_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("from file\n")
    path = write(
        tmp_path,
        'url = "postgresql://eve@h:6000/db"\nallow = ["load"]\npassword_file = "pw"\n'
        'reload_command = "systemctl reload x"\nrestart_command = "systemctl restart x"\nmachine = "ssh://h"\n',
    )
    found = resolve(path, tmp_path, "tune")
    assert found.target.allow == {Permission.LOAD, Permission.TUNE}
    assert found.target.reload_command == "systemctl reload x"
    assert found.target.restart_command == "systemctl restart x"
    assert found.target.machine == "ssh://h"
    assert found.secret.reveal() == "from file"
    assert "from file" not in repr(found)
    with found.serving() as served:
        assert served is found


def test_a_password_may_come_from_a_variable(tmp_path: Path) -> None:
    path = write(tmp_path, 'url = "postgresql://h/db"\npassword_env = "PROD_PASSWORD"\n')
    assert resolve(path, tmp_path, PROD_PASSWORD="x y").secret.reveal() == "x y"
    with pytest.raises(UsageError, match="PROD_PASSWORD"):
        resolve(path, tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("url = ", "not TOML"),
        ('allow = ["load"]', "no url"),
        ("url = 3\n", "wrong type"),
        ('url = "postgresql://h/db"\nallow = "load"\n', "wrong type"),
        ('url = "postgresql://h/db"\nallow = ["fly"]\n', "no permission"),
        ('url = "postgresql://h/db"\npassword = "x"\n', "mean nothing: password"),
        ('url = "postgresql://h/db"\npassword_env = "A"\npassword_file = "b"\n', "both"),
        ('url = "postgresql://h/db"\npassword_file = "missing"\n', "cannot be read"),
    ],
)
def test_a_bad_target_file_is_refused_with_what_is_wrong(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        resolve(write(tmp_path, text), tmp_path)


def test_a_sandbox_is_not_made_to_be_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text('url = "sandbox:postgresql?name=new"\n')
    for text in ("sandbox:postgresql?name=new", str(file)):
        with pytest.raises(SandboxError, match="no sandbox 'new'") as refused:
            targets.resolve(text, home=Home(tmp_path), environment={}, clock=NoClock(), make=False)
        assert "dyno sandbox create" in refused.value.todo
    assert [path.name for path in tmp_path.iterdir()] == ["t.toml"]

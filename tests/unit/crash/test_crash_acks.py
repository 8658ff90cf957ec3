from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.crash.acks import parse_history, read_history
from dbdyno.model.errors import RecordError

SENT = '{"e":"sent","c":1,"n":2,"k":"transfer","a":3,"b":4,"m":5,"flush":6,"event":60,"t_ns":1500000000}\n'
ACK = '{"e":"ack","c":1,"n":2,"flush":7,"event":70,"t_ns":2500000000}\n'


def test_what_the_driver_writes(tmp_path: Path) -> None:
    file = tmp_path / "acks.jsonl"
    file.write_text(SENT + ACK + SENT.replace('"n":2', '"n":3'), encoding="utf-8")
    history = read_history(file)
    acked, open_ = history[1, 2], history[1, 3]
    assert (acked.kind, acked.a, acked.b, acked.amount) == ("transfer", 3, 4, 5)
    assert (acked.sent_s, acked.acked_flush, acked.acked_s) == (1.5, 7, 2.5)
    assert open_.acked_flush is None


def test_a_cut_last_line_counts_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "acks.jsonl"
    file.write_text(SENT + ACK[:30], encoding="utf-8")
    assert read_history(file)[1, 2].acked_flush is None


@pytest.mark.parametrize("text", [ACK, SENT + "nonsense\n" + ACK, SENT.replace('"k"', '"q"')])
def test_other_damage_is_an_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "acks.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=r"damaged"):
        read_history(file)


def test_a_missing_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        read_history(tmp_path / "none")


def test_an_acknowledgement_of_nothing_is_no_history() -> None:
    with pytest.raises(KeyError):
        parse_history([{"e": "ack", "c": 1, "n": 1, "flush": 1, "event": 1, "t_ns": 1}])

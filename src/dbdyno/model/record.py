"""What every stored type has in common: frozen, keyword-only, JSON in and out, tolerant of fields of later versions."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

FORMAT_VERSION = 1
"""Version of the run and study folders. It rises when an older reader could misunderstand a newer folder."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Base of the stored types."""


R = TypeVar("R", bound=Record)

_encoder = msgspec.json.Encoder(order="deterministic")


def to_json(value: Any) -> bytes:
    """One line of JSON, without a newline."""
    return _encoder.encode(value)


def from_json(text: bytes | str, kind: type[R]) -> R:
    """Reads one record. Raises `msgspec.ValidationError` or `msgspec.DecodeError` when the text is not one."""
    return msgspec.json.decode(text, type=kind)


def to_dict(value: Record) -> dict[str, Any]:
    """Plain dicts and lists, as they stand in JSON."""
    plain: dict[str, Any] = msgspec.to_builtins(value)
    return plain

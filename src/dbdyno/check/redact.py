"""Takes passwords out of facts, before anything is judged, shown or written: no dump and no report can hold one."""

from __future__ import annotations

import re

import msgspec

from dbdyno.model.fact import Fact

HIDDEN = "***"
_NAME = re.compile(
    r"(password|passwd|passphrase|secret|requirepass|masterauth|primaryauth|_auth|[-_]pass|credentials|access_key)$",
    re.IGNORECASE,
)
"""Settings that are a secret by their name. `password_encryption` and `default_password_lifetime` are not."""
_IN_TEXT = re.compile(
    r"(?P<name>\b\w*(?:password|passwd|pwd|passphrase|secret|token|access_key|api_key)\w*\s*[=:]\s*)"
    r"(?P<value>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|[^\s;,&]+)",
    re.IGNORECASE,
)
_IN_FLAG = re.compile(r"(?P<name>--(?:password|passwd|secret|token|access-key)[= ])(?P<value>\S+)", re.IGNORECASE)
_IN_URL = re.compile(r"(?P<name>://[^:/@\s]*:)(?P<value>[^@\s]+)(?=@)")
_WORDS = frozenset({"on", "off", "true", "false", "yes", "no", ""})


def redacted(fact: Fact) -> Fact:
    """The fact; a secret in its value is replaced by asterisks, so that its being there still shows."""
    if not isinstance(fact.value, str) or not fact.value:
        return fact
    if _NAME.search(fact.name) and fact.value.lower() not in _WORDS and not fact.value.isdigit():
        return msgspec.structs.replace(fact, value=HIDDEN)
    value = without_secrets(fact.value)
    return fact if value == fact.value else msgspec.structs.replace(fact, value=value)


def without_secrets(text: str) -> str:
    """A text (a connection string, a command) with asterisks in the place of its passwords."""
    for pattern in (_IN_URL, _IN_FLAG, _IN_TEXT):
        text = pattern.sub(lambda match: match["name"] + HIDDEN, text)
    return text

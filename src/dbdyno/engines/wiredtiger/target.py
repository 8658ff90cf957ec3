"""URLs of MongoDB servers, read as its drivers read them; one server is checked, not a whole replica set.

The URL's own words come first, then the environment (`MONGODB_USER`, `MONGODB_PASSWORD`, as its exporter for Prometheus
reads them), then the defaults. A name of the form `mongodb+srv://` stands for several servers: the primary is asked.
Source: MongoDB manual, "Connection Strings" (2024); MongoDB specifications, "URI Options" (2024).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from dbdyno.model.errors import UsageError
from dbdyno.model.target import Secret, Target

ENGINE_NAME = "wiredtiger"
DEFAULT_PORT = 27017
SRV_PORT = 0
"""Port of a target whose host is a name to be looked up in DNS (SRV), which says the ports."""
DEFAULT_DATABASE = "admin"
"""Where users are looked up when the URL does not say."""
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_CARRIED = {"authsource", "authmechanism", "tls", "ssl", "tlscafile", "tlsallowinvalidcertificates",
            "tlsallowinvalidhostnames", "tlsinsecure"}  # fmt: skip
_INDIFFERENT = {
    "appname", "compressors", "connecttimeoutms", "directconnection", "heartbeatfrequencyms", "journal", "loadbalanced",
    "localthresholdms", "maxidletimems", "maxpoolsize", "maxstalenessseconds", "minpoolsize", "readconcernlevel",
    "readpreference", "readpreferencetags", "replicaset", "retryreads", "retrywrites", "serverselectiontimeoutms",
    "sockettimeoutms", "srvmaxhosts", "srvservicename", "uuidrepresentation", "w", "waitqueuetimeoutms", "wtimeoutms",
    "zlibcompressionlevel",
}  # fmt: skip
"""Words for an application, which do not change what the server says of itself."""
_MECHANISMS = ("", "default", "scram-sha-1", "scram-sha-256")
_EXAMPLE = "write it like mongodb://user@host:27017/?authSource=admin or mongodb+srv://user@cluster.example.com"


def parse(url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
    """The target that a URL names, and its password. Raises `UsageError` with what is wrong and an example."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in ("mongodb", "mongodb+srv"):
        raise UsageError("This is not a URL of a MongoDB server.", todo=_EXAMPLE)
    place, _, query = rest.partition("?")
    address, _, database = place.partition("/") if not place.startswith("%2F") else (place, "", "")
    login, _, hosts = address.rpartition("@")
    user, _, password = login.partition(":")
    if ":" in password or "@" in login:
        raise UsageError("The user or the password in the URL holds a character that has to be written as %XX.",
                         todo=_EXAMPLE)  # fmt: skip
    words = _words(query)
    host, port = _host(hosts, srv=scheme.endswith("+srv"))
    tls, tls_ca = _encryption(words, srv=scheme.endswith("+srv"))
    target = Target(
        engine=ENGINE_NAME,
        host=host,
        port=port,
        user=unquote(user) or environment.get("MONGODB_USER", ""),
        database=words.get("authsource") or unquote(database) or DEFAULT_DATABASE,
        machine="local" if host.startswith("/") or host in _LOCAL else "unknown",
        tls=tls,
        tls_ca=tls_ca,
    )
    return target, Secret(unquote(password) or environment.get("MONGODB_PASSWORD"))


def _words(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise UsageError("This is not a URL of a MongoDB server.", found="the part behind ?", todo=_EXAMPLE) from None
    words = {name.lower(): value for name, value in pairs}
    if unknown := sorted(set(words) - _CARRIED - _INDIFFERENT):
        raise UsageError(
            "The URL holds parameters that would not be used: " + ", ".join(unknown) + ".",
            todo="leave them out; used are: " + ", ".join(sorted(_CARRIED)),
        )
    if words.get("authmechanism", "").lower() not in _MECHANISMS:
        raise UsageError(
            f"authMechanism={words['authmechanism']} is not known here.",
            todo="make a user for the audit with SCRAM: db.createUser({user, pwd, roles: ['clusterMonitor']})",
        )
    return words


def _host(hosts: str, *, srv: bool) -> tuple[str, int]:
    if "," in hosts:
        raise UsageError("The URL names several hosts.", todo="name the one server that is to be checked")
    if hosts.lower().startswith("%2f"):
        return unquote(hosts), DEFAULT_PORT
    name, colon, port = hosts.rpartition(":") if not hosts.endswith("]") else (hosts, "", "")
    if not colon:
        name, port = hosts, ""
    name = name.removeprefix("[").removesuffix("]").lower() or "localhost"
    if srv and (port or "." not in name):
        raise UsageError("A mongodb+srv:// URL holds one full name and no port.", found=hosts, todo=_EXAMPLE)
    if port and not (port.isdecimal() and 1 <= int(port) <= 65535):
        raise UsageError("The port is not a number from 1 to 65535.", found=port, todo=_EXAMPLE)
    return name, SRV_PORT if srv else int(port or DEFAULT_PORT)


def _encryption(words: Mapping[str, str], *, srv: bool) -> tuple[str, str]:
    """Level and file of authorities. As the drivers have it: with `tls` the certificate and the name are checked, and
    a name looked up with SRV is encrypted unless the URL says otherwise."""
    for name in ("tls", "ssl", "tlsinsecure", "tlsallowinvalidcertificates", "tlsallowinvalidhostnames"):
        if words.get(name, "true") not in ("true", "false"):
            raise UsageError(f"{name} is neither true nor false.", found=words[name], todo=_EXAMPLE)
    implied = srv or any(name in words for name in _CARRIED if name.startswith("tls") and name != "tls")
    if words.get("tls", words.get("ssl", "true" if implied else "false")) == "false":
        return "", ""
    authorities = words.get("tlscafile", "")
    if authorities and not Path(authorities).is_file():
        raise UsageError("The file of tlsCAFile is not there.", found=authorities)
    if words.get("tlsinsecure") == "true" or words.get("tlsallowinvalidcertificates") == "true":
        return "require", ""
    return ("verify-ca" if words.get("tlsallowinvalidhostnames") == "true" else "verify-full"), authorities

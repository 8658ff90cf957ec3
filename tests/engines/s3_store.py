"""An S3-compatible store on loopback, with TLS and a certificate of its own that lasts as long as a test."""

from __future__ import annotations

import contextlib
import datetime
import ssl
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

BUCKET = "drills"


@dataclass(frozen=True)
class Store:
    url: str
    authority: Path
    """File with the certificate that signs the store's."""

    def objects(self) -> str:
        """What the store lists, in XML."""
        context = ssl.create_default_context(cafile=self.authority)
        with urllib.request.urlopen(f"{self.url}?list-type=2", context=context, timeout=30) as answer:
            return str(answer.read().decode())


@contextlib.contextmanager
def store(folder: Path) -> Iterator[Store]:
    """Runs one for the length of the block. Skips where it is not installed."""
    moto = pytest.importorskip("moto.server")
    serving = pytest.importorskip("werkzeug.serving")

    class Server(serving.ThreadedWSGIServer):  # type: ignore[misc, name-defined]
        def shutdown_request(self, request: Any) -> None:
            # An end without the word for it looks like an attack to the client.
            with contextlib.suppress(OSError, ValueError):
                request.settimeout(2.0)
                request.unwrap()
            super().shutdown_request(request)

    class Quiet(serving.WSGIRequestHandler):  # type: ignore[misc, name-defined]
        def log_request(self, *_: object) -> None:
            pass

    certificate, key = _certificate(folder)
    application = moto.DomainDispatcherApplication(moto.create_backend_app)
    server = Server("127.0.0.1", 0, application, Quiet, ssl_context=(str(certificate), str(key)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        found = Store(f"https://localhost:{server.server_port}/{BUCKET}", certificate)
        context = ssl.create_default_context(cafile=certificate)
        made = urllib.request.Request(found.url, method="PUT")
        urllib.request.urlopen(made, context=context, timeout=30).close()
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _certificate(folder: Path) -> tuple[Path, Path]:
    """For localhost, signed by itself; the key beside it."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(1)
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(secret, hashes.SHA256())
    )
    certificate, key = folder / "store.pem", folder / "store.key"
    certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    # Others have to read it: the server's user asks the store.
    certificate.chmod(0o644)
    key.write_bytes(
        secret.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return certificate, key

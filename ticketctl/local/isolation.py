"""What the emulator and the function may see, on whatever machine they run."""

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ticketctl.cli.errors import ToolError
from ticketctl.local.clients import REGION

HOST = "127.0.0.1"

# How some installations of Python find their own library.
_INHERITED = ("LD_LIBRARY_PATH",)

# Before and after now: longer than any emulator runs, or a clock is set wrong.
_CERTIFICATE_LIFE = timedelta(days=30)


@dataclass(frozen=True)
class Certificate:
    """What an emulator proves its name with, and what its callers trust."""

    path: Path
    key_path: Path


def isolated_environment(
    port: int, home: Path, certificate: Certificate | None = None
) -> dict[str, str]:
    """Return all that the emulator, and so the function, sees.

    Args:
        port: Where the emulator listens.
        home: The only directory that it writes to.
        certificate: If given, callers need TLS and the right to what they ask for.
    """
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "TMPDIR": str(home),
        # As in the cloud: UTC, UTF-8, and code that cannot be written to.
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "GATEWAY_PORT": str(port),
        "BIND_HOST": HOST,
        "MINISTACK_HOST": HOST,
        "MINISTACK_REGION": REGION,
        # Shown by the health check: how we know our emulator from another's.
        "MINISTACK_EDITION": home.name,
        # Would listen on every interface.
        "IOT_MTLS_ENABLED": "0",
        # A socket that does not exist: the emulator removes containers it thinks its.
        "DOCKER_HOST": f"unix://{home}/no-docker",
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        **(_access_control(certificate) if certificate else {}),
    }


def _access_control(certificate: Certificate) -> dict[str, str]:
    return {
        "AUTH": "true",
        # A policy that denies what comes without TLS would deny everything.
        "USE_SSL": "1",
        # Left to itself, the emulator needs a program of the machine to make one.
        "MINISTACK_SSL_CERT": str(certificate.path),
        "MINISTACK_SSL_KEY": str(certificate.key_path),
        # The function trusts the emulator, and nobody else.
        "AWS_CA_BUNDLE": str(certificate.path),
    }


def create_certificate(directory: Path) -> Certificate:
    """Create a certificate for the emulator's address, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = Certificate(directory / "server.crt", directory / "server.key")
    certificate.path.write_bytes(
        _self_signed(key).public_bytes(serialization.Encoding.PEM)
    )
    certificate.key_path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate


def _self_signed(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    address = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(HOST))])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CERTIFICATE_LIFE)
        .not_valid_after(now + _CERTIFICATE_LIFE)
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )


def create_bare_interpreter(python: Path, directory: Path) -> Path:
    """Create an environment without packages: the function brings its own.

    Args:
        python: Interpreter to be the same version as.
        directory: Where the environment is created.

    Raises:
        ToolError: There is no such interpreter, or it cannot.
    """
    if not python.exists():
        message = f"The emulator is not installed ({python}): run `make setup`."
        raise ToolError(message)
    command: list[str | Path] = [python, "-I", "-m", "venv", "--without-pip", directory]
    result = subprocess.run(  # noqa: S603 - no shell, and no argument from outside.
        command, check=False, capture_output=True, text=True
    )
    if result.returncode:
        message = f"{python} cannot create an environment: {result.stderr.strip()}"
        raise ToolError(message)
    return directory / "bin" / "python"

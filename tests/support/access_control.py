"""The local system where every call needs a right, and TLS."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ticketctl.local.emulator import HOST

# Before and after now: longer than any emulator runs, or a clock is set wrong.
CERTIFICATE_LIFE = timedelta(days=30)


def access_control(directory: Path) -> Mapping[str, str]:
    """Return the emulator's settings; its certificate goes into the directory."""
    certificate, key_file = directory / "server.crt", directory / "server.key"
    key = ec.generate_private_key(ec.SECP256R1())
    certificate.write_bytes(_self_signed(key).public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return {
        "AUTH": "true",
        # The template's policies deny every call without TLS.
        "USE_SSL": "1",
        "MINISTACK_SSL_CERT": str(certificate),
        "MINISTACK_SSL_KEY": str(key_file),
        # The function trusts the emulator alone.
        "AWS_CA_BUNDLE": str(certificate),
    }


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
        .not_valid_before(now - CERTIFICATE_LIFE)
        .not_valid_after(now + CERTIFICATE_LIFE)
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )

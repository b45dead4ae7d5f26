"""The hash chain: each ticket's hash covers the hash before it; docs/evidence.md.

Worker and audit share this definition.
"""

import hashlib
import re
import secrets
from base64 import urlsafe_b64encode
from datetime import timedelta
from json import JSONEncoder
from typing import Final

CHAIN_VERSION: Final = "v1"

SALT_BYTES: Final = 16
"""128 random bits: without them a guess of the text cannot be tested."""

CHAIN_PATTERN: Final = r"^v[0-9]+:[A-Za-z0-9_-]{1,86}$"
"""The form of every version: a later one may have up to 512 bits."""

canonical_json: Final = JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""Returns the text that a hash covers: JSON in ASCII, sorted and without blanks."""

MAX_AHEAD: Final = timedelta(days=1)
"""The next ticket follows a date that is at most this far ahead of the clock.

No two clocks differ by more than a day. A date further ahead is damaged, and would
date every later ticket.
"""


def new_salt() -> str:
    """Return a random salt of 22 characters, which only its ticket stores."""
    return secrets.token_urlsafe(SALT_BYTES)


def commitment_of(salt: str, fingerprint: str) -> str:
    """Return the commitment to a ticket's text, which reveals nothing about it."""
    return _sha256([salt, fingerprint]).hex()


def chain_of(  # noqa: PLR0913 - one parameter for each field that the hash covers.
    previous: str,
    *,
    project_id: str,
    number: int,
    idempotency_key: str,
    commitment: str,
    assigned_at: str,
) -> str:
    """Return the chain of a ticket; `previous` is that of the number before, or ""."""
    digest = urlsafe_b64encode(
        _sha256(
            [previous, project_id, number, idempotency_key, commitment, assigned_at]
        )
    )
    return f"{CHAIN_VERSION}:{digest.decode().rstrip('=')}"


def valid_chain(chain: object) -> str:
    """Return a chain of any version unchanged; "" for any other value."""
    return chain if isinstance(chain, str) and _is_chain(chain) else ""


_is_chain: Final = re.compile(CHAIN_PATTERN).fullmatch


def _sha256(covered: list[str | int]) -> bytes:
    return hashlib.sha256(canonical_json(covered).encode()).digest()

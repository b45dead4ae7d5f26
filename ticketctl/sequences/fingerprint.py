"""What the worker knows a request by: the same for the same request, however written.

`CreateTicket.fingerprint` in the worker is the same in other words; a test compares
them.
"""

import hashlib
import json
from typing import Final

from ticketctl.send.contract import Fields, significant

VERSION: Final = "v1"


def fingerprint(fields: Fields) -> str:
    """Return the versioned SHA-256 of what a valid request asks for."""
    canonical = json.dumps(
        significant(fields), sort_keys=True, separators=(",", ":")
    ).encode()
    return f"{VERSION}:{hashlib.sha256(canonical).hexdigest()}"

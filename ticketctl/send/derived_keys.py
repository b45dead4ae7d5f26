"""Idempotency keys for requests of a file that bring none.

A key is made from the file's name (or a prefix that is given for it), from what the
request asks for, and from a count: the first such line, the second, and so on.

So a second run of the same file makes the same keys, and creates nothing twice, in
whatever folder the file lies by then. Lines may be added, removed or sorted in another
order without changing the keys of the rest, as they would if the line's number were in
them: then one line more at the top would turn each later line into a key that was used
for another ticket. Lines that are alike are a ticket each, as they are in the file. And
a line that was edited asks for something else, so it is a request, and a ticket, of its
own; the ticket that its earlier wording got stays. Who wants to say "this is still the
same request" gives the key in the line.

Another file of the same name makes the same keys too, for nothing tells it from a
second run. Who has a new file every night gives each a prefix of its own, or the keys.
"""

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from ticketctl.cli.errors import InputError
from ticketctl.system.contract import Fields, without_defaults

_MAX_PREFIX: Final = 64
_DIGITS: Final = 24  # 96 bits: no two requests of a file share them by chance.
_INVISIBLE: Final = re.compile("[^!-~]")


@dataclass
class DerivedKeys:
    """Makes the keys of one file."""

    prefix: str
    """The file's name, or what is given for it."""
    _seen: Counter[bytes] = field(default_factory=Counter)

    @property
    def used(self) -> bool:
        """Whether any key was made."""
        return bool(self._seen)

    def key(self, fields: Fields) -> str:
        """Return the key of the next request that the file holds."""
        # The prefix whole: what is shown of it may be the same for another file.
        digest = hashlib.sha256(self.prefix.encode(errors="replace") + b"\0")
        digest.update(content(fields))
        self._seen[digest.digest()[:16]] += 1
        serial = self._seen[digest.digest()[:16]]
        shown = _INVISIBLE.sub("_", self.prefix[:_MAX_PREFIX])
        return f"{shown}-{digest.hexdigest()[:_DIGITS]}-{serial}"


def content(fields: Fields) -> bytes:
    """Return what a request asks for, the same bytes for the same however written."""
    return json.dumps(without_defaults(fields), sort_keys=True).encode()


def checked_prefix(prefix: str) -> str:
    """Return a prefix that a person gave.

    Raises:
        InputError: It cannot be the start of a key.
    """
    if not prefix or len(prefix) > _MAX_PREFIX or _INVISIBLE.search(prefix):
        message = f"--key-prefix: give 1 to {_MAX_PREFIX} visible ASCII characters"
        raise InputError(message)
    return prefix

"""Idempotency keys for the lines of a file that bring none."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ticket_numbering.contract.messages import CONTENT_DEFAULTS
from ticketctl.aws.request_fields import Fields
from ticketctl.cli.errors import InputError
from ticketctl.files.lines import STANDARD_INPUT

_MAX_PREFIX: Final = 64
_DIGITS: Final = 24  # 96 bits: no two requests of a file share them by chance.
_INVISIBLE: Final = re.compile("[^!-~]")


@dataclass
class DerivedKeys:
    """Makes idempotency keys for the requests of a file that have none.

    A key is made from the file's name (or a given prefix), the request's content, and
    a count of equal lines. So a second run of the file makes the same keys, in any
    folder, and with lines added, removed or sorted; an edited line asks for another
    ticket. Another file of the same name makes the same keys too, for nothing tells it
    from a second run: each needs a prefix of its own, or keys in its lines.
    """

    prefix: str
    """The file's name, or the given prefix."""
    are_used: bool = False
    """Whether a request needed one."""

    def key(self, fields: Fields, count: Callable[[str], int]) -> str:
        """Return the key of the next request; `count` counts requests by digest."""
        self.are_used = True
        asked = {
            name: value
            for name, value in fields.items()
            if value is not None and value != CONTENT_DEFAULTS.get(name, ...)
        }
        asked.pop("max_number", None)  # With another cap it is the same request.
        content = json.dumps(asked, sort_keys=True).encode()
        # The whole prefix: its visible part may be that of another file, too.
        prefix = self.prefix.encode(errors="replace")
        digest = hashlib.sha256(prefix + b"\0" + content).hexdigest()[:_DIGITS]
        shown = _INVISIBLE.sub("_", self.prefix[:_MAX_PREFIX])
        return f"{shown}-{digest}-{count(digest)}"


def keys_of(file: str, prefix: str | None) -> DerivedKeys | None:
    """Return the maker of a file's keys; standard input and pipes need a prefix.

    Raises:
        InputError: The prefix cannot be the start of a key.
    """
    if prefix is None:
        path = Path(file).absolute()
        if path.parts[1:2] in {("dev",), ("proc",)}:
            path = path.resolve()  # Of a file that is open, its name.
        # The next pipe has the same name.
        is_unnamed = file == STANDARD_INPUT or not path.is_file()
        return None if is_unnamed else DerivedKeys(path.name)
    if not prefix or len(prefix) > _MAX_PREFIX or _INVISIBLE.search(prefix):
        raise InputError(
            f"--key-prefix: give 1 to {_MAX_PREFIX} visible ASCII characters"
        )
    return DerivedKeys(prefix)

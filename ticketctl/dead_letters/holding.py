"""Holds letters of the dead-letter queue while somebody looks at them or works on them.

SQS shows a message only by receiving it, which hides it from everybody else. Here it
is hidden for a minute, and for another one again and again while the work goes on,
also while an editor is open: so nobody else can send it back meanwhile. Whatever ends
the work makes it visible again at once, a signal to end or hang up too; after SIGKILL,
others wait that minute at most.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ticketctl.cli.output import notes
from ticketctl.cli.signals import signals_put_off
from ticketctl.dead_letters.hold import HOLD_SECONDS, Hold

RENEW_SECONDS: Final = 20
"""Twice a renewal may fail before a letter is visible to others."""


@contextmanager
def holding(
    sqs: Any, queue_url: str, renew_seconds: float = RENEW_SECONDS
) -> Iterator[Hold]:
    """Hold letters until the end of the block, however it ends."""
    held = Hold(sqs, queue_url)
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(renew_seconds):
            held.renew()

    heart = threading.Thread(target=keep, daemon=True)
    heart.start()
    try:
        yield held
    finally:
        with signals_put_off():
            ended.set()
            heart.join()
            _close(held)


def _close(held: Hold) -> None:
    if left := held.close():
        notes().print(f"{left} letters stay hidden for up to {HOLD_SECONDS} s")

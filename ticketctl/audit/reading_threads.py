"""Reads parts in threads that stop together."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from ticketctl.audit.read_meter import ReadMeter

Part = TypeVar("Part")


def side_by_side(
    meter: ReadMeter,
    parts: Sequence[Part],
    read: Callable[[Part], None],
    threads: int,
) -> None:
    """Read all parts; where one fails, or on Ctrl-C, no other begins a request."""
    with ThreadPoolExecutor(threads) as pool:
        try:
            reading = [pool.submit(read, part) for part in parts]
            for each in wait(reading, return_when=FIRST_EXCEPTION).done:
                each.result()
        except BaseException:
            meter.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise

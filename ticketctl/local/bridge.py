"""Lets the function's container reach the emulator, which listens on loopback only.

On Linux a container sees this machine as the gateway of the engine's bridge; a
listener on that one address passes connections on.
Where the engine runs in a machine of its own, as on macOS and Windows, it passes
connections to loopback on by itself.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import AF_INET

import psutil

from ticketctl.local.isolation import HOST

_BRIDGE = "docker0"  # Docker's default, which the SAM CLI's containers are on.
_CHUNK = 65_536


def gateway() -> str | None:
    """Return the address that containers see this machine as, if there is one."""
    addresses = psutil.net_if_addrs().get(_BRIDGE, [])
    return next((each.address for each in addresses if each.family == AF_INET), None)


@contextmanager
def bridge(port: int) -> Iterator[None]:
    """Pass connections from containers on to the port, within the block."""
    address = gateway()
    if address is None:
        yield
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        listen = asyncio.run_coroutine_threadsafe(_listen(address, port), loop)
        server = listen.result()
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(_close(server), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(address: str, port: int) -> asyncio.Server:
    async def pass_on(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        there, back = await asyncio.open_connection(HOST, port)
        await asyncio.gather(_pipe(reader, back), _pipe(there, writer))

    return await asyncio.start_server(pass_on, address, port)


async def _close(server: asyncio.Server) -> None:
    server.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        with suppress(ConnectionError):
            while chunk := await source.read(_CHUNK):
                target.write(chunk)
                await target.drain()
    finally:
        target.close()

"""Lets the function's container reach the emulator, which listens only on loopback.

On Linux a container sees this machine as the gateway of the engine's bridge; a
listener on that one address passes connections on.
Where the engine runs in a machine of its own, as on macOS and Windows, it passes
connections to loopback on by itself.
"""

import platform
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

import psutil

from ticketctl.local.emulator import HOST

_BRIDGE: Final = "docker0"  # Docker's default, which the SAM CLI's containers are on.
_CHUNK: Final = 65_536


def gateway() -> str | None:
    """Return the address of this machine for containers, if there is one."""
    addresses = psutil.net_if_addrs().get(_BRIDGE, [])
    own_addresses = (own.address for own in addresses if own.family == socket.AF_INET)
    return next(own_addresses, None)


def has_bridge() -> bool:
    """Return whether containers can reach this machine, as always outside Linux."""
    return gateway() is not None or platform.system() != "Linux"


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


class _PassOn(socketserver.BaseRequestHandler):
    """Forwards a connection to the server's port on loopback."""

    def handle(self) -> None:
        _, port, *_ = self.request.getsockname()
        with socket.create_connection((HOST, port)) as there:
            threading.Thread(
                target=_copy, args=(there, self.request), daemon=True
            ).start()
            _copy(self.request, there)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):  # The other side has hung up.
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def bridge(port: int) -> Iterator[None]:
    """Forward connections of containers to the port, during the block."""
    with ExitStack() as exits:
        if address := gateway():
            server = exits.enter_context(_Server((address, port), _PassOn))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            exits.callback(server.shutdown)
        yield

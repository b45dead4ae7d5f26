"""Runs the emulator in its own environment; `ticketctl.local.emulator` starts it.

It adds three features that the emulator lacks:

- the function runs on an interpreter without packages. The emulator starts the
  function on `sys.executable`, whose packages would stand in for missing ones;
- nothing outlives the starter, however it ends. The pipe on standard input closes
  with the process at its other end: no signal handler and no clean-up code
  of the starter has to run;
- the function's code is unpacked once. The emulator unpacks it for every execution
  environment, which takes longer than the rest of a cold start.
"""

import asyncio
import os
import shutil
import signal
import sys
import threading
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any


def main(function_python: str, home: str, listener: str) -> None:
    """Run the emulator until the pipe on standard input closes, then remove its home.

    The listener is the number of the open socket to listen on.
    """
    threading.Thread(target=_end_with_starter, args=(home,), daemon=True).start()
    sys.executable = function_python
    _unpack_once(Path(home, "unpacked"))
    # Not installed where this file is checked.
    app: Any = import_module("ministack.app").app
    config = import_module("hypercorn.config").Config.from_object(
        "ministack.core.hypercorn_conf"  # TLS, if the environment asks for it.
    )
    config.bind = [f"fd://{listener}"]
    config.keep_alive_timeout = 75  # Seconds, as the emulator's own command has it.
    asyncio.run(import_module("hypercorn.asyncio").serve(app, config))


def _unpack_once(directory: Path) -> None:
    """Let archives with the same content share a directory that is never written to."""
    unpack, lock = zipfile.ZipFile.extractall, threading.Lock()

    def link(archive: zipfile.ZipFile, path: str) -> None:
        content = hash(tuple((file.filename, file.CRC) for file in archive.infolist()))
        shared = directory / f"{content:x}"
        with lock:
            if not shared.exists():
                # A rename is atomic, so a partial copy on a full disk is not used.
                unpack(archive, shared.with_suffix(".part"))
                shared.with_suffix(".part").rename(shared)
        Path(path).rmdir()
        Path(path).symlink_to(shared)

    setattr(zipfile.ZipFile, "extractall", link)  # noqa: B010 - mypy knows the method.


def _end_with_starter(home: str) -> None:
    # `sys.stdin` would hold a lock that an ending interpreter waits for.
    while os.read(0, 1):
        pass
    shutil.rmtree(home, ignore_errors=True)
    # The group is this process and the function's: `ticketctl.local.emulator` made it.
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])

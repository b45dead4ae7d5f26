"""Runs the emulator in its own environment; `ticketctl.local.emulator` starts it.

Three things the emulator does not offer are added around it:

- the function runs on an interpreter without packages. The emulator starts the
  function on `sys.executable`, whose packages would stand in for missing ones;
- nothing outlives the starter, however it ends. The pipe on standard input closes
  with the process that holds its other end: no signal handler and no clean-up code
  of the starter has to run;
- it listens on its own port alone. With TLS it would take port 443 too, where that
  is free and permitted.
"""

import importlib
import os
import runpy
import shutil
import signal
import sys
import threading
from typing import Any


def main(function_python: str, home: str) -> None:
    """Run the emulator until the pipe on standard input closes.

    Args:
        function_python: Interpreter that the function runs on.
        home: Directory to remove at the end.
    """
    threading.Thread(target=_end_with_starter, args=(home,), daemon=True).start()
    sys.executable = function_python
    sys.argv = ["ministack"]
    if "USE_SSL" in os.environ:
        _leave_port_443_alone()
    runpy.run_module("ministack", run_name="__main__", alter_sys=True)


def _leave_port_443_alone() -> None:
    emulator: Any = importlib.import_module("ministack.app")
    # There is no setting; it asks this about that port only.
    emulator._port_is_bindable = lambda *_: False  # noqa: SLF001


def _end_with_starter(home: str) -> None:
    # `sys.stdin` would hold a lock that an ending interpreter waits for.
    while os.read(0, 1):
        pass
    shutil.rmtree(home, ignore_errors=True)
    # The group is this process and the function's: `ticketctl.local.emulator` made it.
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])

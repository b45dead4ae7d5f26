"""Imports every module of the wheel, where it is installed: `make wheel`."""

from importlib import import_module
from pkgutil import walk_packages

import ticket_numbering
import ticketctl

if __name__ == "__main__":
    for package in (ticket_numbering, ticketctl):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)

"""Where the reader of a message finds the pages of the documentation."""

from functools import cache
from pathlib import Path
from typing import Final

from ticketctl import __version__

_PACKAGE: Final = Path(__file__).parents[1]


@cache
def docs(package: Path = _PACKAGE) -> str:
    """Return where the pages are: beside the package in a checkout, else on the host.

    A wheel that was built without a host has no address; they keep their names.
    """
    from importlib.metadata import distributions  # Takes longer than `--version`.

    if not (package.parent / "docs/evidence.md").is_file():
        for wheel in distributions(name="ticket-numbering"):
            for url in wheel.metadata.get_all("Project-URL") or ():
                name, _, address = url.partition(", ")
                if name == "Source":
                    return f"{address}/blob/v{__version__}/docs/"
    return "docs/"

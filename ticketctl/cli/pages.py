"""The address of the documentation, for messages."""

from functools import cache
from pathlib import Path

from ticketctl import __version__


@cache
def docs() -> str:
    """Return the address of the pages: a path in a checkout, else a URL.

    A wheel that was built without a host has no URL; then the path stands alone.
    """
    from importlib.metadata import distributions  # Takes longer than `--version`.

    if not (Path(__file__).parents[2] / "docs/evidence.md").is_file():
        for wheel in distributions(name="ticket-numbering"):
            for url in wheel.metadata.get_all("Project-URL") or ():
                name, _, address = url.partition(", ")
                if name == "Source":
                    return f"{address}/blob/v{__version__}/docs/"
    return "docs/"

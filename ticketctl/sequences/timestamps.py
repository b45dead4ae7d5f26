"""Times as the worker writes them."""

from datetime import UTC, datetime


def timestamp(time: datetime | None = None) -> str:
    """Return a time in UTC, with milliseconds; now if none is given."""
    utc = (time or datetime.now(UTC)).astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")

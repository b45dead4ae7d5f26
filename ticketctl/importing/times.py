"""Reads the times at which another system gave its numbers."""

import re
from datetime import UTC, datetime
from typing import Any, Final

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.field_types import timestamp
from ticketctl.cli.errors import InputError
from ticketctl.files.csv_columns import quoted

_JAVASCRIPT: Final = re.compile(r"[A-Z][a-z]{2} (.* GMT[+-]\d{4})(?: \(.*\))?")
"""`Date.toString` of ECMAScript, 21.4.4.41.2; what is in brackets is only a name."""
_JAVASCRIPT_FORM: Final = "%b %d %Y %H:%M:%S GMT%z"

_ISO: Final = "such as 2026-01-15T09:30:00Z; --date-format reads other forms"
_SAMPLE: Final = datetime(2026, 11, 22, 21, 15, tzinfo=UTC)
_DIRECTIVE: Final = re.compile("%(.)", re.DOTALL)


def check_form(form: str) -> None:
    """Refuse a form of which `strptime` makes wrong times, or none.

    Raises:
        InputError: It is one.
    """
    names, problem = {*_DIRECTIVE.findall(form)}, ""
    if "Z" in names:
        problem = (
            "%Z tells no offset: write UTC or GMT as it stands in the file, or use %z "
            "for +0100"
        )
    # Beside %H no %p is heeded, and %I alone is always of the morning.
    elif ("p" in names) != ("I" in names):
        problem = "%p belongs to %I, the hours of a half day; %H has those of a day"
    else:
        try:
            if _moment(_SAMPLE.strftime(form), form).date() != _SAMPLE.date():
                problem = "give year, month and day, such as %Y-%m-%d"
        except ValueError as error:
            problem = str(error)
    if problem:
        raise InputError(f"--date-format: {problem}")


def time_of(value: Any, form: str | None) -> str:
    """Return a time as the worker writes it; of UTC if it has no offset.

    Without a form, which is as `strptime` knows it, it is ISO 8601's or JavaScript's.

    Raises:
        InvalidMessageError: It has another form.
    """
    try:
        return timestamp(_moment(value, form))
    except (AttributeError, TypeError, ValueError, OverflowError):
        shown = f"of the form {form}" if form else _ISO
        why = f"assigned_at: {quoted(value)} is no time {shown}"
        raise InvalidMessageError(why) from None


def _moment(value: Any, form: str | None) -> datetime:
    if not form and (found := _JAVASCRIPT.fullmatch(value)):
        value, form = found[1], _JAVASCRIPT_FORM
    if form:
        time = datetime.strptime(value, form)  # noqa: DTZ007 - just below.
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    time = datetime.fromisoformat(value.upper())
    if not time.tzinfo:
        raise ValueError(value)
    return time

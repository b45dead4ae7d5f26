"""Reads the dates of another system's tickets."""

import re
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.field_types import timestamp
from ticketctl.cli.errors import InputError
from ticketctl.files.lines import quoted

_JAVASCRIPT: Final = re.compile(r"[A-Z][a-z]{2} (.* GMT[+-]\d{4})(?: \(.*\))?")
"""`Date.toString` of ECMAScript, 21.4.4.41.2; the brackets have the zone's name."""
_JAVASCRIPT_FORM: Final = "%b %d %Y %H:%M:%S GMT%z"

_ISO: Final = "such as 2026-01-15T09:30:00Z; --date-format reads other forms"
_SAMPLE: Final = datetime(2026, 11, 22, 21, 15, tzinfo=UTC)
_DIRECTIVE: Final = re.compile("%(.)", re.DOTALL)


def check_form(form: str) -> None:
    """Reject a form that `strptime` reads wrongly or not at all.

    Raises:
        InputError: The form is one of these.
    """
    names, problem = {*_DIRECTIVE.findall(form)}, ""
    if "Z" in names:
        problem = (
            "%Z tells no offset: write UTC or GMT as it stands in the file, or use %z "
            "for +0100"
        )
    # strptime ignores %p beside %H, and reads %I alone as an hour of the morning.
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


def zone_of(name: str) -> ZoneInfo:
    """Return a zone by its name in the IANA database.

    Raises:
        InputError: The zone is unknown on this machine.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        remedy = "give a name such as Europe/Berlin"
        raise InputError(f"--time-zone: unknown: {quoted(name)}; {remedy}") from error


class Time(NamedTuple):
    """A time in the worker's form, and the assumptions of its reading."""

    text: str
    is_local: bool = False
    """Whether it had no zone."""
    is_ambiguous: bool = False
    """Whether its zone has it twice, because clocks went back; the first counts."""


def time_of(value: Any, form: str | None, zone: tzinfo | None) -> Time:
    """Return a time; without a form it is read as ISO 8601 or JavaScript's form.

    Raises:
        InvalidMessageError: It has another form, or no zone and no default is given.
    """
    try:
        moment = _moment(value, form)
        if moment.tzinfo:
            return Time(timestamp(moment))
        if zone:
            first, second = (moment.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
            is_twice = first.utcoffset() > second.utcoffset()  # type: ignore[operator]
            return Time(timestamp(first), is_local=True, is_ambiguous=is_twice)
    except (AttributeError, TypeError, ValueError, OverflowError):
        shown = f"of the form {form}" if form else _ISO
        why = f"assigned_at: {quoted(value)} is no time {shown}"
        raise InvalidMessageError(why) from None
    raise InvalidMessageError(
        f"assigned_at: {quoted(value)} names no zone; say which one it is in, such as "
        "--time-zone Europe/Berlin"
    )


def _moment(value: Any, form: str | None) -> datetime:
    if not form and (match := _JAVASCRIPT.fullmatch(value)):
        value, form = match[1], _JAVASCRIPT_FORM
    if form:
        return datetime.strptime(value, form)  # noqa: DTZ007 - a zone comes later.
    return datetime.fromisoformat(value.upper())

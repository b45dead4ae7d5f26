"""Reads the times at which another system gave its numbers."""

import re
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Times:
    """The form of a file's times.

    Raises:
        InputError: `strptime` makes wrong times of it, or none.
    """

    form: str | None = None
    """As `strptime` knows it; ISO 8601 or JavaScript's if None."""

    def __post_init__(self) -> None:
        """Refuse a form whose times would be wrong."""
        if self.form and (problem := self._problem_of(self.form)):
            raise InputError(f"--date-format: {problem}")

    def _problem_of(self, form: str) -> str | None:
        names = {*_DIRECTIVE.findall(form)}
        if "Z" in names:
            return (
                "%Z tells no offset: write UTC or GMT as it stands in the file, or "
                "use %z for +0100"
            )
        # Beside %H no %p is heeded, and %I alone is always of the morning.
        if ("p" in names) != ("I" in names):
            return "%p belongs to %I, the hours of a half day; %H has those of a day"
        try:
            is_dated = self._moment(_SAMPLE.strftime(form)).date() == _SAMPLE.date()
        except ValueError as error:
            return str(error)
        return None if is_dated else "give year, month and day, such as %Y-%m-%d"

    def read(self, value: Any) -> str:
        """Return a time as the worker writes it; of UTC if it has no offset.

        Raises:
            InvalidMessageError: It has another form.
        """
        try:
            return timestamp(self._moment(value))
        except (AttributeError, TypeError, ValueError, OverflowError):
            form = f"of the form {self.form}" if self.form else _ISO
            why = f"assigned_at: {quoted(value)} is no time {form}"
            raise InvalidMessageError(why) from None

    def _moment(self, value: Any) -> datetime:
        form = self.form
        if not form and (found := _JAVASCRIPT.fullmatch(value)):
            value, form = found[1], _JAVASCRIPT_FORM
        if form:
            time = datetime.strptime(value, form)  # noqa: DTZ007 - just below.
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        time = datetime.fromisoformat(value.upper())
        if not time.tzinfo:
            raise ValueError(value)
        return time

"""The head of a sequence: the last item's attributes that the next one depends on."""

from dataclasses import dataclass
from datetime import datetime

from ticket_numbering.contract.chain import MAX_AHEAD
from ticket_numbering.contract.field_types import moment_of, timestamp


@dataclass(frozen=True, slots=True)
class Head:
    """The last item of a sequence, seen committed.

    Only its number decides the next number.
    """

    number: int = 0
    """0 if the sequence has no item."""
    assigned_at: str | None = None
    """None if there is no item, or it is external: then there is no date to follow."""
    chain: str = ""
    """The hash that the next ticket's hash covers; "" if the item has none."""

    @property
    def next_number(self) -> int:
        """The number after it."""
        return self.number + 1

    def date_after(self, now: datetime) -> str:
        """Return the next ticket's date: now, or this date if it is later.

        Dates run backwards only if two clocks differ by more than a day.
        """
        own = timestamp(now)
        return max(own, self.assigned_at or own) if self.can_be_followed(now) else own

    def can_be_followed(self, now: datetime) -> bool:
        """Tell whether the next ticket can have this date, if there is one.

        Another program may have written any text in its place.
        """
        if self.assigned_at is None:
            return True
        moment = moment_of(self.assigned_at)
        return moment is not None and moment - now <= MAX_AHEAD

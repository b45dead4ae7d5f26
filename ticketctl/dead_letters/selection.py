"""Selects dead letters by id, project or reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ticketctl.aws.stack import StackAccess
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.cli.output import print_note
from ticketctl.dead_letters import REASONS
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.dead_letter_queue import dead_letter_queue


@dataclass(frozen=True)
class Selection:
    """A command's selection of dead letters."""

    ids: Sequence[str] = ()
    """Message ids, or the start of each."""
    project_id: str | None = None
    reason: str | None = None
    everything: bool = False
    idempotency_key: str | None = None

    def __post_init__(self) -> None:
        """Reject a reason that no dead letter can have.

        Raises:
            InputError: The reason is unknown: an empty list would hide a typo.
        """
        known = {None, *map(_word, REASONS)}
        if (self.reason and _word(self.reason)) not in known:
            reasons = ", ".join(REASONS)
            raise InputError(f"no reason: {self.reason!r}; there are {reasons}")

    def checked(self) -> "Selection":
        """Return the selection; reject an ambiguous or an empty one."""
        is_filtered = self.project_id is not None or self.reason is not None
        if bool(self.ids) + is_filtered + self.everything != 1:
            raise InputError("name ids, or give --project or --reason, or --all")
        return self

    def passes(self, dead_letter: DeadLetter) -> bool:
        """Return whether a dead letter has the project, the key and the reason."""
        return (
            self.project_id in {None, dead_letter.project_id}
            and self.idempotency_key in {None, dead_letter.idempotency_key}
            and (self.reason is None or _word(self.reason) == _word(dead_letter.reason))
        )


def select(
    stack: StackAccess, selection: Selection, limit: int | None = None
) -> list[DeadLetter]:
    """Return the selected dead letters, at most among the first `limit`.

    Raises:
        NotThereError: No dead letter has one of the ids.
        InputError: Several have one of the ids.
    """
    with dead_letter_queue(stack) as queue:
        dead_letters = list(islice(queue.receive(), limit))
    total = queue.visible + queue.hidden
    if len(dead_letters) < min(total, limit or total):
        print_note(
            f"looked at {queue.seen_of(len(dead_letters))}; run it again for more"
        )
    if not selection.ids:
        return list(filter(selection.passes, dead_letters))
    named: dict[str, DeadLetter] = {}
    for start in map(str.lower, selection.ids):
        own = [
            dead_letter
            for dead_letter in dead_letters
            if dead_letter.message_id.startswith(start)
        ]
        if not own:
            seen = queue.seen_of(len(dead_letters))
            raise NotThereError(f"no dead letter {start} in {seen}")
        if len(own) > 1 or not start:
            raise InputError(f"no single dead letter begins with {start!r}")
        named[own[0].message_id] = own[0]
    return [*named.values()]


def _word(reason: str) -> str:
    """Normalize a reason, which may be written as received-too-often."""
    return reason.replace("-", " ").casefold()

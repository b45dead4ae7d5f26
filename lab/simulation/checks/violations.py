"""The checks of a history: each of them is shown to fail by a test."""

from enum import Enum, auto
from typing import NoReturn


class Invariant(Enum):
    """The invariants of a history; a test names the first breaker of each."""

    # Numbers.
    ATTEMPT = auto()  # A worker tries after its own head only: the proof's invariant.
    ORDER = auto()
    GIVEN_TWICE = auto()
    DELETED = auto()
    SECOND_NUMBER = auto()
    UNREQUESTED = auto()
    CONTENT = auto()
    CAP = auto()
    OVERTAKEN = auto()
    RECORD_OVERWRITTEN = auto()
    TABLES_APART = auto()
    TABLES_AT_END = auto()
    # The chain.
    CHAIN = auto()
    DATE = auto()
    RECORD_CHAIN = auto()
    ANNOUNCED_CHAIN = auto()
    # Announcements, and the fates of messages.
    ANNOUNCED_EARLY = auto()
    ANNOUNCED_CONTENT = auto()
    REPEAT_CONTENT = auto()
    DELETED_EARLY = auto()
    QUEUE_AT_END = auto()
    LOST = auto()
    VALID_DEAD_LETTER = auto()
    DEAD_LETTER_WITHOUT_REASON = auto()
    # Refusals.
    REFUSAL_REASON = auto()
    REFUSAL_CODE = auto()
    REFUSED_BELOW_CAP = auto()
    REFUSED_AND_NUMBERED = auto()
    DEAD_LETTER_BEFORE_EVENT = auto()
    POISON_BEFORE_NUMBERS = auto()
    # Neighbours and costs.
    HANDLER_RAISED = auto()
    WAITED_FOR_NEIGHBOUR = auto()
    WAITED_FOR_BACKOFF = auto()
    ATTEMPTS = auto()
    WRITE_UNITS = auto()
    # Operators.
    TICKET_OVERWRITTEN = auto()
    RESERVED_TWICE = auto()
    SEED_REPORT = auto()
    SEED_LEFT_OPEN = auto()
    BELOW_SEED = auto()
    IMPORT_IN_OPEN_GAP = auto()
    IMPORT_BEYOND_SEED = auto()
    IMPORT_NOT_THERE = auto()
    OPERATOR_STUCK = auto()
    MARKED_WITHOUT_TICKET = auto()
    MARK_CHANGED = auto()
    ERASED_TEXT = auto()
    ERASED_RECORD = auto()
    RESTORE_FINDING = auto()
    RESTORE_SILENT = auto()  # A line is neither back nor refused.
    RESTORE_UNVOUCHED = auto()  # A hash is restored or lost against the proof.
    RESTORE_NOT_BLOCKED = auto()  # A slow worker can go on inside a finished seed.
    RESTORE_FOREIGN = auto()
    RESTORE_TOOK_FILE = auto()
    RESTORE_UNMARKED = auto()
    RESTORE_REFUSED = auto()  # A line that could be restored is not.


class Violation(BaseException):
    """A promise was broken; no worker may catch it."""

    def __init__(self, check: Invariant, detail: str) -> None:
        super().__init__(check, detail)
        self.check = check

    def __str__(self) -> str:
        """Return the violation as text."""
        return str(self.args[1])


def broken(check: Invariant, detail: str) -> NoReturn:
    """End the history."""
    raise Violation(check, detail)

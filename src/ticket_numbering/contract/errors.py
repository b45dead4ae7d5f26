"""The error tree: its branches say whether a retry can help.

TicketNumberingError
+-- PoisonMessageError              it never can: to the dead-letter queue
|   +-- InvalidMessageError         not JSON, or not a valid CreateTicket
|   +-- IdempotencyMismatchError    key already used for a different ticket
|   +-- TicketTooLargeError         no item or message can hold it
+-- SequenceFullError               the sequence has reached the request's max_number
+-- TransientError                  it can: back to the queue
    +-- SequenceContentionError     others kept taking or holding the next number
    +-- StoreUnavailableError       DynamoDB throttled, failed or did not answer
    |   +-- StoreThrottledError     DynamoDB takes no more requests for the moment
    +-- StoreRefusedError           a right, a table or an encryption key is missing
    +-- DamagedKeyRecordError       the record of the idempotency key is malformed
    +-- DamagedSequenceError        the project's highest sort key is no ticket number
    +-- AnnouncementError           SNS did not take the announcement
    +-- DeadLetterError             SQS did not take the dead letter
    +-- NotAttemptedError           nothing was tried in this invocation
"""

from typing import Final

from ticket_numbering.contract.reasons import Reason


class TicketNumberingError(Exception):
    """Base of every failure that the worker expects."""


class PoisonMessageError(TicketNumberingError):
    """The message can never succeed, however often it is tried.

    Args:
        message: The field and the fault, for the dead letter; it may repeat names that
            the producer chose.
        field: A field of the contract, or `body`, for the log, which repeats no such
            name.
        reason: The fault as a code, unless the class has one.
    """

    reason: Reason = Reason.PATTERN
    key: tuple[str, str] | None = None
    """The project and idempotency key of a body, if they can be read.

    The parser sets it, because to parse the body again could take as long.
    """

    def __init__(
        self, message: str, field: str = "body", reason: Reason | None = None
    ) -> None:
        super().__init__(message)
        self.field = field
        if reason is not None:
            self.reason = reason


class InvalidMessageError(PoisonMessageError):
    """The body is not JSON, or not a valid CreateTicket."""


class IdempotencyMismatchError(PoisonMessageError):
    """The idempotency key was used before, for a different ticket."""

    reason = Reason.KEY_REUSED


class TicketTooLargeError(PoisonMessageError):
    """The message or the ticket exceeds a size that the system can hold."""

    reason = Reason.TOO_LARGE


class SequenceFullError(TicketNumberingError):
    """The project's numbers have reached the request's `max_number`; a final answer."""

    field: Final = "max_number"
    reason: Final = Reason.CAP_REACHED


class TransientError(TicketNumberingError):
    """Nothing was lost; deliver the message again."""


class SequenceContentionError(TransientError):
    """Others kept taking or holding the project's next number."""


class StoreUnavailableError(TransientError):
    """DynamoDB throttled, failed or did not answer."""


class StoreThrottledError(StoreUnavailableError):
    """A partition, a table or the account takes no more requests for the moment."""


class StoreRefusedError(TransientError):
    """AWS rejects the request until an operator restores a right or a resource."""


class DamagedKeyRecordError(TransientError):
    """The record of the idempotency key is malformed; an operator must fix it."""


class DamagedSequenceError(TransientError):
    """The project's highest sort key is no ticket number; an operator must fix it."""


class AnnouncementError(TransientError):
    """SNS did not take the announcement of a committed number, or of a refusal."""


class DeadLetterError(TransientError):
    """SQS did not take the dead letter; the redrive policy will move the message."""


class NotAttemptedError(TransientError):
    """The request was not tried in this invocation."""

"""The cure of each error that the worker logs, with its section of the pages."""

from typing import Final, NamedTuple

CRASH: Final = "crash"
"""A line of Lambda's about a crash, a timeout or a failed start."""

OTHERS: Final = "others"


class Cure(NamedTuple):
    """The operator's cure of an error."""

    text: str
    section: str = ""
    """A section of the on-call page, or of another page that it names."""


CURES: Final = {
    "StoreThrottledError": Cure(
        "A project's partition, a table or the account is at its limit: wait.",
        "scaling.md",
    ),
    "SequenceContentionError": Cure(
        "More workers write to one project than it can use: choose other settings, "
        "such as `MaximumConcurrency=2`.",
        "scaling.md#settings-for-a-hot-project",
    ),
    "StoreUnavailableError": Cure("DynamoDB fails or does not answer: wait."),
    "StoreRefusedError": Cure(
        "DynamoDB rejects the call that it names, until a person acts.",
        "operations.md#aws-rejects-a-call",
    ),
    "AnnouncementError": Cure(
        "`NotFound`, `AuthorizationError`, `KMS…`: SNS rejects the call, until a "
        "person acts. Throttled: lower `MaximumConcurrency` until the quota of the "
        "account's messages a second is raised. Else SNS fails: wait.",
        "operations.md#aws-rejects-a-call",
    ),
    "DeadLetterError": Cure(
        "SQS fails: wait. Or it rejects the call.", "operations.md#aws-rejects-a-call"
    ),
    "DamagedKeyRecordError": Cure(
        "The key's item, which it names, was changed: `ticketctl stop`; `aws dynamodb "
        'delete-item --table-name "$IDEMPOTENCY_KEYS_TABLE_NAME" --key \'{"id": {"S": '
        '"PROJ#order-7"}}\'`; `ticketctl export --project PROJ --save saved.jsonl`; '
        "`ticketctl restore saved.jsonl`, which makes it again from its ticket, if "
        "there is one; `ticketctl start`. Its message comes back by itself; if it is a "
        "dead letter by then, redrive it."
    ),
    "DamagedSequenceError": Cure(
        "Another program put an item with an impossible number at the top of the "
        "project that it names: `aws dynamodb delete-item --table-name "
        '"$TICKETS_TABLE_NAME" --key \'{"project_id": {"S": "PROJ"}, "number": '
        '{"N": "1.5"}}\'`. Its messages come back by themselves.'
    ),
    "NotAttemptedError": Cure(
        "The time ran out, or an earlier message of the FIFO group failed: see the "
        "other errors."
    ),
    "InvalidMessageError": Cure(
        "No valid request: its producer corrects it.",
        "operations.md#correct-a-dead-letter",
    ),
    "TicketTooLargeError": Cure(
        "Larger than a ticket can be: its producer shortens it.",
        "operations.md#correct-a-dead-letter",
    ),
    "IdempotencyMismatchError": Cure(
        "The key belongs to a different ticket: if both are wanted, another key.",
        "operations.md#correct-a-dead-letter",
    ),
    CRASH: Cure(
        "After a deployment roll back; else stop the worker, and undo the change.",
        "on-call.md#workererrorsalarm-canaryerrorsalarm",
    ),
    OTHERS: Cure("A bug: the line has the stack trace."),
}

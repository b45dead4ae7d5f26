"""Which metrics tell how a stack is doing; the dashboard draws the same."""

from typing import Final

from ticketctl.status.metric_series import Metric
from ticketctl.system.stack import Stack

# The worker's own, as it names them; a test compares.
OWN: Final = {
    "assigned": "TicketNumbersAssigned",
    "replayed": "AssignmentsReplayed",
    "poison": "PoisonMessages",
    "transient_failures": "TransientFailures",
    "collisions": "SequenceCollisions",
    "conflicts": "SequenceConflicts",
    "announcements_failed": "AnnouncementsFailed",
}

_WORKER: Final = {
    "invocations": ("Invocations", "Sum"),
    "errors": ("Errors", "Sum"),
    "throttles": ("Throttles", "Sum"),
    "p99_milliseconds": ("Duration", "p99"),
}

_TABLES: Final = {"tickets": "TicketsTableName", "keys": "IdempotencyKeysTableName"}

_THROTTLES: Final = {"reads": "ReadThrottleEvents", "writes": "WriteThrottleEvents"}

OLDEST: Final = "oldest_message"
OLDEST_DEAD_LETTER: Final = "oldest_dead_letter"


def metrics_of(stack: Stack) -> dict[str, Metric]:
    """Return the stack's metrics, by a name of our own."""
    service = ("service", stack.name)
    function = ("FunctionName", stack.outputs["WorkerFunctionName"])
    found = {
        name: Metric("TicketNumbering", metric, *service)
        for name, metric in OWN.items()
    }
    for name, (metric, statistic) in _WORKER.items():
        found[name] = Metric("AWS/Lambda", metric, *function, statistic)
    for table, output in _TABLES.items():
        for kind, metric in _THROTTLES.items():
            found[f"throttled_{kind}_{table}"] = Metric(
                "AWS/DynamoDB", metric, "TableName", stack.outputs[output]
            )
    for name, output in (
        (OLDEST, "CreateTicketQueueUrl"),
        (OLDEST_DEAD_LETTER, "DeadLetterQueueUrl"),
    ):
        queue_name = stack.outputs[output].rpartition("/")[2]
        found[name] = Metric(
            "AWS/SQS",
            "ApproximateAgeOfOldestMessage",
            "QueueName",
            queue_name,
            "Maximum",
        )
    return found

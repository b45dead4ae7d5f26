"""The shared logger, the metrics, and every metric name.

Service name and log level come from Powertools' own environment variables, which the
template sets.
"""

import logging
from enum import StrEnum
from typing import Final

from aws_lambda_powertools import Logger, Metrics

NAMESPACE: Final = "TicketNumbering"

# A second copy of each stack trace would double the length of a bug's line.
logger = Logger(use_rfc3339=True, serialize_stacktrace=False)
metrics = Metrics(namespace=NAMESPACE)

# At a lower level these log requests, and with them the tickets' texts.
for name in ("boto3", "botocore", "urllib3"):
    logging.getLogger(name).setLevel(logging.WARNING)


class Metric(StrEnum):
    """The metrics of an invocation; failures count deliveries, not messages."""

    ASSIGNED = "TicketNumbersAssigned"
    REPLAYED = "AssignmentsReplayed"
    REFUSED = "RefusedAtCap"
    POISON = "PoisonMessages"
    TRANSIENT = "TransientFailures"
    COLLISIONS = "SequenceCollisions"
    CONFLICTS = "SequenceConflicts"
    ATTEMPTS = "AttemptsPerBlock"
    LINE_FAILURES = "LineFailures"
    SECONDS_IN_LINE = "SecondsInLine"
    ANNOUNCEMENTS_FAILED = "AnnouncementsFailed"
    SECONDS = "SecondsToAnnounced"

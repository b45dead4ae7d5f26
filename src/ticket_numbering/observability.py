"""The shared logger, the metrics, and every metric name.

Service name, namespace and level come from Powertools' own environment variables,
which the template sets.
"""

from enum import StrEnum

from aws_lambda_powertools import Logger, Metrics

logger = Logger()
metrics = Metrics()


class Metric(StrEnum):
    """Counts of one invocation; failure counts are of deliveries, not of messages."""

    ASSIGNED = "TicketNumbersAssigned"
    REPLAYED = "AssignmentsReplayed"
    POISON = "PoisonMessages"
    TRANSIENT = "TransientFailures"
    COLLISIONS = "SequenceCollisions"
    CONFLICTS = "SequenceConflicts"
    ATTEMPTS = "AttemptsPerBlock"
    ANNOUNCEMENTS_FAILED = "AnnouncementsFailed"

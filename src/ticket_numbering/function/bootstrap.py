"""Builds clients, adapters and worker, once for each execution environment."""

from collections.abc import Mapping
from typing import Any, Final

import boto3
from botocore.config import Config

from ticket_numbering.adapters.aws_errors import reject_damaged
from ticket_numbering.adapters.batch_api import (
    CONNECT_TIMEOUT_SECONDS,
    MAX_CALL_ATTEMPTS,
    READ_TIMEOUT_SECONDS,
)
from ticket_numbering.adapters.dynamodb_line import DynamoDBLine
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.line import Line
from ticket_numbering.function.settings import Settings
from ticket_numbering.worker.events import Events
from ticket_numbering.worker.worker import MAX_PROJECTS_SIDE_BY_SIDE, Worker

LINE_TIMEOUT_SECONDS: Final = 0.3
"""Ten times the usual duration of such a call; after that the line has failed."""

CLIENT_CONFIG: Final[dict[str, Any]] = {
    "connect_timeout": CONNECT_TIMEOUT_SECONDS,
    "read_timeout": READ_TIMEOUT_SECONDS,
    # Explicit, because botocore's default mode and count differ between versions.
    "retries": {"mode": "standard", "total_max_attempts": MAX_CALL_ATTEMPTS},
    "tcp_keepalive": True,
    "max_pool_connections": MAX_PROJECTS_SIDE_BY_SIDE,
    # It takes a quarter of a batch's processor time; types and tests check the same.
    "parameter_validation": False,
}

LINE_CONFIG: Final[dict[str, Any]] = {
    **CLIENT_CONFIG,
    "connect_timeout": LINE_TIMEOUT_SECONDS,
    "read_timeout": LINE_TIMEOUT_SECONDS,
    "retries": {"mode": "standard", "total_max_attempts": 1},
}
"""The client of the line: one short attempt.

A repeated request counts twice, and a hint is worth no long wait.
"""


def bootstrap(settings: Settings | None = None) -> Worker:
    """Return the worker on AWS, or at the endpoint that `AWS_ENDPOINT_URL` names.

    Raises:
        pydantic.ValidationError: The environment lacks a setting.
    """
    settings = settings or Settings.from_environ()
    dynamodb, sns, sqs = map(_client, ("dynamodb", "sns", "sqs"))
    store = DynamoDBTicketStore(
        dynamodb,
        tickets_table=settings.tickets_table,
        keys_table=settings.idempotency_keys_table,
        retention_days=settings.idempotency_retention_days,
    )
    line = None
    if settings.lines_table:
        client = _client("dynamodb", LINE_CONFIG)
        line = Line(DynamoDBLine(client, settings.lines_table))
    return Worker(
        Allocator(
            store, settings.max_attempts, settings.deadline_reserve_seconds, line=line
        ),
        SNSPublisher(sns, settings.assignments_topic_arn),
        SQSDeadLetters(sqs, settings.dead_letter_queue_url),
        limits=settings.limits,
        events=Events(settings.event_source, settings.number_padding),
    )


def _client(service: str, config: Mapping[str, Any] = CLIENT_CONFIG) -> Any:
    """Return a client that rejects damaged responses."""
    make: Any = boto3.client  # Its type accepts literal names only.
    client = make(service, config=Config(**config))
    client.meta.events.register("after-call-error", reject_damaged)
    if service == "dynamodb":
        client.meta.events.register("after-call", reject_damaged)
    return client

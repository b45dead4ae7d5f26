"""The variables of the function: those that it needs, and all others."""

from typing import Final

ENVIRONMENT: Final = {
    "TICKETS_TABLE": "the-tickets",
    "IDEMPOTENCY_KEYS_TABLE": "the-keys",
    "ASSIGNMENTS_TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:the-topic",
    "DEAD_LETTER_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/dead",
    "EVENT_SOURCE": "/ticket-numbering/the-stack",
}

TUNED: Final = {
    "LINES_TABLE": "the-lines",
    "ALLOWED_PROJECTS": "INV-[0-9]{4}",
    "IDEMPOTENCY_RETENTION_DAYS": "90",
    "NUMBER_PADDING": "6",
    "MAX_ATTEMPTS": "7",
    "DEADLINE_RESERVE_SECONDS": "2.5",
}
"""Every variable that the function can do without, not at its default."""

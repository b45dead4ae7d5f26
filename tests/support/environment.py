"""The variables that the function needs."""

from typing import Final

ENVIRONMENT: Final = {
    "TICKETS_TABLE": "the-tickets",
    "IDEMPOTENCY_KEYS_TABLE": "the-keys",
    "ASSIGNMENTS_TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:the-topic",
    "DEAD_LETTER_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/dead",
    "EVENT_SOURCE": "/ticket-numbering/the-stack",
}

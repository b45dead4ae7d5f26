"""The metrics of AWS's services that we use, with where AWS describes them."""

from typing import Final, NamedTuple


class Described(NamedTuple):
    """What AWS says of a metric."""

    dimensions: tuple[str, ...]
    statistics: frozenset[str]
    """Those that make sense: a count adds up, a level does not."""


_ADDS_UP: Final = frozenset({"Sum"})
_LEVEL: Final = frozenset({"Maximum"})
_TIME: Final = frozenset({"Maximum", "p99"})

AWS_METRICS: Final = {
    # Amazon SQS Developer Guide, "Available CloudWatch metrics for Amazon SQS".
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): Described(
        ("QueueName",), _LEVEL
    ),
    ("AWS/SQS", "ApproximateNumberOfMessagesNotVisible"): Described(
        ("QueueName",), _LEVEL
    ),
    ("AWS/SQS", "ApproximateNumberOfMessagesDelayed"): Described(
        ("QueueName",), _LEVEL
    ),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): Described(("QueueName",), _LEVEL),
    # AWS Lambda Developer Guide, "Types of metrics for Lambda functions".
    ("AWS/Lambda", "Invocations"): Described(("FunctionName",), _ADDS_UP),
    ("AWS/Lambda", "Errors"): Described(("FunctionName",), _ADDS_UP),
    ("AWS/Lambda", "Throttles"): Described(("FunctionName",), _ADDS_UP),
    ("AWS/Lambda", "Duration"): Described(("FunctionName",), _TIME),
    # Amazon DynamoDB Developer Guide, "DynamoDB metrics and dimensions".
    # Not ThrottledRequests: it needs the dimension Operation too.
    ("AWS/DynamoDB", "ReadThrottleEvents"): Described(("TableName",), _ADDS_UP),
    ("AWS/DynamoDB", "WriteThrottleEvents"): Described(("TableName",), _ADDS_UP),
    ("AWS/DynamoDB", "TransactionConflict"): Described(("TableName",), _ADDS_UP),
    # Amazon SNS Developer Guide, "Monitoring Amazon SNS topics using CloudWatch".
    ("AWS/SNS", "NumberOfMessagesPublished"): Described(("TopicName",), _ADDS_UP),
    ("AWS/SNS", "NumberOfNotificationsDelivered"): Described(("TopicName",), _ADDS_UP),
    ("AWS/SNS", "NumberOfNotificationsFailed"): Described(("TopicName",), _ADDS_UP),
    ("AWS/SNS", "NumberOfNotificationsRedrivenToDlq"): Described(
        ("TopicName",), _ADDS_UP
    ),
    ("AWS/SNS", "NumberOfNotificationsFailedToRedriveToDlq"): Described(
        ("TopicName",), _ADDS_UP
    ),
}

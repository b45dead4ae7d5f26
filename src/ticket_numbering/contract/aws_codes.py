"""The error codes of AWS, by what they mean: worker and command line classify alike.

They are typed by hand and compared with botocore's. DynamoDB, SNS and SQS API
references, "Errors" and "Common Error Types", those of STS and IAM Identity Center, and
what botocore retries, in its modules of retries.
"""

from http import HTTPStatus
from typing import Final

CANCELLED: Final = "TransactionCanceledException"
CONDITION_FAILED: Final = "ConditionalCheckFailedException"
CONFLICT: Final = "TransactionConflictException"
INVALID_REQUEST: Final = "ValidationException"

FORESTALLED: Final = frozenset({CANCELLED, CONDITION_FAILED, CONFLICT})
"""Of a write that another writer forestalled, or is about to."""

THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
    }
)
"""Of a whole call; DynamoDB Developer Guide, "Error handling"."""

PASSING: Final = THROTTLED | {
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "KMS.ThrottlingException",
    "KMSThrottling",
    "KmsThrottled",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "RequestAbortedException",
    "RequestThrottled",
    "RequestThrottledException",
    "RequestTimeout",
    "RequestTimeoutException",
    "SlowDown",
    "Throttled",
    "ThrottledException",
    "Throttling",
    "TooManyRequestsException",
    "TransactionInProgressException",
}
"""The same request may succeed later; answers of 5xx need no code here."""

LATE_SIGNATURES: Final = frozenset(
    {
        "InvalidSignatureException",
        "RequestExpired",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)
"""A signature that came too late, or one with a wrong secret."""

BAD_CREDENTIALS: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSecurity",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)

NOT_ALLOWED: Final = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "AuthorizationErrorException",
        "NotAuthorized",
        "OptInRequired",
        "UnauthorizedOperation",
    }
)

NOT_THERE: Final = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue",
        "InvalidAddress",
        "NonExistentQueue",
        "NotFound",
        "NotFoundException",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    }
)
"""A queue, topic, table, mapping or alias is missing; the operations' own errors."""

KMS: Final = "kms"
"""The start of the encryption key's codes; those of throttling pass by themselves."""

_PASSING_STATUSES: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.MISDIRECTED_REQUEST,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
"""They ask for another attempt; RFC 9110 and RFC 6585."""


def passes(code: str, status: int) -> bool:
    """Tell whether the same request may succeed later, by code and HTTP status."""
    return (
        code in PASSING
        # botocore's stand-in for the code of an answer that it could not read.
        or code == str(status)
        or status in _PASSING_STATUSES
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    )


def is_refusal(code: str) -> bool:
    """Tell whether AWS refuses every such request until an operator acts.

    Of a code that does not pass: until they restore a right, a resource or a key.
    """
    return code in BAD_CREDENTIALS | NOT_ALLOWED | NOT_THERE or code.lower().startswith(
        KMS
    )

"""The error codes of AWS by their meaning, shared by worker and command line.

They are typed by hand and compared with botocore's. Sources: the API references of
DynamoDB, SNS, SQS, STS and IAM Identity Center ("Errors", "Common Error Types"), and
botocore's modules of retries.
"""

from http import HTTPStatus
from typing import Final

CANCELLED: Final = "TransactionCanceledException"
CONDITION_FAILED: Final = "ConditionalCheckFailedException"
CONFLICT: Final = "TransactionConflictException"
INVALID_REQUEST: Final = "ValidationException"

FORESTALLED: Final = frozenset({CANCELLED, CONDITION_FAILED, CONFLICT})
"""Another writer was faster, or holds the item."""

THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
    }
)
"""A whole call was throttled; DynamoDB Developer Guide, "Error handling"."""

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
"""The same request may succeed later; responses of 5xx need no code here."""

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
"""A queue, topic, table, mapping or alias is missing."""

KMS: Final = "kms"
"""The prefix of the encryption key's codes; those of throttling are transient."""

_PASSING_STATUSES: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.MISDIRECTED_REQUEST,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
"""The client may try again; RFC 9110 and RFC 6585."""


def passes(code: str, status: int) -> bool:
    """Tell whether the same request may succeed later, by code and HTTP status."""
    return (
        code in PASSING
        # botocore's stand-in for the code of an unreadable response.
        or code == str(status)
        or status in _PASSING_STATUSES
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    )


def is_rejection(code: str) -> bool:
    """Tell whether AWS rejects every such request until an operator acts.

    The operator restores a right, a resource or an encryption key. The code must be
    one that does not pass.
    """
    return code in BAD_CREDENTIALS | NOT_ALLOWED | NOT_THERE or code.lower().startswith(
        KMS
    )

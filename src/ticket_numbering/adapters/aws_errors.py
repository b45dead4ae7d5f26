"""Which AWS errors pass by themselves or are refusals, by code and never by text."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from ticket_numbering.contract.checksum import is_damaged
from ticket_numbering.contract.errors import (
    StoreRefusedError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)

# DynamoDB, SNS and SQS API references, "Errors" and "Common Error Types", and what
# botocore retries, in its modules of retries; answers of 5xx need no code here.
PASSING_CODES: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "KMS.ThrottlingException",
        "KMSThrottling",
        "KmsThrottled",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestAbortedException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "Throttled",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
        # A signature that came too late, after a freeze of the environment: the next
        # one is accepted. A wrong secret has these codes, too, but a role has none.
        "InvalidSignatureException",
        "RequestExpired",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)

PASSING_STATUSES: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.MISDIRECTED_REQUEST,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
"""They ask for another attempt; RFC 9110 and RFC 6585."""

NO_CODE: Final = "an answer without a code"
"""Of a proxy, say: AWS names a code."""

THROTTLING_CODES: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
    }
)
"""Of a whole call; DynamoDB Developer Guide, "Error handling"."""

REFUSAL_CODES: Final = frozenset(
    {
        # Rights and credentials; "Common Error Types" of each API reference.
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidSecurity",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "NotAuthorized",
        "OptInRequired",
        "UnrecognizedClientException",
        # Resources; the operations' own errors.
        "AWS.SimpleQueueService.NonExistentQueue",
        "InvalidAddress",
        "NotFound",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    }
)
"""AWS refuses until an operator restores a right, a resource or a key."""

INVALID_REQUEST: Final = "ValidationException"

KMS: Final = "kms"
"""The start of the encryption key's codes; those of throttling pass by themselves."""

NO_ANSWER: Final = (
    BotoConnectionError,
    HTTPClientError,
    ResponseParserError,
    UnicodeDecodeError,  # An answer that was cut off inside a character.
)
"""The request may or may not have taken effect."""


def code_of(error: Exception) -> str:
    """Return the service's error code, or the class where there was no answer."""
    if isinstance(error, ClientError):
        return error.response.get("Error", {}).get("Code", NO_CODE)
    return type(error).__name__


def passes(error: ClientError) -> bool:
    """Tell whether the same request may succeed later."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return (
        code_of(error) in {*PASSING_CODES, NO_CODE}
        # botocore's stand-in for the code of an answer that it could not read.
        or code_of(error) == str(int(status))
        or status in PASSING_STATUSES
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    )


def is_refusal(error: ClientError) -> bool:
    """Tell whether AWS refuses every such request until an operator acts."""
    code = code_of(error)
    return not passes(error) and (code in REFUSAL_CODES or code.lower().startswith(KMS))


def member(answer: Mapping[str, Any], name: str) -> Any:
    """Return a member that every answer has; botocore lets a cut-off answer pass.

    Raises:
        ResponseParserError: The answer lacks it.
    """
    if name not in answer:
        raise ResponseParserError(f"the answer lacks {name}")
    return answer[name]


def reject_damaged(
    http_response: Any = None, exception: Exception | None = None, **_: Any
) -> None:
    """Refuse what a call ended with, if the answer was damaged, or was none of AWS.

    botocore retries an answer that does not fit DynamoDB's checksum, and takes the last
    one for a success. A ValueError is of a body or a checksum that it could not read, a
    KeyError of a page in place of an answer.

    Raises:
        ResponseParserError: The answer was damaged.
    """
    if isinstance(exception, (KeyError, ValueError)) or (
        http_response and is_damaged(http_response)
    ):
        raise ResponseParserError("the answer is damaged") from exception


@contextmanager
def translated(action: str) -> Iterator[None]:
    """Translate DynamoDB's transient errors and refusals; let others propagate.

    Each error names the action and the code.

    Raises:
        StoreThrottledError: The call was throttled.
        StoreRefusedError: A right or the table is missing, or its key is another one.
        StoreUnavailableError: DynamoDB failed or did not answer.
    """
    try:
        yield
    except (ClientError, *NO_ANSWER) as error:
        if (kind := _translation_of(error)) is None:
            raise
        raise kind(f"{action}: {code_of(error)}") from error


def _translation_of(error: Exception) -> type[TransientError] | None:
    if code_of(error) in THROTTLING_CODES:
        return StoreThrottledError
    if not isinstance(error, ClientError) or passes(error):
        return StoreUnavailableError
    # The requests have one form, so a table with another key is why they are invalid.
    if is_refusal(error) or code_of(error) == INVALID_REQUEST:
        return StoreRefusedError
    return None

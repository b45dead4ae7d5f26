"""Which AWS errors pass by themselves, by code and status and never by text."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from ticket_numbering.errors import StoreThrottledError, StoreUnavailableError

# DynamoDB, SNS and SQS API references, "Errors"; answers of 5xx need no code here.
PASSING_CODES: Final = frozenset(
    {
        "KMS.ThrottlingException",
        "KMSThrottling",
        "KmsThrottled",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "Throttled",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)

THROTTLING_CODES: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
    }
)
"""Of a whole call; DynamoDB Developer Guide, "Error handling"."""

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
        return error.response["Error"]["Code"]
    return type(error).__name__


def passes(error: ClientError) -> bool:
    """Tell whether the same request may succeed later."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return (
        code_of(error) in PASSING_CODES
        # botocore's stand-in for the code of an answer that it could not read.
        or code_of(error) == str(int(status))
        or status == HTTPStatus.TOO_MANY_REQUESTS
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    )


def member(answer: Mapping[str, Any], name: str) -> Any:
    """Return a member that every answer has; botocore lets one pass that was cut off.

    Raises:
        ResponseParserError: The answer lacks it.
    """
    if name not in answer:
        message = f"the answer lacks {name}"
        raise ResponseParserError(message)
    return answer[name]


@contextmanager
def translated(action: str) -> Iterator[None]:
    """Turn what passes at DynamoDB into our errors; anything else stays what it is.

    Raises:
        StoreThrottledError: The call was throttled; it names the action and the code.
        StoreUnavailableError: DynamoDB failed or did not answer; likewise.
    """
    try:
        yield
    except (ClientError, *NO_ANSWER) as error:
        if isinstance(error, ClientError) and not passes(error):
            raise
        throttled = code_of(error) in THROTTLING_CODES
        kind = StoreThrottledError if throttled else StoreUnavailableError
        reason = f"{action}: {code_of(error)}"
        raise kind(reason) from error

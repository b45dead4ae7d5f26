"""Classifies AWS errors as transient, rejection or unknown, by code, never by text."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.checksum import is_damaged
from ticket_numbering.contract.errors import (
    StoreRefusedError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)

NO_CODE: Final = "an answer without a code"
"""Errors of AWS have a code; a proxy's, for example, have none."""

NO_ANSWER: Final = (
    BotoConnectionError,
    HTTPClientError,
    ResponseParserError,
    UnicodeDecodeError,  # A response that ends inside a character.
)
"""The request may or may not have taken effect."""


def code_of(error: Exception) -> str:
    """Return the service's error code, or the error's class if no response came."""
    if isinstance(error, ClientError):
        return error.response.get("Error", {}).get("Code", NO_CODE)
    return type(error).__name__


def passes(error: ClientError) -> bool:
    """Tell whether the same request may succeed later."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    # A frozen environment signs too late, and its next signature is accepted. A wrong
    # secret has these codes, too, but a role has no secret.
    may_pass = {NO_CODE, *aws_codes.LATE_SIGNATURES}
    return code_of(error) in may_pass or aws_codes.passes(code_of(error), status)


def is_rejection(error: ClientError) -> bool:
    """Tell whether AWS rejects every such request until an operator acts."""
    return not passes(error) and aws_codes.is_rejection(code_of(error))


def member(answer: Mapping[str, Any], name: str) -> Any:
    """Return a member that every response has; botocore accepts a truncated one.

    Raises:
        ResponseParserError: The response lacks the member.
    """
    if name not in answer:
        raise ResponseParserError(f"the answer lacks {name}")
    return answer[name]


def reject_damaged(
    http_response: Any = None, exception: Exception | None = None, **_: Any
) -> None:
    """Reject a damaged response, or one that is not from AWS; a hook of botocore.

    botocore retries a response that does not match DynamoDB's checksum, and takes the
    last one as a success. It raises ValueError for an unreadable body or checksum, and
    others for a page in place of a response, or JSON that is no object.

    Raises:
        ResponseParserError: The response was damaged.
    """
    is_unread = isinstance(exception, (AttributeError, LookupError, ValueError))
    if is_unread or (http_response and is_damaged(http_response)):
        raise ResponseParserError("the answer is damaged") from exception


@contextmanager
def translated(action: str) -> Iterator[None]:
    """Translate DynamoDB's transient errors and rejections; let others propagate.

    Each error has the action and the code.

    Raises:
        StoreThrottledError: The call was throttled.
        StoreRefusedError: A right or the table is missing, or its key differs.
        StoreUnavailableError: DynamoDB failed or did not answer.
    """
    try:
        yield
    except (ClientError, *NO_ANSWER) as error:
        if (kind := _translation_of(error)) is None:
            raise
        raise kind(f"{action}: {code_of(error)}") from error


def _translation_of(error: Exception) -> type[TransientError] | None:
    if code_of(error) in aws_codes.THROTTLED:
        return StoreThrottledError
    if not isinstance(error, ClientError) or passes(error):
        return StoreUnavailableError
    # All requests have one form, so they are invalid only if a table's key differs.
    if is_rejection(error) or code_of(error) == aws_codes.INVALID_REQUEST:
        return StoreRefusedError
    return None

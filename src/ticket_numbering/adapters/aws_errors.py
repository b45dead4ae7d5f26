"""Which AWS errors pass by themselves or are refusals, by code and never by text."""

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
"""Of a proxy, say: AWS names a code."""

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
    # A late signature, after a freeze of the environment: the next one is accepted. A
    # wrong secret has these codes, too, but a role has none.
    may_pass = {NO_CODE, *aws_codes.LATE_SIGNATURES}
    return code_of(error) in may_pass or aws_codes.passes(code_of(error), status)


def is_refusal(error: ClientError) -> bool:
    """Tell whether AWS refuses every such request until an operator acts."""
    return not passes(error) and aws_codes.is_refusal(code_of(error))


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
    if code_of(error) in aws_codes.THROTTLED:
        return StoreThrottledError
    if not isinstance(error, ClientError) or passes(error):
        return StoreUnavailableError
    # The requests have one form, so a table with another key is why they are invalid.
    if is_refusal(error) or code_of(error) == aws_codes.INVALID_REQUEST:
        return StoreRefusedError
    return None

"""Explains errors of AWS and its SDK in one line, with the remedy."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any, Final

from botocore import exceptions as sdk
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.checksum import is_damaged
from ticketctl.cli.errors import CloudError

AWS_ERRORS: Final = (BotoCoreError, ClientError, ResponseParserError)
AwsError = BotoCoreError | ClientError | ResponseParserError
"""The errors that a call can raise."""

_GIVE_CREDENTIALS: Final = (
    "name a profile with --profile or AWS_PROFILE, or sign in with `aws login` or "
    "`aws sso login`; for the local system `source .build/local/env`"
)
_CHECK_ADDRESS: Final = (
    "check the Region, the network, and AWS_ENDPOINT_URL "
    "(the local system is up while `make up` runs; after a restart "
    "`source .build/local/env` again)"
)


def reject_damaged(
    http_response: Any = None, exception: Exception | None = None, **_: Any
) -> None:
    """Reject a damaged response of DynamoDB; a hook of botocore.

    botocore returns the last response, or raises ValueError.

    Raises:
        ResponseParserError: The response was damaged.
    """
    is_unread = isinstance(exception, ValueError) and not is_of_credentials(exception)
    if is_unread or (http_response and is_damaged(http_response)):
        raise ResponseParserError from exception


def reject_page(
    http_response: Any = None, exception: Exception | None = None, **_: Any
) -> None:
    """Reject the page of a proxy, which botocore takes for an empty response.

    Or botocore raises KeyError, because it expects a member of the response.

    Raises:
        ResponseParserError: The response is such a page.
    """
    headers = getattr(http_response, "headers", {})
    is_unread = isinstance(exception, KeyError) and not is_of_credentials(exception)
    if is_unread or "html" in headers.get("content-type", ""):
        raise ResponseParserError from exception


def explained(error: AwsError) -> CloudError:
    """Return the error in one line, with the remedy."""
    if isinstance(error, ResponseParserError):  # Its text has the whole response.
        return CloudError(
            "the response is not of AWS, or was damaged on its way: run it again, then "
            "check AWS_ENDPOINT_URL and the network's proxy"
        )
    line = " ".join(str(error).split())
    hint = _hint(error)
    return CloudError(f"{line.rstrip('.')}; {hint}" if hint else line)


def is_of_credentials(error: BaseException) -> bool:
    """Tell whether botocore failed to get credentials.

    A helper, a file or a variable can supply any text, and botocore checks little.
    """
    frames = walk_tb(error.__traceback__)
    modules = {frame.f_globals.get("__name__") for frame, _ in frames}
    # The credentials sign the call, right or wrong.
    own = {
        "botocore.credentials",
        "botocore.tokens",
        "botocore.auth",
        "botocore.crt.auth",  # Replaces the previous module if awscrt is installed.
    }
    return not modules.isdisjoint(own)


def without_credentials(error: BaseException) -> CloudError:
    """Explain an error of botocore's credentials."""
    said = " ".join(str(error).split()).rstrip(".")
    why = ": ".join(filter(None, (type(error).__name__, said)))
    return CloudError(f"no usable credentials: {why}; {_GIVE_CREDENTIALS}")


def error_code(error: ClientError) -> str:
    """Return AWS's code of the error, without the prefix of SQS's old protocol."""
    code: str = error.response.get("Error", {}).get("Code", "")
    return code.rpartition("#")[2].removeprefix("AWS.SimpleQueueService.")


def is_denied(error: ClientError) -> bool:
    """Tell whether the caller lacks a right."""
    return error_code(error) in aws_codes.NOT_ALLOWED


def is_no_answer(error: AwsError) -> bool:
    """Tell whether the service cannot be reached, fails, or is too busy."""
    if isinstance(error, ResponseParserError):
        return True
    if isinstance(error, ClientError):
        about = error.response.get("ResponseMetadata", {})
        return aws_codes.passes(error_code(error), about.get("HTTPStatusCode", 0))
    return isinstance(error, (sdk.ConnectionError, sdk.HTTPClientError))


@dataclass(frozen=True)
class Suppressed(AbstractContextManager["Suppressed"]):
    """Ends its block silently at an error with one of the codes."""

    codes: Collection[str]

    def __exit__(self, _: object, error: object, __: object) -> bool:
        """Suppress such an error."""
        return isinstance(error, ClientError) and error_code(error) in self.codes


def is_not_there(error: ClientError) -> bool:
    """Tell whether the queue, subscription, mapping or alias is missing."""
    return error_code(error) in aws_codes.NOT_THERE


def _hint(error: BotoCoreError | ClientError) -> str:
    match error:
        case ClientError():
            bad = aws_codes.BAD_CREDENTIALS | aws_codes.LATE_SIGNATURES
            return _GIVE_CREDENTIALS if error_code(error) in bad else ""
        case (
            sdk.NoCredentialsError()
            | sdk.PartialCredentialsError()
            | sdk.CredentialRetrievalError()
            | sdk.TokenRetrievalError()
            | sdk.SSOError()
        ):
            return _GIVE_CREDENTIALS
        case sdk.ProfileNotFound():
            return "see `aws configure list-profiles`"
        case sdk.NoRegionError():
            return "give --region, or set AWS_REGION"
        case sdk.EndpointConnectionError() | sdk.ConnectTimeoutError():
            return _CHECK_ADDRESS
        case _:
            return ""

"""What AWS and its SDK say, as one line that says what to do."""

from typing import Final

from botocore import exceptions as sdk
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from ticketctl.cli.errors import CloudError

# Common errors of AWS's query and JSON APIs, and those of STS and IAM Identity Center.
_BAD_CREDENTIALS: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_NOT_ALLOWED: Final = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "AuthorizationErrorException",
        "UnauthorizedOperation",
    }
)

_NOT_THERE: Final = frozenset(
    {"NonExistentQueue", "QueueDoesNotExist", "NotFound", "NotFoundException"}
)

_GIVE_CREDENTIALS: Final = (
    "name a profile with --profile or AWS_PROFILE, or sign in with `aws sso login`; "
    "for the local system `source .build/local/env`"
)


def explained(
    error: BotoCoreError | ClientError | ResponseParserError,
) -> CloudError:
    """Return the error as one line that says what to do."""
    if isinstance(error, ClientError):
        return CloudError(_refused(error))
    if isinstance(error, ResponseParserError):
        message = (
            "what answers is not AWS: check AWS_ENDPOINT_URL and the network's proxy"
        )
        return CloudError(message)
    return CloudError(_not_asked(error))


def error_code(error: ClientError) -> str:
    """Return what AWS calls the error, without the prefix of SQS's old protocol."""
    code: str = error.response.get("Error", {}).get("Code", "")
    return code.rpartition("#")[2].removeprefix("AWS.SimpleQueueService.")


def is_refused(error: ClientError) -> bool:
    """Tell whether the caller has no right to do this."""
    return error_code(error) in _NOT_ALLOWED


def is_not_there(error: ClientError) -> bool:
    """Tell whether there is no such queue or subscription."""
    return error_code(error) in _NOT_THERE


def _refused(error: ClientError) -> str:
    code = error_code(error)
    said = " ".join(error.response.get("Error", {}).get("Message", "").split())
    if code in _BAD_CREDENTIALS:
        return f"AWS refuses the credentials ({code}); {_GIVE_CREDENTIALS}"
    if is_refused(error):
        return f"you may not {error.operation_name} here ({code}): {said}"
    return f"{error.operation_name} failed: {code}: {said}"


def _not_asked(error: BotoCoreError) -> str:
    match error:
        case (
            sdk.NoCredentialsError()
            | sdk.PartialCredentialsError()
            | sdk.CredentialRetrievalError()
            | sdk.TokenRetrievalError()
            | sdk.SSOError()
        ):
            return f"no credentials that can be used; {_GIVE_CREDENTIALS}"
        case sdk.ProfileNotFound():
            return f"{_line(error)}; see `aws configure list-profiles`"
        case sdk.NoRegionError():
            return "no Region; give --region, or set AWS_REGION"
        case sdk.EndpointConnectionError() | sdk.ConnectTimeoutError():
            return (
                f"{_line(error).rstrip('.')}; check the Region, the network, and "
                "AWS_ENDPOINT_URL (the local system is up while `make up` runs)"
            )
        case _:
            return _line(error)


def _line(error: BotoCoreError) -> str:
    return " ".join(str(error).split())

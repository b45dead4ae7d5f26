"""The errors of the services, and those that botocore raises for faults."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from botocore.exceptions import (
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from simulation.aws.faults import Fault

ENDPOINT: Final = "https://simulated"
RETRIED_CODES: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)
RETRIED_STATUSES: Final = frozenset({500, 502, 503, 504})
"""What botocore's standard mode retries; botocore/retries/standard.py."""


class ServiceError(Exception):
    """An answer of 4xx or 5xx, before the client turns it into a ClientError."""

    def __init__(
        self,
        code: str,
        message: str = "",
        status: int = HTTPStatus.BAD_REQUEST,
        **members: Any,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.status = status
        self.members = members

    def __str__(self) -> str:
        """Return the whole answer, so that no two answers look the same."""
        return f"{self.status:d} {self.code} {self.message} {self.members}"


def validation(message: str) -> ServiceError:
    """Return the error of an invalid request."""
    return ServiceError("ValidationException", message)


def _internal_error() -> ServiceError:
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return ServiceError("InternalServerError", status=status)


_ERRORS: Final[Mapping[Fault, Callable[[], Exception]]] = {
    Fault.REFUSED: lambda: EndpointConnectionError(endpoint_url=ENDPOINT),
    Fault.THROTTLED: lambda: ServiceError("ThrottlingException"),
    Fault.FAILED_BEFORE: _internal_error,
    Fault.FAILED_AFTER: _internal_error,
    Fault.DENIED: lambda: ServiceError("AccessDeniedException"),
    Fault.MISSING: lambda: ServiceError("ResourceNotFoundException"),
    Fault.KEY_DISABLED: lambda: ServiceError("KMS.DisabledException"),
    Fault.UNFORESEEN: lambda: ServiceError("SomethingNewException"),
    Fault.GARBLED: lambda: ResponseParserError("invalid XML"),
    Fault.LOST: lambda: ConnectionClosedError(endpoint_url=ENDPOINT),
    Fault.HUNG: lambda: ReadTimeoutError(endpoint_url=ENDPOINT),
    Fault.LATE: lambda: ReadTimeoutError(endpoint_url=ENDPOINT),
}


def error_of(fault: Fault) -> Exception:
    """Return the error of a call that has this fault."""
    return _ERRORS[fault]()


def is_retried(error: ServiceError) -> bool:
    """Return whether botocore's standard mode retries the error."""
    return error.code in RETRIED_CODES or error.status in RETRIED_STATUSES

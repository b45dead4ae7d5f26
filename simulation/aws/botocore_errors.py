"""The errors that botocore raises for faults, and those that it retries."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from botocore.exceptions import (
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from simulation.aws.service import ServiceError
from simulation.faults import Fault

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


def _internal_error() -> ServiceError:
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return ServiceError("InternalServerError", status=status)


_ERRORS: Final[Mapping[Fault, Callable[[], Exception]]] = {
    Fault.REFUSED: lambda: EndpointConnectionError(endpoint_url=ENDPOINT),
    Fault.THROTTLED: lambda: ServiceError("ThrottlingException"),
    Fault.FAILED_BEFORE: _internal_error,
    Fault.FAILED_AFTER: _internal_error,
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

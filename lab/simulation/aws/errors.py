"""The errors of the services, and the retry rule of botocore."""

from http import HTTPStatus
from typing import Any, Final

RETRIED_CODES: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)
RETRIED_STATUSES: Final = frozenset({500, 502, 503, 504})
"""Retried by botocore's standard mode; botocore/retries/standard.py."""


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


def internal_error() -> ServiceError:
    """Return the error of a service that failed."""
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return ServiceError("InternalServerError", status=status)


def is_retried(error: ServiceError) -> bool:
    """Return whether botocore's standard mode retries the error."""
    return error.code in RETRIED_CODES or error.status in RETRIED_STATUSES
